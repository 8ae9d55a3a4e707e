#include "core/ops/support/common.h"

namespace tenon::ops {

OpDef max() {
  return binary_op("max", "Larger one: out[i] = a[i] > b[i] ? a[i] : b[i], with broadcasting.",
                   broadcast_type<number>, broadcast_binary<ScalarOp::max>);
}

}  // namespace tenon::ops
