#include "core/ops/support/common.h"

namespace tenon::ops {

OpDef sub() {
  return binary_op("sub", "Difference: out[i] = a[i] - b[i], with broadcasting.",
                   broadcast_type<number>, broadcast_binary<ScalarOp::sub>);
}

}  // namespace tenon::ops
