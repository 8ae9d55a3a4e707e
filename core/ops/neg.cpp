#include "core/ops/support/common.h"

namespace tenon::ops {

OpDef neg() {
  return unary_op("neg", "Negation: out[i] = -x[i].", same_type<signed_number>,
                  elementwise<apply<ScalarOp::neg>>);
}

}  // namespace tenon::ops
