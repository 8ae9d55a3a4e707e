#include "core/ops/support/common.h"

namespace tenon::ops {

OpDef reduce_max() {
  return reduce_op("reduce_max",
                   "Largest element over axes: out[i] = max over r of x[i, r]; nothing folded "
                   "gives the lowest value.",
                   reduce_type<number>, folded<te::Fold::max>);
}

}  // namespace tenon::ops
