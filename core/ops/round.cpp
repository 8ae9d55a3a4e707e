#include "core/ops/support/common.h"

namespace tenon::ops {

OpDef round() {
  return unary_op("round", "Nearest integer, ties to even: out[i] = round(x[i]).",
                  same_type<float_type>, elementwise<apply<ScalarOp::round_even>>);
}

}  // namespace tenon::ops
