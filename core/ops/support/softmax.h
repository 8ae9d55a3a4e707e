// Softmax and its logarithm: three stages, the maximum, the sum of exponentials, the quotient.
#ifndef TENON_CORE_OPS_SUPPORT_SOFTMAX_H
#define TENON_CORE_OPS_SUPPORT_SOFTMAX_H

#include "core/ops/support/common.h"

namespace tenon::ops {

/// A float tensor and an `axis` of it.
Result<Types> infer_axis(const OpContext& c);
Status normalise(const OpContext& c, te::Builder& b, bool logarithm);

}  // namespace tenon::ops

#endif
