#include "core/ops/support/common.h"

namespace tenon::ops {

OpDef ceil() {
  return unary_op("ceil", "Smallest integer not below: out[i] = ceil(x[i]).", same_type<float_type>,
                  elementwise<apply<ScalarOp::ceil>>);
}

}  // namespace tenon::ops
