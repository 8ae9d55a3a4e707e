#include "core/ops/support/common.h"

namespace tenon::ops {

OpDef pow() {
  return binary_op("pow", "Power: out[i] = a[i] ^ b[i], with broadcasting.", broadcast_type<number>,
                   broadcast_binary<ScalarOp::pow>);
}

}  // namespace tenon::ops
