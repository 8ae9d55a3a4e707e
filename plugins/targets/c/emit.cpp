#include "emit.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <initializer_list>
#include <vector>

#include "operations.h"
#include "ranges.h"
#include "tenon/c_names.h"
#include "variables.h"

namespace tenon::c_target {
namespace {

class KernelPrinter {
 public:
  KernelPrinter(const tir::Kernel& k, Helpers& helpers)
      : k_(k),
        ranges_(k),
        variables_(k),
        ops_(helpers),
        texts_(k.exprs.size()),
        uses_(k.exprs.size()) {
    for (const char* word : {"buf", "dim", "worker", "first", "last"}) names_.reserve(word);
    for (const tir::Buffer& b : k.buffers) buffers_.push_back(names_.take(b.name));
    for (const tir::Var& v : k.vars) vars_.push_back(names_.take(v.name));
  }

  std::string run() {
    line(
        fmt::format("TENON_KERNEL int32_t {}(void* const* buf, const int64_t* dim, void* worker, "
                    "int64_t first, "
                    "int64_t last) {{",
                    k_.symbol));
    ++depth_;
    parameters();
    declarations();
    statements(k_.body);
    line("return 0;");
    --depth_;
    line("}");
    return std::move(out_);
  }

 private:
  using Texts = std::vector<std::string>;

  void line(const std::string& text) {
    out_.append(2 * depth_, ' ');
    out_ += text + '\n';
  }

  void parameters() {
    bool uses_buf = false, uses_worker = false;
    for (std::size_t i = 0; i < k_.buffers.size(); ++i) {
      if (!variables_.touches(i)) continue;
      const tir::Buffer& b = k_.buffers[i];
      (b.scope == tir::Scope::worker ? uses_worker : uses_buf) = true;
      line(buffer(b, buffers_[i]));
    }
    for (std::size_t v = 0; v < 2; ++v) {
      const char* from = v == 0 ? "first" : "last";
      if (!variables_.live(v)) continue;
      line(ranges_.narrow_var(v) ? fmt::format("const int32_t {} = (int32_t){};", vars_[v], from)
                                 : fmt::format("const int64_t {} = {};", vars_[v], from));
    }
    if (!uses_buf) line("(void)buf;");
    line("(void)dim;");
    if (!uses_worker) line("(void)worker;");
    if (!variables_.live(0)) line("(void)first;");
    if (!variables_.live(1)) line("(void)last;");
  }

  std::string buffer(const tir::Buffer& b, const std::string& name) const {
    const bool paired = std::any_of(k_.inplace.begin(), k_.inplace.end(),
                                    [&](auto& p) { return p.first == b.arg || p.second == b.arg; });
    const std::string type =
        (b.scope == tir::Scope::input ? "const " : "") + memory_type(b.dtype) + "*";
    if (b.scope == tir::Scope::worker)
      return fmt::format("{0} const {1} = ({0})(void*)((unsigned char*)worker + {2});", type, name,
                         b.offset);
    return fmt::format("{}{} const {} = buf[{}];", type, paired ? "" : " restrict", name, b.arg);
  }

  std::string_view var_type(tir::VarId v) const {
    return ranges_.narrow_var(v) ? "int32_t" : c_type(k_.vars[v].type.dtype);
  }
  std::string_view expr_type(tir::ExprId e) const {
    return ranges_.narrow(e) ? "int32_t" : c_type(k_.exprs[e].type.dtype);
  }
  static std::string lane_name(const std::string& name, unsigned lanes, unsigned lane) {
    return lanes == 1 ? name
                      : fmt::format("{}__{}", name, lane);  // no name of CNames has two underscores
  }

  void declarations() {
    for (tir::VarId v = 2; v < k_.vars.size(); ++v) {
      if (!variables_.live(v) || variables_.scoped(v)) continue;
      const tir::Type t = k_.vars[v].type;
      const std::string zero = is_float(t.dtype) && bits(t.dtype) >= 32
                                   ? ops_.constant(t.dtype, 0, 0)
                               : t.dtype == DType::boolean ? "false"
                                                           : "0";
      std::string text(var_type(v));
      for (unsigned l = 0; l < t.lanes; ++l)
        text += fmt::format("{} {} = {}", l ? "," : "", lane_name(vars_[v], t.lanes, l), zero);
      line(text + ";");
    }
  }

  // --- expressions

