#include "eval.h"

#include "math.h"
#include "tenon/diag.h"
#include "tensorise.h"

namespace tenon::te_lowering {

std::optional<bool> compared_with_zero(ScalarOp op, std::int64_t low, std::int64_t high) {
  switch (op) {
    case ScalarOp::lt:
      if (high < 0 || low >= 0) return high < 0;
      break;
    case ScalarOp::le:
      if (high <= 0 || low > 0) return high <= 0;
      break;
    case ScalarOp::gt:
      if (low > 0 || high <= 0) return low > 0;
      break;
    case ScalarOp::ge:
      if (low >= 0 || high < 0) return low >= 0;
      break;
    case ScalarOp::eq:
    case ScalarOp::ne:
      if (low > 0 || high < 0) return op == ScalarOp::ne;
      if (low == 0 && high == 0) return op == ScalarOp::eq;
      break;
    default:
      break;
  }
  return std::nullopt;
}

const te::Affine& Eval::affine(const te::Stage& s, te::ExprId e) {
  auto [it, is_new] = affine_.try_emplace({&s, e});
  if (is_new) it->second = te::affine_of(c_, s, e);
  return it->second;
}

ExprId Eval::active_lanes(const Point& p) {
  return code_.scalar(ScalarOp::lt, DType::boolean,
                      {code_.ramp(code_.i64(0), 1, p.lanes), code_.i64(p.active)});
}

ExprId Eval::both(ExprId a, ExprId b) {
  if (a == tir::none || a == b) return b;
  if (b == tir::none) return a;
  return code_.scalar(ScalarOp::logical_and, DType::boolean, {a, b});
}

ExprId Eval::value(const te::Stage& s, te::ExprId e, const Point& p) {
  Frame f{s, p, {}};
  return eval(f, e, tir::none);
}

ExprId Eval::eval(Frame& f, te::ExprId id, ExprId guard) {
  const auto key = std::pair(id, guard);
  if (auto it = f.done.find(key); it != f.done.end()) return it->second;
  const te::Expr& e = c_.exprs[id];
  ExprId r = tir::none;
  switch (e.kind) {
    case te::Kind::imm:
      r = is_float(e.dtype) ? code_.imm_float(e.dtype, e.f) : code_.imm_int(e.dtype, e.i);
      break;
    case te::Kind::reduce:
      r = f.p.folded;
      break;
    case te::Kind::load:
      r = load(f, e, guard);
      break;
    case te::Kind::axis: {
      r = code_.linear(f.p.axis[e.n]);
      if (f.p.vec == static_cast<int>(e.n)) r = code_.ramp(r, 1, f.p.lanes);
      break;
    }
    case te::Kind::scalar: {
      if (e.op == ScalarOp::select) {
        r = select(f, e, guard);
      } else if (is_comparison(e.op) && c_.exprs[e.args[0]].dtype == DType::i64) {
        r = compare(f, e, guard);
      } else {
        std::vector<ExprId> args;
        for (te::ExprId a : e.args) args.push_back(eval(f, a, guard));
        r = scalar(code_, e.op, e.dtype, args, fast_math_);
      }
      break;
    }
  }
  f.done.emplace(key, r);
  return r;
}

/// Operand 1 is evaluated under the condition, so that what it loads is only read where it is
/// wanted.
ExprId Eval::select(Frame& f, const te::Expr& e, ExprId guard) {
  const ExprId cond = eval(f, e.args[0], guard);
  std::int64_t known = 0;
  if (code_.is_imm(cond, &known)) return eval(f, e.args[known ? 1 : 2], guard);
  const ExprId a = eval(f, e.args[1], both(guard, cond));
  const te::Expr& other = c_.exprs[e.args[2]];
  const bool zero =
      other.kind == te::Kind::imm && other.i == 0 && other.f == 0 && !std::signbit(other.f);
  if (zero && guard == tir::none && c_.exprs[e.args[1]].kind == te::Kind::load)
    return a;  // masked lanes are 0
  return code_.scalar(ScalarOp::select, e.dtype, {cond, a, eval(f, e.args[2], guard)});
}

ExprId Eval::compare(Frame& f, const te::Expr& e, ExprId guard) {
  const Place a = place(f, e.args[0], guard), b = place(f, e.args[1], guard);
  if (!a.ok || !b.ok)
    return code_.scalar(e.op, DType::boolean,
                        {eval(f, e.args[0], guard), eval(f, e.args[1], guard)});
  const Place d = combine(ScalarOp::sub, a, b);  // compared with 0
  std::int64_t low = 0, high = 0;
  if (code_.bounds(d.base, low, high)) {
    const std::int64_t reach = d.lane * (f.p.active - 1);
    (reach < 0 ? low : high) += reach;
    if (const auto known = compared_with_zero(e.op, low, high))
      return code_.imm_int(DType::boolean, *known);
  }
  ExprId diff = code_.linear(d.base);
  if (d.lane != 0) diff = code_.ramp(diff, d.lane, f.p.lanes);
  return code_.scalar(e.op, DType::boolean, {diff, code_.i64(0)});
}

Eval::Place Eval::combine(ScalarOp op, const Place& a, const Place& b) {
  const auto constant = [](const Place& x) { return x.base.is_constant() && x.lane == 0; };
  const auto scaled = [](const Place& x, std::int64_t k) {
    return Place{true, add_scaled({}, x.base, k), k * x.lane};
  };
  switch (op) {
    case ScalarOp::add:
      return {true, add_scaled(a.base, b.base, 1), a.lane + b.lane};
    case ScalarOp::sub:
      return {true, add_scaled(a.base, b.base, -1), a.lane - b.lane};
    case ScalarOp::mul:
      if (constant(a)) return scaled(b, a.base.c);
      if (constant(b)) return scaled(a, b.base.c);
      return {};
    default:
      return {};
  }
}

/// x / k or x % k where x stays between two multiples of k.
Eval::Place Eval::quotient(Frame& f, const te::Expr& e, ExprId guard) {
  const bool division = e.op == ScalarOp::div;
  if (e.kind != te::Kind::scalar || (!division && e.op != ScalarOp::mod)) return {};
  const te::Expr& d = c_.exprs[e.args[1]];
  if (d.kind != te::Kind::imm || d.dtype != DType::i64 || d.i <= 0) return {};
  const Place x = place(f, e.args[0], guard);
  std::int64_t low = 0, high = 0;
  if (!x.ok || !code_.bounds(x.base, low, high)) return {};
  const std::int64_t reach = x.lane * (f.p.active - 1);
  (reach < 0 ? low : high) += reach;
  const auto floor = [&](std::int64_t n) { return n / d.i - (n % d.i < 0); };
  if (floor(low) != floor(high)) return {};
  if (division) return {true, Lin{floor(low), {}}, 0};
  return {true, x.base + -floor(low) * d.i, x.lane};
}

Eval::Place Eval::place(Frame& f, te::ExprId id, ExprId guard) {
  if (const te::Affine& a = affine(f.s, id); a.ok) {
    Place r{true, Lin{a.constant, {}}, 0};
    for (std::size_t k = 0; k < a.coeff.size(); ++k) {
      if (a.coeff[k] == 0) continue;
      r.base = add_scaled(r.base, f.p.axis[k], a.coeff[k]);
      if (f.p.vec == static_cast<int>(k)) r.lane = a.coeff[k];
    }
    return r;
  }
  const te::Expr& e = c_.exprs[id];
  if (const Place r = quotient(f, e, guard); r.ok) return r;
  if (e.kind == te::Kind::scalar && e.args.size() == 2) {
    const Place a = place(f, e.args[0], guard), b = place(f, e.args[1], guard);
    if (a.ok && b.ok)
      if (Place r = combine(e.op, a, b); r.ok) return r;
  }
  const ExprId v = eval(f, id, guard);
  if (code_.type(v).lanes > 1) return {};
  return {true, code_.lin_of(v), 0};
}

ExprId Eval::group(const te::Stage& s, te::ExprId load, const Point& p) {
  Frame f{s, p, {}};
  const te::Expr& e = c_.exprs[load];
  const Memory& m = memory_[e.n];
  Place at{true, {}, 0};
  for (std::size_t d = 0; d < e.args.size(); ++d) {
    const Place x = place(f, e.args[d], tir::none);
    TENON_CHECK(x.ok);
    at.base = add_scaled(at.base, add_scaled(x.base, m.base[d], -1), m.stride[d]);
    at.lane += m.stride[d] * x.lane;
  }
  constexpr unsigned width = tensor_steps;
  if (at.lane == 0) return code_.load(m.buffer, code_.linear(at.base), width, 1, tir::none);
  TENON_CHECK(at.lane == width);  // check_schedule
  ExprId mask = tir::none;
  if (p.partial() && !m.slack)
    mask =
        code_.scalar(ScalarOp::lt, DType::boolean,
                     {code_.ramp(code_.i64(0), 1, width * p.lanes), code_.i64(width * p.active)});
  return code_.load(m.buffer, code_.linear(at.base), width * p.lanes, 1, mask);
}

ExprId Eval::load(Frame& f, const te::Expr& e, ExprId guard) {
  const Memory& m = memory_[e.n];
  Place at{true, {}, 0};
  std::vector<Place> dims;
  for (std::size_t d = 0; d < e.args.size(); ++d) {
    dims.push_back(place(f, e.args[d], guard));
    at.ok = at.ok && dims[d].ok;
    if (!at.ok) continue;
    dims[d].base = add_scaled(dims[d].base, m.base[d], -1);
    at.base = add_scaled(at.base, dims[d].base, m.stride[d]);
    at.lane += m.stride[d] * dims[d].lane;
  }
  const bool wide_guard = guard != tir::none && code_.type(guard).lanes > 1;
  if (at.ok && at.lane == 0 && !wide_guard)
    return code_.load(m.buffer, code_.linear(at.base), 1, 1, guard);
  ExprId mask = guard;
  if (f.p.partial() && !(m.slack && at.ok && at.lane <= 4)) mask = both(guard, active_lanes(f.p));
  if (mask != tir::none) mask = code_.broadcast(mask, f.p.lanes);
  if (at.ok && at.lane >= 1)
    return code_.load(m.buffer, code_.linear(at.base), f.p.lanes, at.lane, mask);
  ExprId index = tir::none;
  if (at.ok) {
    index = at.lane == 0 ? code_.broadcast(code_.linear(at.base), f.p.lanes)
                         : code_.ramp(code_.linear(at.base), at.lane, f.p.lanes);
  } else {
    const auto add = [&](ExprId x) {
      index = index == tir::none ? x : code_.scalar(ScalarOp::add, DType::i64, {index, x});
    };
    Lin linear;
    std::int64_t lane = 0;
    for (std::size_t d = 0; d < e.args.size(); ++d) {
      Place p = place(f, e.args[d], guard);
      linear = add_scaled(linear, m.base[d], -m.stride[d]);
      if (p.ok) {
        linear = add_scaled(linear, p.base, m.stride[d]);
        lane += m.stride[d] * p.lane;
      } else {
        add(code_.scalar(ScalarOp::mul, DType::i64,
                         {eval(f, e.args[d], guard), code_.i64(m.stride[d])}));
      }
    }
    const ExprId base = code_.linear(linear);
    if (lane != 0)
      add(code_.ramp(base, lane, f.p.lanes));
    else
      add(base);
  }
  return code_.load(m.buffer, code_.broadcast(index, f.p.lanes), f.p.lanes, 1, mask);
}

}  // namespace tenon::te_lowering
