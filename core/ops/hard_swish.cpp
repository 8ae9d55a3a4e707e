#include "core/ops/support/common.h"

namespace tenon::ops {

namespace {
E gated(const OpContext&, E x) {
  const DType t = x.dtype();
  E line = x * x.b->imm(t, 1.0 / 6.0) + x.b->imm(t, 0.5);
  return x * te::min(x.b->imm(t, 1), te::max(x.b->imm(t, 0), line));
}
}  // namespace

OpDef hard_swish() {
  return unary_op("hard_swish",
                  "Piecewise quadratic swish: out[i] = x[i] * min(1, max(0, x[i] / 6 + 1/2)).",
                  same_type<float_type>, elementwise<gated>);
}

}  // namespace tenon::ops
