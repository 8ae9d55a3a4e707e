#include "core/ops/support/common.h"

namespace tenon::ops {

OpDef sin() {
  return unary_op("sin", "Sine: out[i] = sin(x[i]).", same_type<float_type>,
                  elementwise<apply<ScalarOp::sin>>);
}

}  // namespace tenon::ops
