#include "core/ops/support/common.h"

namespace tenon::ops {

OpDef reduce_sum() {
  return reduce_op("reduce_sum",
                   "Sum over axes: out[i] = sum over r of x[i, r]; nothing folded gives 0.",
                   reduce_type<number>, folded<te::Fold::sum>);
}

}  // namespace tenon::ops
