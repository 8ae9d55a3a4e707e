#include "core/ops/support/common.h"

namespace tenon::ops {

OpDef min() {
  return binary_op("min", "Smaller one: out[i] = a[i] < b[i] ? a[i] : b[i], with broadcasting.",
                   broadcast_type<number>, broadcast_binary<ScalarOp::min>);
}

}  // namespace tenon::ops
