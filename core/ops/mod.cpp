#include "core/ops/support/common.h"

namespace tenon::ops {

OpDef mod() {
  return binary_op("mod",
                   "Remainder with the sign of the divisor: out[i] = a[i] - b[i] * floor(a[i] / "
                   "b[i]), with broadcasting.",
                   broadcast_type<number>, broadcast_binary<ScalarOp::mod>);
}

}  // namespace tenon::ops
