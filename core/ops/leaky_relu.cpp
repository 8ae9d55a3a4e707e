#include "core/ops/support/common.h"

namespace tenon::ops {

namespace {
/// select(x < 0, ...) keeps NaN: the comparison is false and x itself is taken.
E leaky(const OpContext& c, E x) {
  return te::select(x < x.b->imm(x.dtype(), 0), x * x.b->imm(x.dtype(), c.real("alpha")), x);
}
}  // namespace

OpDef leaky_relu() {
  OpDef d = unary_op("leaky_relu",
                     "Leaky rectified linear unit: out[i] = x[i] < 0 ? alpha * x[i] : x[i].",
                     same_type<float_type>, elementwise<leaky>);
  d.attrs = {{"alpha", AttrKind::real, "slope below zero", 0.01}};
  return d;
}

}  // namespace tenon::ops