  /// Makes the texts of the roots and of what they need. What is used more than once gets a name,
  /// and so do the lanes of `aside`, so that all of them are there before any is stored.
  void evaluate(std::initializer_list<tir::ExprId> roots, tir::ExprId aside = tir::none) {
    const std::vector<tir::ExprId> order = variables_.needed(roots);
    for (tir::ExprId e : order) uses_[e] = 0;
    const auto use = [&](tir::ExprId a, unsigned lanes) {
      uses_[a] += std::max(1u, lanes / k_.exprs[a].type.lanes);
    };
    for (tir::ExprId e : order)
      for (tir::ExprId a : k_.exprs[e].args) use(a, k_.exprs[e].type.lanes);
    const tir::ExprId first = *roots.begin();
    for (tir::ExprId r : roots)
      if (r != tir::none) use(r, k_.exprs[first].type.lanes);
    for (tir::ExprId e : order) {
      texts_[e] = lanes_of(e);
      const bool leaf = k_.exprs[e].kind == tir::Kind::imm || k_.exprs[e].kind == tir::Kind::var ||
                        k_.exprs[e].kind == tir::Kind::broadcast ||
                        k_.exprs[e].kind == tir::Kind::ramp;
      if (!leaf && (uses_[e] > 1 || e == aside)) give_name(e);
    }
  }

  void give_name(tir::ExprId e) {
    const std::string name = fmt::format("e__{}", ++temporaries_);
    const unsigned lanes = k_.exprs[e].type.lanes;
    for (unsigned l = 0; l < lanes; ++l) {
      std::string& text = texts_[e][l];
      const std::string lane = lane_name(name, lanes, l);
      line(fmt::format("const {} {} = {};", expr_type(e), lane, bare(text)));
      text = lane;
    }
  }

  Texts lanes_of(tir::ExprId id) {
    const tir::Expr& e = k_.exprs[id];
    if (e.kind == tir::Kind::fold_lanes) return {fold(e)};
    Texts out;
    for (unsigned l = 0; l < e.type.lanes; ++l) out.push_back(lane(id, l));
    return out;
  }

  std::string fold(const tir::Expr& e) {
    Texts all = texts_[e.args[0]];
    for (std::size_t n = all.size(); n > 1; n -= n / 2)
      for (std::size_t l = 0; l < n / 2; ++l) {
        const std::string pair[] = {all[l], all[l + n - n / 2]};
        all[l] = ops_.print(e.op, e.type.dtype, e.type.dtype, pair);
      }
    return all[0];
  }

  std::string lane(tir::ExprId id, unsigned l) {
    const tir::Expr& e = k_.exprs[id];
    switch (e.kind) {
      case tir::Kind::imm:
        return ops_.constant(ranges_.narrow(id) ? DType::i32 : e.type.dtype, e.f, e.i);
      case tir::Kind::var:
        return lane_name(vars_[e.n], e.type.lanes, l);
      case tir::Kind::broadcast:
        return texts_[e.args[0]][l % k_.exprs[e.args[0]].type.lanes];
      case tir::Kind::dot:
        return dot(e, l);
      case tir::Kind::ramp:
        return ramp(id, l);
      case tir::Kind::load:
        return load(e, l);
      default:
        return scalar(id, l);
    }
  }

  /// The four products fit an int; only what they are added to may wrap.
  std::string dot(const tir::Expr& e, unsigned l) {
    const Texts &x = texts_[e.args[0]], &y = texts_[e.args[1]];
    std::string products;
    for (unsigned j = 4 * l; j < 4 * l + 4; ++j)
      products += fmt::format("{}{} * {}", j == 4 * l ? "" : " + ", x[j], y[j]);
    const std::string pair[] = {texts_[e.args[2]][l], "(" + products + ")"};
    return ops_.print(ScalarOp::add, DType::i32, DType::i32, pair);
  }

  std::string ramp(tir::ExprId id, unsigned l) {
    const tir::Expr& e = k_.exprs[id];
    const std::int64_t more = static_cast<std::int64_t>(static_cast<std::uint64_t>(e.i) * l);
    const std::string& base = texts_[e.args[0]][0];
    if (more == 0) return base;
    const tir::Expr& from = k_.exprs[e.args[0]];
    if (ranges_.narrow(id) && from.kind == tir::Kind::imm)
      return ops_.constant(DType::i32, 0, from.i + more);
    if (ranges_.narrow(id))
      return fmt::format("({} + {})", base, ops_.constant(DType::i32, 0, more));
    const std::string pair[] = {base, ops_.constant(e.type.dtype, 0, more)};
    return ops_.print(ScalarOp::add, e.type.dtype, e.type.dtype, pair);
  }

