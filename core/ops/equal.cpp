#include "core/ops/support/common.h"

namespace tenon::ops {

OpDef equal() {
  return binary_op("equal", "Comparison: out[i] = a[i] == b[i], with broadcasting.",
                   comparison_type<any_type>, broadcast_binary<ScalarOp::eq>, true);
}

}  // namespace tenon::ops
