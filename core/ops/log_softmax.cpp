#include "core/ops/support/common.h"
#include "core/ops/support/softmax.h"

namespace tenon::ops {

namespace {

Status log_softmax_compute(const OpContext& c, te::Builder& b) { return normalise(c, b, true); }

}  // namespace

OpDef log_softmax() {
  OpDef d = unary_op("log_softmax",
                     "Logarithm of softmax along an axis: out[i, k] = x[i, k] - m[i] - ln(sum over "
                     "r of e^(x[i, r] - m[i])), m[i] = max over r of x[i, r].",
                     infer_axis, log_softmax_compute);
  d.fusion = FusionKind::reduction;
  d.attrs = {{"axis", AttrKind::integer, "axis that is normalised", std::int64_t{-1}}};
  return d;
}

}  // namespace tenon::ops
