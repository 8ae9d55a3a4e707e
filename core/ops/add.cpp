#include "core/ops/support/common.h"

namespace tenon::ops {

OpDef add() {
  return binary_op("add", "Sum: out[i] = a[i] + b[i], with broadcasting.", broadcast_type<number>,
                   broadcast_binary<ScalarOp::add>, true);
}

}  // namespace tenon::ops
