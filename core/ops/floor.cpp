#include "core/ops/support/common.h"

namespace tenon::ops {

OpDef floor() {
  return unary_op("floor", "Largest integer not above: out[i] = floor(x[i]).",
                  same_type<float_type>, elementwise<apply<ScalarOp::floor>>);
}

}  // namespace tenon::ops
