#include <fmt/format.h>

#include <bit>

#include "core/text/read_expr.h"

namespace tenon::text {
namespace {

/// Numbers of the axes of a stage by name.
std::uint32_t find_axis(Reader& r, const te::Stage& s) {
  const Token& t = r.peek();
  if (t.kind == Tok::hash) return r.index(Tok::hash, "an axis");
  const std::string name = r.word_or_string("an axis");
  std::uint32_t n = 0;
  for (const auto* axes : {&s.axes, &s.reduce})
    for (const te::Axis& a : *axes) {
      if (a.name == name) return n;
      ++n;
    }
  r.fail(t, code::unknown, fmt::format("the stage has no axis `{}`", name));
}

class ComputeReader final : ExprReader {
 public:
  explicit ComputeReader(Reader& r) : ExprReader(r) {}

  ComputeFunction run() {
    ComputeFunction f;
    r_.expect_word("compute", "at the start of a compute function");
    f.name = r_.name_after_at("the name of the compute function");
    inputs();
    const std::vector<Output> outs = outputs();
    r_.expect("{", "before the stages");
    while (r_.peek().is_word("stage")) stage();
    while (at_line()) line();
    for (const Output& o : outs) {
      if (o.tensor < c_.inputs.size() || o.tensor - c_.inputs.size() >= c_.stages.size())
        r_.fail(*o.token, code::unknown, fmt::format("there is no stage %{}", o.tensor));
      c_.outputs.push_back(o.tensor - static_cast<std::uint32_t>(c_.inputs.size()));
    }
    if (r_.peek().is_word("schedule")) f.schedule = read_schedule(r_, c_);
    r_.expect("}", "after the stages");
    f.compute = std::move(c_);
    return f;
  }

 private:
  struct Output {
    std::uint32_t tensor;
    const Token* token;
  };

  void inputs() {
    r_.expect("(", "before the inputs");
    if (r_.accept(")")) return;
    do {
      tensor(c_.inputs.size());
      r_.expect(":", "and the type of the input");
      c_.inputs.push_back(read_type(r_, {}));
    } while (r_.more(")"));
  }

  std::vector<Output> outputs() {
    std::vector<Output> out;
    r_.expect("->", "and the outputs");
    r_.expect("(", "before the outputs");
    if (r_.accept(")")) return out;
    do {
      const Token& t = r_.peek();
      out.push_back({r_.index(Tok::percent, "a stage, like %2"), &t});
    } while (r_.more(")"));
    return out;
  }

  /// A tensor is introduced: its number must be the next.
  void tensor(std::size_t next) {
    const Token& t = r_.peek();
    if (r_.index(Tok::percent, "a tensor, like %0") != next)
      r_.fail(t, code::unknown, fmt::format("tensors count up: this one is %{}", next));
  }

  std::vector<te::Axis> axes() {
    std::vector<te::Axis> out;
    r_.expect("[", "before axes");
    if (r_.accept("]")) return out;
    do {
      std::string name = r_.word_or_string("the name of an axis");
      r_.expect(":", "and the extent of the axis");
      out.push_back({std::move(name), r_.integer("the extent of an axis")});
    } while (r_.more("]"));
    return out;
  }

  void stage() {
    r_.take();
    stage_ = {};
    tensor(c_.inputs.size() + c_.stages.size());
    stage_.name = r_.string("the name of the stage");
    r_.expect(":", "and the type of the stage");
    const auto t = r_.peek().kind == Tok::word ? dtype_of(r_.peek().raw) : std::nullopt;
    if (!t) r_.unexpected("the type of an element");
    r_.take();
    stage_.dtype = *t;
    stage_.axes = axes();
    if (r_.accept_word("reduce")) stage_.reduce = axes();
    if (r_.accept_word("in")) {
      do stage_.pools.push_back(r_.string("the id of a pool"));
      while (r_.accept(","));
    }
    if (r_.accept_word("align")) stage_.align = r_.natural("an alignment in bytes");
    if (r_.accept("{")) {
      while (at_line()) line();
      r_.expect_word("yield", "and the value of the stage");
      stage_.value = expr();
      r_.expect("}", "after the stage");
    } else {
      r_.expect("=", "or `{` before the value of the stage");
      stage_.value = expr();
    }
    c_.stages.push_back(std::move(stage_));
    stage_ = {};
  }

  ExprId special() override {
    static constexpr std::string_view folds[] = {"reduce_sum", "reduce_prod", "reduce_max",
                                                 "reduce_min"};
    const Token& t = r_.peek();
    for (std::uint8_t f = 0; f < 4; ++f)
      if (t.is_word(folds[f]) && r_.peek(1).is("(")) return reduce(static_cast<te::Fold>(f));
    if (t.kind == Tok::percent) return load();
    const std::uint32_t n = find_axis(r_, stage_);
    return leaf(static_cast<std::uint32_t>(te::Kind::axis), suffix({DType::i64, 1}), n, 0, 0);
  }

