#include "core/ops/support/common.h"

namespace tenon::ops {

OpDef mul() {
  return binary_op("mul", "Product: out[i] = a[i] * b[i], with broadcasting.",
                   broadcast_type<number>, broadcast_binary<ScalarOp::mul>, true);
}

}  // namespace tenon::ops
