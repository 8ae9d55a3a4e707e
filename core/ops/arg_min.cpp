#include "core/ops/support/arg.h"
#include "core/ops/support/common.h"

namespace tenon::ops {

OpDef arg_min() {
  return arg_op(
      "arg_min",
      "Place of the first smallest element of an axis, i64: out[i] = least k with x[i, k] = min "
      "over r of x[i, r].",
      [](const OpContext& c, te::Builder& b) { return arg_compute(c, b, te::Fold::min); });
}

}  // namespace tenon::ops