  ExprId reduce(te::Fold fold) {
    r_.take();
    r_.expect("(", "before the operand");
    std::vector<ExprId> a = args(")");
    const tir::Type t = suffix(a.empty() ? tir::Type{} : type_of(a[0]));
    return add({.kind = te::Kind::reduce, .fold = fold, .dtype = t.dtype, .args = std::move(a)});
  }

  ExprId load() {
    const Token& t = r_.peek();
    const std::uint32_t n = r_.index(Tok::percent, "a tensor, like %0");
    if (n >= c_.inputs.size() + c_.stages.size())
      r_.fail(t, code::unknown, fmt::format("there is no tensor %{} before this line", n));
    r_.expect("[", "before the index");
    std::vector<ExprId> a = args("]");
    const DType otherwise =
        n < c_.inputs.size() ? c_.inputs[n].dtype : c_.stages[n - c_.inputs.size()].dtype;
    return add({.kind = te::Kind::load,
                .dtype = suffix({otherwise, 1}).dtype,
                .n = n,
                .args = std::move(a)});
  }

  /// Equal expressions are one: a law of TE, so that text need not name what it says twice.
  ExprId add(te::Expr e) {
    const auto [it, fresh] = interned_.try_emplace(
        {e.kind, e.op, e.fold, e.dtype, e.n, std::bit_cast<std::uint64_t>(e.f), e.i, e.args},
        count());
    if (fresh) c_.exprs.push_back(std::move(e));
    return it->second;
  }
  ExprId add_leaf(std::uint32_t kind, const tir::Type& t, std::uint32_t n, double f,
                  std::int64_t i) override {
    return add({.kind = static_cast<te::Kind>(kind), .dtype = t.dtype, .n = n, .f = f, .i = i});
  }
  ExprId add_scalar(ScalarOp op, const tir::Type& t, std::vector<ExprId> a) override {
    return add({.kind = te::Kind::scalar, .op = op, .dtype = t.dtype, .args = std::move(a)});
  }
  ExprId add_copy(ExprId id) override { return id; }
  tir::Type type_of(ExprId id) const override { return {c_.exprs[id].dtype, 1}; }
  void set_type(ExprId id, const tir::Type& t) override { c_.exprs[id].dtype = t.dtype; }
  ExprId count() const override { return static_cast<ExprId>(c_.exprs.size()); }

  using Key = std::tuple<te::Kind, ScalarOp, te::Fold, DType, std::uint32_t, std::uint64_t,
                         std::int64_t, std::vector<ExprId>>;
  te::Compute c_;
  te::Stage stage_;  // the open one
  std::map<Key, ExprId> interned_;
};

LoopSpec read_loop(Reader& r, const te::Stage& s) {
  LoopSpec l;
  l.axis = find_axis(r, s);
  if (r.accept("/")) l.step = r.integer("a step");
  if (r.accept_word("parallel"))
    l.kind = LoopKind::parallel;
  else if (r.accept_word("unroll"))
    l.kind = LoopKind::unroll;
  else if (r.accept_word("vector"))
    l.kind = LoopKind::vector;
  else if (r.accept_word("tensor"))
    l.kind = LoopKind::tensor;
  else if (r.peek().kind == Tok::word)
    r.unexpected("a kind of loop: parallel, unroll, vector or tensor");
  return l;
}

Place read_place(Reader& r) {
  if (r.accept_word("output")) return Place::output;
  if (r.accept_word("shared")) return Place::shared;
  if (r.accept_word("worker")) return Place::worker;
  r.unexpected("a place: output, shared or worker");
}

}  // namespace

ComputeFunction read_compute(Reader& r) { return ComputeReader(r).run(); }

Schedule read_schedule(Reader& r, const te::Compute& c) {
  Schedule s;
  const auto stage_number = [&](std::string_view what) {
    const Token& t = r.peek();
    const std::uint32_t n = r.index(Tok::percent, what);
    if (n < c.inputs.size())
      r.fail(t, code::unknown, fmt::format("%{} is an input, not a stage", n));
    return n - static_cast<std::uint32_t>(c.inputs.size());
  };
  r.expect_word("schedule", "at the start of a schedule");
  s.family = r.string("the family of the schedule");
  r.expect("{", "before the rows");
  while (!r.accept("}")) {
    const Token& t = r.peek();
    if (stage_number("a stage, like %2") != s.stages.size() || s.stages.size() >= c.stages.size())
      r.fail(t, code::unknown,
             fmt::format("rows stand in the order of the stages, of which there are {}",
                         c.stages.size()));
    const te::Stage& stage = c.stages[s.stages.size()];
    StageSchedule row;
    row.place = read_place(r);
    if (r.accept_word("at")) {
      row.at_stage = stage_number("a stage, like %3");
      r.expect_word("loop", "and the number of loops around it");
      row.at_loop = r.natural32("a number of loops");
    }
    if (r.accept(":")) {
      do row.loops.push_back(read_loop(r, stage));
      while (r.accept(","));
    }
    s.stages.push_back(std::move(row));
  }
  return s;
}

}  // namespace tenon::text
