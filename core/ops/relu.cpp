#include "core/ops/support/common.h"

namespace tenon::ops {

namespace {
/// The operand comes second, so that a NaN stays a NaN.
E positive(const OpContext&, E x) { return te::max(x.b->imm(x.dtype(), 0), x); }
}  // namespace

OpDef relu() {
  return unary_op("relu", "Rectified linear unit: out[i] = max(0, x[i]); NaN stays NaN.",
                  same_type<number>, elementwise<positive>);
}

}  // namespace tenon::ops
