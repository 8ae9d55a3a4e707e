// arg_max and arg_min: the extreme value first, then the least place that holds it.
#ifndef TENON_CORE_OPS_SUPPORT_ARG_H
#define TENON_CORE_OPS_SUPPORT_ARG_H

#include "core/ops/support/common.h"

namespace tenon::ops {

OpDef arg_op(std::string name, std::string doc, Compute compute);
Status arg_compute(const OpContext& c, te::Builder& b, te::Fold fold);

}  // namespace tenon::ops

#endif
