#include "core/ops/support/common.h"

namespace tenon::ops {

OpDef cos() {
  return unary_op("cos", "Cosine: out[i] = cos(x[i]).", same_type<float_type>,
                  elementwise<apply<ScalarOp::cos>>);
}

}  // namespace tenon::ops
