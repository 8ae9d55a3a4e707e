#include "core/ops/support/common.h"

namespace tenon::ops {

OpDef less() {
  return binary_op("less", "Comparison: out[i] = a[i] < b[i], with broadcasting.",
                   comparison_type<any_type>, broadcast_binary<ScalarOp::lt>);
}

}  // namespace tenon::ops