  std::string element(std::uint32_t buffer, tir::ExprId index, std::int64_t stride,
                      unsigned l) const {
    const Texts& at = texts_[index];
    if (at.size() > 1 || l == 0)
      return fmt::format("{}[{}]", buffers_[buffer], bare(at[at.size() > 1 ? l : 0]));
    const tir::Expr& e = k_.exprs[index];
    const std::int64_t more = static_cast<std::int64_t>(l) * std::max<std::int64_t>(stride, 1);
    if (e.kind == tir::Kind::imm) return fmt::format("{}[{}]", buffers_[buffer], e.i + more);
    const bool plain = e.type.dtype == DType::i64 &&
                       (!ranges_.narrow(index) || ranges_.of(index).hi <= INT32_MAX - more);
    return fmt::format("{}[{}{} + {}]", buffers_[buffer], plain ? "" : "(int64_t)", at[0], more);
  }

  std::string load(const tir::Expr& e, unsigned l) const {
    std::string text = element(e.n, e.args[0], e.i, l);
    const bool boolean = e.type.dtype == DType::boolean;
    if (boolean) text = fmt::format("({} != 0)", text);
    if (e.args.size() < 2) return text;
    const std::string_view off = boolean                      ? "false"
                                 : e.type.dtype == DType::f32 ? "0.0f"
                                 : e.type.dtype == DType::f64 ? "0.0"
                                                              : "0";
    return fmt::format("({} ? {} : {})", texts_[e.args[1]][l], text, off);
  }

  std::string scalar(tir::ExprId id, unsigned l) {
    const tir::Expr& e = k_.exprs[id];
    std::array<std::string, 3> a;
    for (std::size_t i = 0; i < e.args.size(); ++i) a[i] = texts_[e.args[i]][l];
    const std::span<const std::string> args(a.data(), e.args.size());
    if (e.type.dtype == DType::i64 && ranges_.of(id).known() && e.args.size() == 2)
      if (std::string text = index(id, a); !text.empty()) return text;
    if (ranges_.narrow(id) && e.op == ScalarOp::cast &&
        k_.exprs[e.args[0]].type.dtype != DType::i64)
      return fmt::format("((int32_t){})", a[0]);
    return ops_.print(e.op, k_.exprs[e.args.back()].type.dtype, e.type.dtype, args);
  }

  /// Index arithmetic that does not leave its type: C's own operators. "" for operations that it
  /// has not.
  std::string index(tir::ExprId id, const std::array<std::string, 3>& a) {
    const tir::Expr& e = k_.exprs[id];
    const bool narrow = ranges_.narrow(id),
               divides = e.op == ScalarOp::div || e.op == ScalarOp::mod;
    const bool extremum = e.op == ScalarOp::min || e.op == ScalarOp::max;
    if (!divides && !extremum && e.op != ScalarOp::add && e.op != ScalarOp::sub &&
        e.op != ScalarOp::mul)
      return "";
    const bool floors = divides && (ranges_.of(e.args[0]).lo < 0 || ranges_.of(e.args[1]).lo <= 0);
    const DType t = narrow ? DType::i32 : DType::i64;
    if (extremum || floors) return ops_.print(e.op, t, t, std::span(a.data(), 2));
    if (e.op == ScalarOp::add && is_zero(e.args[1])) return a[0];
    const bool widen = !narrow && ranges_.narrow(e.args[0]);
    return fmt::format("({}{} {} {})", widen ? "(int64_t)" : "", a[0], infix(e.op), a[1]);
  }

  bool is_zero(tir::ExprId e) const {
    return k_.exprs[e].kind == tir::Kind::imm && k_.exprs[e].i == 0;
  }

  // --- statements

  void statements(const std::vector<tir::StmtId>& list) {
    for (tir::StmtId id : list) {
      const tir::Stmt& s = k_.stmts[id];
      switch (s.kind) {
        case tir::StmtKind::assign:
          if (variables_.live(s.target)) assign(s);
          break;
        case tir::StmtKind::store:
          store(s);
          break;
        case tir::StmtKind::loop:
          loop(s);
          break;
        case tir::StmtKind::branch:
          branch(s);
          break;
      }
    }
  }

  void assign(const tir::Stmt& s) {
    evaluate({s.value});
    const unsigned lanes = k_.exprs[s.value].type.lanes;
    const std::string declares =
        variables_.scoped(s.target) ? fmt::format("const {} ", var_type(s.target)) : "";
    for (unsigned l = 0; l < lanes; ++l)
      line(fmt::format("{}{} = {};", declares, lane_name(vars_[s.target], lanes, l),
                       as_type(s.target, s.value, texts_[s.value][l])));
  }

