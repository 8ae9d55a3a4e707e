#include "core/ops/support/softmax.h"

#include "core/ops/support/common.h"

namespace tenon::ops {

namespace {

Status softmax_compute(const OpContext& c, te::Builder& b) { return normalise(c, b, false); }

}  // namespace

OpDef softmax() {
  OpDef d = unary_op("softmax",
                     "Softmax along an axis: out[i, k] = e^(x[i, k] - m[i]) * (1 / sum over r of "
                     "e^(x[i, r] - m[i])), m[i] = max over r of x[i, r].",
                     infer_axis, softmax_compute);
  d.fusion = FusionKind::reduction;
  d.attrs = {{"axis", AttrKind::integer, "axis that is normalised", std::int64_t{-1}}};
  return d;
}

}  // namespace tenon::ops
