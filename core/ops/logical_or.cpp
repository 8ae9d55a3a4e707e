#include "core/ops/support/common.h"

namespace tenon::ops {

OpDef logical_or() {
  return binary_op("logical_or", "Disjunction: out[i] = a[i] or b[i], with broadcasting.",
                   broadcast_type<boolean_type>, broadcast_binary<ScalarOp::logical_or>, true);
}

}  // namespace tenon::ops
