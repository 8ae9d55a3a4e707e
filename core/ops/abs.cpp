#include "core/ops/support/common.h"

namespace tenon::ops {

OpDef abs() {
  return unary_op("abs", "Absolute value: out[i] = |x[i]|.", same_type<number>,
                  elementwise<apply<ScalarOp::abs>>);
}

}  // namespace tenon::ops
