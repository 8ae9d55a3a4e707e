#include "core/ops/support/common.h"

namespace tenon::ops {

namespace {
E gaussian(const OpContext&, E x) {
  const DType t = x.dtype();
  E e = te::unary(ScalarOp::erf, x * x.b->imm(t, 0.70710678118654752440));
  return x * (e + x.b->imm(t, 1)) * x.b->imm(t, 0.5);
}
}  // namespace

OpDef gelu() {
  return unary_op("gelu",
                  "Gaussian error linear unit: out[i] = x[i] * (1 + erf(x[i] * sqrt(1/2))) / 2.",
                  same_type<float_type>, elementwise<gaussian>);
}

}  // namespace tenon::ops
