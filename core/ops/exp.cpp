#include "core/ops/support/common.h"

namespace tenon::ops {

OpDef exp() {
  return unary_op("exp", "Exponential: out[i] = e^x[i].", same_type<float_type>,
                  elementwise<apply<ScalarOp::exp>>);
}

}  // namespace tenon::ops
