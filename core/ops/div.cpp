#include "core/ops/support/common.h"

namespace tenon::ops {

OpDef div() {
  return binary_op("div",
                   "Quotient: out[i] = a[i] / b[i], with broadcasting; integers round down, "
                   "division by zero gives 0.",
                   broadcast_type<number>, broadcast_binary<ScalarOp::div>);
}

}  // namespace tenon::ops