  /// The value for a variable, which may be narrower than the arithmetic that made it.
  std::string as_type(tir::VarId v, tir::ExprId e, const std::string& text) const {
    return ranges_.narrow_var(v) && !ranges_.narrow(e) ? "(int32_t)" + text : bare(text);
  }

  void store(const tir::Stmt& s) {
    const tir::Type t = k_.exprs[s.value].type;
    evaluate({s.value, s.index, s.mask}, t.lanes > 1 ? s.value : tir::none);
    for (unsigned l = 0; l < t.lanes; ++l) {
      // Integers by an explicit cast: gcc takes the aliasing type for another and would warn of its
      // sign.
      const std::string value =
          is_float(t.dtype) && bits(t.dtype) >= 32
              ? bare(texts_[s.value][l])
              : fmt::format("({}){}", memory_type(t.dtype), texts_[s.value][l]);
      const std::string text =
          fmt::format("{} = {};", element(s.target, s.index, s.stride, l), value);
      line(s.mask == tir::none ? text : fmt::format("if ({}) {}", bare(texts_[s.mask][l]), text));
    }
  }

  void loop(const tir::Stmt& s) {
    evaluate({s.begin, s.end});
    const std::string& name = vars_[s.target];
    const std::string begin = as_type(s.target, s.begin, texts_[s.begin][0]);
    std::string end = as_type(s.target, s.end, texts_[s.end][0]);
    const tir::Expr& e = k_.exprs[s.end];
    const bool fixed = e.kind == tir::Kind::imm || (e.kind == tir::Kind::var && e.n < 2);
    if (!fixed) {  // evaluated once: the body may change what it is made of
      const std::string once = fmt::format("e__{}", ++temporaries_);
      line(fmt::format("const {} {} = {};", var_type(s.target), once, end));
      end = once;
    }
    const std::string step = s.step == 1 ? name + "++" : fmt::format("{} += {}", name, s.step);
    const std::string declares =
        variables_.scoped(s.target) ? fmt::format("{} ", var_type(s.target)) : "";
    line(fmt::format("for ({}{} = {}; {} < {}; {}) {{", declares, name, begin, name, end, step));
    block(s.body);
    line("}");
  }

  void branch(const tir::Stmt& s) {
    evaluate({s.value});
    line(fmt::format("if ({}) {{", bare(texts_[s.value][0])));
    block(s.body);
    if (!s.other.empty()) {
      line("} else {");
      block(s.other);
    }
    line("}");
  }

  void block(const std::vector<tir::StmtId>& list) {
    ++depth_;
    statements(list);
    --depth_;
  }

  const tir::Kernel& k_;
  const Ranges ranges_;
  const Variables variables_;
  Operations ops_;
  CNames names_;
  std::vector<std::string> buffers_, vars_;
  std::vector<Texts> texts_;    ///< per expression of the statement at hand, per lane
  std::vector<unsigned> uses_;  ///< of each expression within the statement at hand
  std::string out_;
  std::size_t depth_ = 0, temporaries_ = 0;
};

std::string refuse_expr(const tir::Kernel& k, const tir::Expr& e) {
  if (bits(e.type.dtype) < 8)
    return fmt::format("type {} in a kernel: lowering addresses it as bytes", name(e.type.dtype));
  if (e.kind != tir::Kind::scalar) return "";
  if (is_transcendental(e.op))
    return fmt::format("{} in a kernel: lowering expands it", name(e.op));
  if (is_float(k.exprs[e.args.back()].type.dtype) && e.op == ScalarOp::mod)
    return "mod of floats in a kernel: lowering expands it";
  return "";
}

}  // namespace

std::string refuse(const tir::Kernel& k) {
  if (std::string why = tir::check(k); !why.empty()) return why;
  if (!is_c_identifier(k.symbol)) return "its symbol is no name for a C function";
  for (const tir::Expr& e : k.exprs)
    if (std::string why = refuse_expr(k, e); !why.empty()) return why;
  for (const tir::Buffer& b : k.buffers)
    if (bits(b.dtype) < 8)
      return fmt::format("buffer '{}' of {}: lowering addresses it as bytes", b.name,
                         name(b.dtype));
  return "";
}

std::string emit(const tir::Kernel& k, Helpers& helpers) { return KernelPrinter(k, helpers).run(); }

}  // namespace tenon::c_target
