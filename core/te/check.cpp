// The laws of TE, one after the other; the first breach is described. Shares no code with the
// builder.
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <map>
#include <set>

#include "tenon/te.h"

namespace tenon::te {

namespace {

bool takes_float_only(ScalarOp op) {
  switch (op) {
    case ScalarOp::exp:
    case ScalarOp::log:
    case ScalarOp::sqrt:
    case ScalarOp::tanh:
    case ScalarOp::erf:
    case ScalarOp::sigmoid:
    case ScalarOp::sin:
    case ScalarOp::cos:
    case ScalarOp::floor:
    case ScalarOp::ceil:
    case ScalarOp::round_even:
    case ScalarOp::is_nan:
    case ScalarOp::fma:
      return true;
    default:
      return false;
  }
}

bool takes_bits(ScalarOp op) {
  return op == ScalarOp::bit_and || op == ScalarOp::bit_or || op == ScalarOp::bit_xor ||
         op == ScalarOp::bit_not || op == ScalarOp::shl || op == ScalarOp::shr;
}

bool takes_boolean(ScalarOp op) {
  return is_comparison(op) || op == ScalarOp::min || op == ScalarOp::max;
}

class Checker {
 public:
  explicit Checker(const Compute& c) : c_(c) {}

  std::string run() {
    for (std::size_t k = 0; k < c_.inputs.size(); ++k)
      if (!c_.inputs[k].is_static()) return fmt::format("input {} is not static", k);
    if (std::string why = exprs(); !why.empty()) return why;
    if (c_.outputs.empty()) return "no outputs";
    std::set<std::uint32_t> seen;
    for (std::uint32_t o : c_.outputs) {
      if (o >= c_.stages.size()) return fmt::format("output stage {} of {}", o, c_.stages.size());
      if (!seen.insert(o).second) return fmt::format("stage {} is an output twice", o);
    }
    for (std::uint32_t s = 0; s < c_.stages.size(); ++s)
      if (std::string why = stage(s); !why.empty())
        return fmt::format("stage {} `{}`: {}", s, c_.stages[s].name, why);
    return "";
  }

 private:
  DType type(ExprId id) const { return c_.exprs[id].dtype; }

  std::string exprs() const {
    std::map<std::string, ExprId> distinct;
    for (ExprId id = 0; id < c_.exprs.size(); ++id) {
      const Expr& e = c_.exprs[id];
      for (ExprId a : e.args)
        if (a >= id) return fmt::format("expression {} uses {}, which is not smaller", id, a);
      if (std::string why = expr(e); !why.empty()) return fmt::format("expression {}: {}", id, why);
      std::string key(reinterpret_cast<const char*>(&e.f), sizeof e.f);
      key += fmt::format("{} {} {} {} {} {} {}", static_cast<int>(e.kind), static_cast<int>(e.op),
                         static_cast<int>(e.fold), static_cast<int>(e.dtype), e.n, e.i,
                         fmt::join(e.args, ","));
      auto [it, fresh] = distinct.try_emplace(std::move(key), id);
      if (!fresh) return fmt::format("expressions {} and {} are equal", it->second, id);
    }
    return "";
  }

  std::string expr(const Expr& e) const {
    switch (e.kind) {
      case Kind::imm:
        return e.args.empty() ? "" : "a constant has operands";
      case Kind::axis:
        return e.args.empty() && e.dtype == DType::i64 ? "" : "an axis is an i64 without operands";
      case Kind::load:
        return load(e);
      case Kind::scalar:
        return scalar(e);
      case Kind::reduce:
        if (e.args.size() != 1) return "a reduce has one operand";
        if (type(e.args[0]) != e.dtype) return "a reduce has the type of its operand";
        if (e.dtype == DType::boolean && e.fold != Fold::max && e.fold != Fold::min)
          return "booleans fold with min and max only";
        return "";
    }
    return "unknown kind";
  }

  std::string load(const Expr& e) const {
    if (e.n >= c_.inputs.size() + c_.stages.size()) return fmt::format("load of tensor {}", e.n);
    if (e.dtype != c_.dtype_of(e.n))
      return fmt::format("load of {} gives {}", name(c_.dtype_of(e.n)), name(e.dtype));
    std::size_t rank = c_.is_input(e.n) ? c_.inputs[e.n].rank() : c_.stage_of(e.n).axes.size();
    if (e.args.size() != rank)
      return fmt::format("load of tensor {} has {} indices for {} axes", e.n, e.args.size(), rank);
    for (ExprId a : e.args)
      if (type(a) != DType::i64) return fmt::format("an index has type {}", name(type(a)));
    return "";
  }

