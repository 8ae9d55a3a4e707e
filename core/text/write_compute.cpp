#include <fmt/format.h>

#include <map>
#include <tuple>

#include "core/text/token.h"
#include "core/text/write.h"
#include "core/text/write_expr.h"

namespace tenon::text {
namespace {

using te::Compute;

std::vector<std::string> axis_names(const te::Stage& s) {
  std::vector<std::string> names;
  for (const auto* axes : {&s.axes, &s.reduce})
    for (const te::Axis& a : *axes) names.push_back(a.name);
  return names;
}

std::string axis_text(std::uint32_t n, const std::vector<std::string>& names,
                      const std::vector<bool>& bare) {
  return n < names.size() && bare[n] ? names[n] : fmt::format("#{}", n);
}

std::vector<Shape> shapes_of(const Compute& c) {
  std::map<std::tuple<te::Kind, DType, std::uint32_t, std::uint64_t, std::int64_t>, bool> seen;
  std::vector<Shape> out;
  for (const te::Expr& e : c.exprs) {
    const bool leaf = (e.kind == te::Kind::imm || e.kind == te::Kind::axis) && e.args.empty();
    const bool first =
        !leaf ||
        seen.try_emplace({e.kind, e.dtype, e.n, std::bit_cast<std::uint64_t>(e.f), e.i}, true)
            .second;
    out.push_back({e.args, leaf, first});
  }
  return out;
}

std::vector<ExprId> roots_of(const Compute& c) {
  std::vector<ExprId> out;
  for (const te::Stage& s : c.stages) out.push_back(s.value);
  return out;
}

class ComputeWriter final : ExprWriter {
 public:
  ComputeWriter(std::string& out, const Compute& c)
      : ExprWriter(out, shapes_of(c), roots_of(c)), c_(c) {}

  void run(std::string_view name, const Schedule* schedule) {
    out_ += "compute " + at_name(name) + "(";
    for (std::size_t k = 0; k < c_.inputs.size(); ++k) {
      out_ += fmt::format("{}%{}: ", k ? ", " : "", k);
      put_type(out_, c_.inputs[k], {});
    }
    out_ += ") -> (";
    for (std::size_t k = 0; k < c_.outputs.size(); ++k)
      out_ += fmt::format("{}%{}", k ? ", " : "", c_.inputs.size() + c_.outputs[k]);
    out_ += ") {\n";
    for (std::uint32_t k = 0; k < c_.stages.size(); ++k) stage(k);
    names_.clear();
    bare_.clear();
    rest("  ");
    if (schedule != nullptr) put_schedule(out_, *schedule, c_, "  ");
    out_ += "}\n";
  }

 private:
  void axes(const std::vector<te::Axis>& list) {
    out_ += "[";
    for (std::size_t k = 0; k < list.size(); ++k)
      out_ +=
          fmt::format("{}{}: {}", k ? ", " : "",
                      is_word(list[k].name) ? list[k].name : quoted(list[k].name), list[k].extent);
    out_ += "]";
  }

  void stage(std::uint32_t k) {
    const te::Stage& s = c_.stages[k];
    out_ += fmt::format("  stage %{} {}: {}", c_.tensor_of_stage(k), quoted(s.name), name(s.dtype));
    axes(s.axes);
    if (!s.reduce.empty()) {
      out_ += " reduce ";
      axes(s.reduce);
    }
    for (std::size_t p = 0; p < s.pools.size(); ++p)
      out_ += (p ? ", " : " in ") + quoted(s.pools[p]);
    if (s.align != 1) out_ += fmt::format(" align {}", s.align);
    names_ = axis_names(s);
    bare_ = bare_names(names_);
    const std::size_t head = out_.size();
    lines_before({s.value}, "    ");
    const bool lines = out_.size() != head;
    if (lines) out_.insert(head, " {\n");
    out_ += lines ? "    yield " : " = ";
    slot(s.value);
    out_ += lines ? "\n  }\n" : "\n";
  }

  void expr(ExprId id, int strength) override {
    const te::Expr& e = c_.exprs[id];
    const tir::Type t{e.dtype, 1};
    switch (e.kind) {
      case te::Kind::imm:
        return immediate(t, e.f, e.i);
      case te::Kind::axis:
        out_ += axis_text(e.n, names_, bare_);
        return suffix(t, e.dtype != DType::i64);
      case te::Kind::load: {
        call_brackets(e);
        const bool known = e.n < c_.inputs.size() + c_.stages.size();
        return suffix(t, !known || e.dtype != c_.dtype_of(e.n));
      }
      case te::Kind::scalar:
        return scalar(e.op, e.args, t, strength);
      case te::Kind::reduce: {
        static constexpr std::string_view folds[] = {"reduce_sum", "reduce_prod", "reduce_max",
                                                     "reduce_min"};
        call(folds[static_cast<std::size_t>(e.fold)], e.args);
        return suffix(t, e.args.empty() || type_of(e.args[0]) != t);
      }
    }
  }

  void call_brackets(const te::Expr& e) {
    out_ += fmt::format("%{}[", e.n);
    for (std::size_t k = 0; k < e.args.size(); ++k) {
      if (k) out_ += ", ";
      operand(e.args[k]);
    }
    out_ += "]";
  }

  tir::Type type_of(ExprId id) const override {
    return {id < c_.exprs.size() ? c_.exprs[id].dtype : DType::f32, 1};
  }

  const Compute& c_;
  std::vector<std::string> names_;  // axes of the open stage
  std::vector<bool> bare_;
};

}  // namespace

void put_compute(std::string& out, const te::Compute& c, std::string_view name,
                 const Schedule* schedule) {
  ComputeWriter(out, c).run(name, schedule);
}

void put_schedule(std::string& out, const Schedule& s, const te::Compute& c,
                  std::string_view indent) {
  static constexpr std::string_view kinds[] = {"", " parallel", " unroll", " vector", " tensor"};
  static constexpr std::string_view places[] = {"output", "shared", "worker"};
  out += fmt::format("{}schedule {} {{\n", indent, quoted(s.family));
  for (std::size_t k = 0; k < s.stages.size(); ++k) {
    const StageSchedule& row = s.stages[k];
    out += fmt::format("{}  %{} {}", indent, c.inputs.size() + k,
                       places[static_cast<std::size_t>(row.place)]);
    if (row.place == Place::worker || row.at_stage != 0 || row.at_loop != 0)
      out += fmt::format(" at %{} loop {}", c.inputs.size() + row.at_stage, row.at_loop);
    const std::vector<std::string> names =
        k < c.stages.size() ? axis_names(c.stages[k]) : std::vector<std::string>();
    const std::vector<bool> bare = bare_names(names);
    const char* separator = ": ";
    for (const LoopSpec& l : row.loops) {
      out += separator + axis_text(l.axis, names, bare);
      if (l.step != 1) out += fmt::format("/{}", l.step);
      out += kinds[static_cast<std::size_t>(l.kind)];
      separator = ", ";
    }
    out += "\n";
  }
  out += fmt::format("{}}}\n", indent);
}

}  // namespace tenon::text
