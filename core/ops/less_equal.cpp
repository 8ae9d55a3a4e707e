#include "core/ops/support/common.h"

namespace tenon::ops {

OpDef less_equal() {
  return binary_op("less_equal", "Comparison: out[i] = a[i] <= b[i], with broadcasting.",
                   comparison_type<any_type>, broadcast_binary<ScalarOp::le>);
}

}  // namespace tenon::ops
