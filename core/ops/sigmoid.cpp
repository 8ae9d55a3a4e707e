#include "core/ops/support/common.h"

namespace tenon::ops {

OpDef sigmoid() {
  return unary_op("sigmoid", "Logistic function: out[i] = 1 / (1 + e^(-x[i])).",
                  same_type<float_type>, elementwise<apply<ScalarOp::sigmoid>>);
}

}  // namespace tenon::ops
