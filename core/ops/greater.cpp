#include "core/ops/support/common.h"

namespace tenon::ops {

OpDef greater() {
  return binary_op("greater", "Comparison: out[i] = a[i] > b[i], with broadcasting.",
                   comparison_type<any_type>, broadcast_binary<ScalarOp::gt>);
}

}  // namespace tenon::ops
