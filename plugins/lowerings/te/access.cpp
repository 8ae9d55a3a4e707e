#include "access.h"

#include <algorithm>

namespace tenon::te_lowering {

namespace {

std::vector<std::int64_t> steps(const te::Compute& c, const te::Stage& s, const te::Expr& load) {
  std::vector<std::int64_t> r(s.axes.size() + s.reduce.size(), 0);
  const Shape shape = c.shape_of(load.n);
  std::int64_t stride = 1;
  for (std::size_t d = shape.size(); d-- > 0; stride *= std::max<std::int64_t>(shape[d], 1)) {
    const te::Affine a = te::affine_of(c, s, load.args[d]);
    for (std::size_t k = 0; a.ok && k < r.size(); ++k)
      if (r[k] != irregular) r[k] += stride * a.coeff[k];
    if (a.ok) continue;
    for (te::ExprId id : te::reachable(c, load.args[d]))
      if (c.exprs[id].kind == te::Kind::axis) r[c.exprs[id].n] = irregular;
  }
  return r;
}

}  // namespace

StageFacts facts_of(const te::Compute& c, const te::Stage& s) {
  StageFacts f;
  f.n_out = s.axes.size();
  for (const te::Axis& a : s.axes) f.extent.push_back(a.extent);
  for (const te::Axis& a : s.reduce) f.extent.push_back(a.extent);
  f.store.assign(f.n_out, 1);
  for (std::size_t d = f.n_out; d-- > 1;)
    f.store[d - 1] = f.store[d] * std::max<std::int64_t>(s.axes[d].extent, 1);
  std::vector<bool> folded(c.exprs.size(), false);
  const std::vector<te::ExprId> all = te::reachable(c, s.value);
  for (te::ExprId id : all)
    if (c.exprs[id].kind == te::Kind::reduce) {
      f.reduction = &c.exprs[id];
      for (te::ExprId in : te::reachable(c, c.exprs[id].args[0])) folded[in] = true;
    }
  f.element_bytes = bits(s.dtype) / 8;
  unsigned operations = 0;
  for (te::ExprId id : all) {
    const te::Expr& e = c.exprs[id];
    if (e.kind == te::Kind::load) f.loads.push_back({id, e.n, folded[id], steps(c, s, e)});
    const bool computes = e.kind == te::Kind::scalar || e.kind == te::Kind::reduce;
    const bool index = computes && e.kind == te::Kind::scalar && e.dtype == DType::i64;
    if (e.kind == te::Kind::load || (computes && !index))
      f.element_bytes = std::max(f.element_bytes, bits(e.dtype) / 8);
    if (e.kind != te::Kind::scalar || index || (f.reduction && !folded[id])) continue;
    // Guards of padding: known in most of the loops.
    if (f.reduction && (e.dtype == DType::boolean || te::is_guarded_load(c, e))) continue;
    operations += is_transcendental(e.op) ? 20 : 1;
    f.transcendental |= is_transcendental(e.op);
  }
  f.operations = std::max(operations, 1u);
  return f;
}

}  // namespace tenon::te_lowering
