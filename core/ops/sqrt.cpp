#include "core/ops/support/common.h"

namespace tenon::ops {

OpDef sqrt() {
  return unary_op("sqrt", "Square root, correctly rounded: out[i] = x[i]^(1/2).",
                  same_type<float_type>, elementwise<apply<ScalarOp::sqrt>>);
}

}  // namespace tenon::ops
