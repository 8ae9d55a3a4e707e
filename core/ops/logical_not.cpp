#include "core/ops/support/common.h"

namespace tenon::ops {

OpDef logical_not() {
  return unary_op("logical_not", "Negation of a boolean: out[i] = not x[i].",
                  same_type<boolean_type>, elementwise<apply<ScalarOp::logical_not>>);
}

}  // namespace tenon::ops
