#include "core/ops/support/common.h"

namespace tenon::ops {

OpDef tanh() {
  return unary_op("tanh", "Hyperbolic tangent: out[i] = tanh(x[i]).", same_type<float_type>,
                  elementwise<apply<ScalarOp::tanh>>);
}

}  // namespace tenon::ops
