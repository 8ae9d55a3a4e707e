#include "core/ops/support/common.h"

namespace tenon::ops {

OpDef greater_equal() {
  return binary_op("greater_equal", "Comparison: out[i] = a[i] >= b[i], with broadcasting.",
                   comparison_type<any_type>, broadcast_binary<ScalarOp::ge>);
}

}  // namespace tenon::ops
