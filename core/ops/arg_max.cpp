#include "core/ops/support/arg.h"
#include "core/ops/support/common.h"

namespace tenon::ops {

OpDef arg_max() {
  return arg_op(
      "arg_max",
      "Place of the first largest element of an axis, i64: out[i] = least k with x[i, k] = max "
      "over r of x[i, r].",
      [](const OpContext& c, te::Builder& b) { return arg_compute(c, b, te::Fold::max); });
}

}  // namespace tenon::ops
