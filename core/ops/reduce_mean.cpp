#include "core/ops/support/common.h"

namespace tenon::ops {

namespace {
Status reduce_mean_compute(const OpContext& c, te::Builder& b) {
  return reduce_compute(c, b, te::Fold::sum, [](E sum, std::int64_t count) {
    return sum / sum.b->imm(sum.dtype(), static_cast<double>(count));
  });
}
}  // namespace

OpDef reduce_mean() {
  return reduce_op(
      "reduce_mean",
      "Mean over axes: out[i] = (sum over r of x[i, r]) / (number of r); of nothing it is NaN.",
      reduce_type<float_type>, reduce_mean_compute);
}

}  // namespace tenon::ops
