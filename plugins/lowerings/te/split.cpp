// An output axis of which loads want the quotient by a constant becomes two: the groups of a
// convolution are an axis of their own, and all indices are affine again.
#include <algorithm>

#include "lowering.h"

namespace tenon::te_lowering {

namespace {

/// The one constant by which `axis` is divided; 0 when there is none, or another too. It divides
/// the extent.
std::int64_t divisor_of(const te::Compute& c, const te::Stage& s, std::uint32_t axis) {
  std::int64_t found = 0;
  for (te::ExprId id : te::reachable(c, s.value)) {
    const te::Expr& e = c.exprs[id];
    if (e.kind != te::Kind::scalar || (e.op != ScalarOp::div && e.op != ScalarOp::mod)) continue;
    const te::Expr &x = c.exprs[e.args[0]], &d = c.exprs[e.args[1]];
    if (x.kind != te::Kind::axis || x.n != axis || d.kind != te::Kind::imm) continue;
    if (found != 0 && d.i != found) return 0;
    found = d.i;
  }
  const std::int64_t extent = s.axes[axis].extent;
  return found > 1 && found < extent && extent % found == 0 ? found : 0;
}

/// Neighbours in memory stay one axis unless whole vectors of them remain: one for the tile of a
/// reduction, several where each is only moved.
std::int64_t least_of_last(const te::Stage& s) { return s.reduce.empty() ? 64 : 16; }

te::Stage split_axis(te::Builder& b, const te::Compute& c, const te::Stage& s, std::uint32_t axis,
                     std::int64_t k) {
  te::Stage r = s;
  te::Axis inner{s.axes[axis].name + "b", k};
  r.axes[axis] = {s.axes[axis].name + "a", s.axes[axis].extent / k};
  r.axes.insert(r.axes.begin() + axis + 1, std::move(inner));
  const auto axis_of = [&](std::uint32_t n) {
    return te::E{&b, b.add({.kind = te::Kind::axis, .dtype = DType::i64, .n = n})};
  };
  std::vector<te::ExprId> map(s.value + 1, te::none);
  for (te::ExprId id : te::reachable(c, s.value)) {
    te::Expr e = c.exprs[id];
    for (te::ExprId& a : e.args) a = map[a];
    const te::Expr& old = c.exprs[id];
    const auto bound = [&] { return c.exprs[old.args[1]].i; };
    const bool at_groups =
        (old.op == ScalarOp::lt || old.op == ScalarOp::ge) && old.kind == te::Kind::scalar &&
        c.exprs[old.args[0]].kind == te::Kind::axis && c.exprs[old.args[0]].n == axis &&
        c.exprs[old.args[1]].kind == te::Kind::imm && bound() % k == 0;
    if (at_groups)  // a condition on the whole axis that is one on the groups
      map[id] = te::binary(old.op, axis_of(axis), b.i64(bound() / k)).id;
    else if (e.kind == te::Kind::axis)
      map[id] = e.n == axis ? (axis_of(axis) * k + axis_of(axis + 1)).id
                            : axis_of(e.n > axis ? e.n + 1 : e.n).id;
    else
      map[id] = b.add(std::move(e));
  }
  r.value = map[s.value];
  return r;
}

bool is_loaded(const te::Compute& c, std::uint32_t stage) {
  for (const te::Stage& s : c.stages)
    for (te::ExprId id : te::reachable(c, s.value))
      if (c.exprs[id].kind == te::Kind::load && c.exprs[id].n == c.tensor_of_stage(stage))
        return true;
  return false;
}

/// With the first axis split that is worth it; false when there is none.
bool split_one(te::Compute& c) {
  for (std::uint32_t n = 0; n < c.stages.size(); ++n) {
    const te::Stage& s = c.stages[n];
    for (std::uint32_t a = 0; a < s.axes.size(); ++a) {
      const std::int64_t k = divisor_of(c, s, a);
      const bool last = a + 1 == s.axes.size();
      if (k == 0 || (last && k < least_of_last(s)) || is_loaded(c, n)) continue;
      te::Builder b(c.inputs);
      te::Compute r = c;
      std::vector<te::ExprId> map(c.exprs.size(), te::none);
      for (te::Stage& other : r.stages) {
        for (te::ExprId id : te::reachable(c, other.value)) {
          te::Expr e = c.exprs[id];
          for (te::ExprId& x : e.args) x = map[x];
          map[id] = b.add(std::move(e));
        }
        other.value = map[other.value];
      }
      r.stages[n] = split_axis(b, c, s, a, k);
      r.exprs = b.take().exprs;
      c = std::move(r);
      return true;
    }
  }
  return false;
}

}  // namespace

te::Compute split_axes(te::Compute c) {
  while (split_one(c)) {
  }
  return c;
}

}  // namespace tenon::te_lowering
