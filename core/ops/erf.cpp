#include "core/ops/support/common.h"

namespace tenon::ops {

OpDef erf() {
  return unary_op("erf",
                  "Error function: out[i] = 2/sqrt(pi) * integral from 0 to x[i] of e^(-t^2) dt.",
                  same_type<float_type>, elementwise<apply<ScalarOp::erf>>);
}

}  // namespace tenon::ops
