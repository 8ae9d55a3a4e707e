#include "core/ops/support/common.h"

namespace tenon::ops {

OpDef logical_and() {
  return binary_op("logical_and", "Conjunction: out[i] = a[i] and b[i], with broadcasting.",
                   broadcast_type<boolean_type>, broadcast_binary<ScalarOp::logical_and>, true);
}

}  // namespace tenon::ops