  std::string scalar(const Expr& e) const {
    if (e.args.size() != arity(e.op))
      return fmt::format("{} has {} operands", name(e.op), e.args.size());
    DType t = type(e.args[0]);
    auto bad = [&] { return fmt::format("{} of {} gives {}", name(e.op), name(t), name(e.dtype)); };
    if (e.op == ScalarOp::cast) return "";
    if (e.op == ScalarOp::bitcast) return bits(t) == bits(e.dtype) ? "" : bad();
    if (e.op == ScalarOp::select) {
      bool ok = t == DType::boolean && type(e.args[1]) == e.dtype && type(e.args[2]) == e.dtype;
      return ok ? "" : "select takes (bool, T, T) and gives T";
    }
    for (ExprId a : e.args)
      if (type(a) != t) return fmt::format("{} of {} and {}", name(e.op), name(t), name(type(a)));
    bool logic = e.op == ScalarOp::logical_and || e.op == ScalarOp::logical_or ||
                 e.op == ScalarOp::logical_not;
    bool to_bool = logic || is_comparison(e.op) || e.op == ScalarOp::is_nan;
    if (e.dtype != (to_bool ? DType::boolean : t)) return bad();
    if (logic) return t == DType::boolean ? "" : bad();
    if (takes_float_only(e.op) && !is_float(t)) return bad();
    if (e.op == ScalarOp::ldexp && (!is_float(t) || t == DType::f64)) return bad();
    if (takes_bits(e.op)) return is_float(t) ? bad() : "";
    return t != DType::boolean || takes_boolean(e.op) ? "" : bad();
  }

  std::string stage(std::uint32_t index) const {
    const Stage& s = c_.stages[index];
    if (!std::has_single_bit(s.align))
      return fmt::format("alignment {} is not a power of two", s.align);
    if (std::set<std::string>(s.pools.begin(), s.pools.end()).size() != s.pools.size() ||
        std::find(s.pools.begin(), s.pools.end(), "") != s.pools.end())
      return "a pool stands twice, or has no name";
    if (s.value >= c_.exprs.size()) return "no value";
    if (type(s.value) != s.dtype)
      return fmt::format("value of type {} in a stage of {}", name(type(s.value)), name(s.dtype));
    bool empty = false;
    for (const auto* axes : {&s.axes, &s.reduce})
      for (const Axis& a : *axes) {
        if (a.extent < 0) return fmt::format("axis {} has extent {}", a.name, a.extent);
        empty |= a.extent == 0;
      }
    if (!byte_size(TensorType(s.dtype, s.shape()))) return "size passes 2^63";
    const std::vector<ExprId> all = reachable(c_, s.value);
    ExprId fold = none;
    for (ExprId id : all) {
      const Expr& e = c_.exprs[id];
      if (e.kind == Kind::reduce && fold != none) return "more than one reduce";
      if (e.kind == Kind::reduce) fold = id;
      if (e.kind == Kind::axis && e.n >= s.axes.size() + s.reduce.size())
        return fmt::format("axis {} of {}", e.n, s.axes.size() + s.reduce.size());
      if (e.kind == Kind::load && e.n >= c_.tensor_of_stage(index))
        return fmt::format("load of tensor {}, which is not earlier", e.n);
    }
    if ((fold != none) != !s.reduce.empty())
      return "reduction axes without a reduce, or a reduce without axes";
    if (std::string why = outside(s, fold); !why.empty()) return why;
    return empty ? "" : bounds(s, all);
  }

  /// Reduction axes stand only under the reduce.
  std::string outside(const Stage& s, ExprId fold) const {
    std::vector<ExprId> stack{s.value};
    std::set<ExprId> seen;
    while (!stack.empty()) {
      ExprId id = stack.back();
      stack.pop_back();
      if (id == fold || !seen.insert(id).second) continue;
      const Expr& e = c_.exprs[id];
      if (e.kind == Kind::axis && e.n >= s.axes.size())
        return fmt::format("reduction axis {} outside of the reduce", e.n);
      stack.insert(stack.end(), e.args.begin(), e.args.end());
    }
    return "";
  }

  /// Affine loads that are not guarded stay within their tensors.
  std::string bounds(const Stage& s, const std::vector<ExprId>& all) const {
    std::set<ExprId> open{s.value};  // used elsewhere than directly under a guard
    for (ExprId id : all) {
      const Expr& e = c_.exprs[id];
      for (std::size_t k = 0; k < e.args.size(); ++k)
        if (k != 1 || !is_guarded_load(c_, e)) open.insert(e.args[k]);
    }
    for (ExprId id : all) {
      const Expr& e = c_.exprs[id];
      if (e.kind != Kind::load || !open.count(id)) continue;
      const Shape shape = c_.shape_of(e.n);
      for (std::size_t d = 0; d < shape.size(); ++d) {
        Affine a = affine_of(c_, s, e.args[d]);
        if (!a.ok) continue;
        std::int64_t low = a.constant, high = a.constant;
        for (std::size_t k = 0; k < a.coeff.size(); ++k) {
          std::int64_t last =
              (k < s.axes.size() ? s.axes[k] : s.reduce[k - s.axes.size()]).extent - 1;
          (a.coeff[k] < 0 ? low : high) += a.coeff[k] * last;
        }
        if (low < 0 || high >= shape[d])
          return fmt::format("load of tensor {} at {}..{} on axis {} of extent {}", e.n, low, high,
                             d, shape[d]);
      }
    }
    return "";
  }

  const Compute& c_;
};

}  // namespace

std::string check(const Compute& c) { return Checker(c).run(); }

}  // namespace tenon::te
