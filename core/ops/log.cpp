#include "core/ops/support/common.h"

namespace tenon::ops {

OpDef log() {
  return unary_op("log", "Natural logarithm: out[i] = ln(x[i]).", same_type<float_type>,
                  elementwise<apply<ScalarOp::log>>);
}

}  // namespace tenon::ops
