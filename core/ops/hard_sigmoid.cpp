#include "core/ops/support/common.h"

namespace tenon::ops {

namespace {
E hard(const OpContext& c, E x) {
  const DType t = x.dtype();
  E line = x * x.b->imm(t, c.real("alpha")) + x.b->imm(t, c.real("beta"));
  return te::min(x.b->imm(t, 1), te::max(x.b->imm(t, 0), line));
}
}  // namespace

OpDef hard_sigmoid() {
  OpDef d = unary_op(
      "hard_sigmoid",
      "Piecewise linear sigmoid: out[i] = min(1, max(0, alpha * x[i] + beta)); NaN stays NaN.",
      same_type<float_type>, elementwise<hard>);
  d.attrs = {{"alpha", AttrKind::real, "slope", 0.2}, {"beta", AttrKind::real, "value at 0", 0.5}};
  return d;
}

}  // namespace tenon::ops
