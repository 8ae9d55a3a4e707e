// Index expressions as affine functions of the axes.
#include <algorithm>

#include "tenon/te.h"

namespace tenon::te {

std::vector<ExprId> reachable(const Compute& c, ExprId root) {
  std::vector<ExprId> out, stack{root};
  std::vector<bool> seen(root + 1, false);
  seen[root] = true;
  while (!stack.empty()) {
    ExprId id = stack.back();
    stack.pop_back();
    out.push_back(id);
    for (ExprId a : c.exprs[id].args)
      if (!seen[a]) {
        seen[a] = true;
        stack.push_back(a);
      }
  }
  std::sort(out.begin(), out.end());
  return out;
}

namespace {

std::int64_t extent(const Stage& s, std::size_t axis) {
  return axis < s.axes.size() ? s.axes[axis].extent : s.reduce[axis - s.axes.size()].extent;
}

bool is_constant(const Affine& a) {
  return std::all_of(a.coeff.begin(), a.coeff.end(), [](std::int64_t k) { return k == 0; });
}

Affine combine(const Affine& a, const Affine& b, std::int64_t sign) {
  Affine r = a;
  std::int64_t t = 0;
  r.ok = a.ok && b.ok && !__builtin_mul_overflow(sign, b.constant, &t) &&
         !__builtin_add_overflow(a.constant, t, &r.constant);
  for (std::size_t k = 0; r.ok && k < r.coeff.size(); ++k)
    r.ok = !__builtin_mul_overflow(sign, b.coeff[k], &t) &&
           !__builtin_add_overflow(a.coeff[k], t, &r.coeff[k]);
  return r;
}

/// a = d * multiple + rest with 0 <= rest < d everywhere on the stage: then a / d = multiple and a
/// % d = rest.
bool split(const Stage& s, const Affine& a, std::int64_t d, Affine& multiple, Affine& rest) {
  multiple = rest = a;
  auto divide = [&](std::int64_t v, std::int64_t& q, std::int64_t& r) {
    r = ((v % d) + d) % d;
    q = (v - r) / d;
  };
  divide(a.constant, multiple.constant, rest.constant);
  std::int64_t top = rest.constant;
  for (std::size_t k = 0; k < a.coeff.size(); ++k) {
    divide(a.coeff[k], multiple.coeff[k], rest.coeff[k]);
    std::int64_t reach = 0;
    if (__builtin_mul_overflow(rest.coeff[k], std::max<std::int64_t>(extent(s, k) - 1, 0),
                               &reach) ||
        __builtin_add_overflow(top, reach, &top))
      return false;
  }
  return top < d;
}

}  // namespace

Affine affine_of(const Compute& c, const Stage& s, ExprId index) {
  const std::size_t n_axes = s.axes.size() + s.reduce.size();
  const std::vector<ExprId> order = reachable(c, index);
  std::vector<Affine> done(order.size());
  auto of = [&](ExprId id) -> const Affine& {
    return done[static_cast<std::size_t>(std::lower_bound(order.begin(), order.end(), id) -
                                         order.begin())];
  };
  for (std::size_t k = 0; k < order.size(); ++k) {
    const Expr& e = c.exprs[order[k]];
    Affine& a = done[k];
    a.coeff.assign(n_axes, 0);
    if (e.dtype != DType::i64) continue;
    if (e.kind == Kind::imm) {
      a.ok = true;
      a.constant = e.i;
    } else if (e.kind == Kind::axis && e.n < n_axes) {
      a.ok = true;
      a.coeff[e.n] = 1;
    } else if (e.kind == Kind::scalar && e.args.size() == 2) {
      const Affine &x = of(e.args[0]), &y = of(e.args[1]);
      if (!x.ok || !y.ok) continue;
      const Affine zero{true, 0, std::vector<std::int64_t>(n_axes, 0)};
      Affine q, r;
      if (e.op == ScalarOp::add) a = combine(x, y, 1);
      if (e.op == ScalarOp::sub) a = combine(x, y, -1);
      if (e.op == ScalarOp::mul && is_constant(y))
        a = combine(zero, x, y.constant);
      else if (e.op == ScalarOp::mul && is_constant(x))
        a = combine(zero, y, x.constant);
      bool quotient = e.op == ScalarOp::div, remainder = e.op == ScalarOp::mod;
      if ((quotient || remainder) && is_constant(y) && y.constant > 0 &&
          split(s, x, y.constant, q, r))
        a = quotient ? q : r;
    }
  }
  return done.back();
}

}  // namespace tenon::te
