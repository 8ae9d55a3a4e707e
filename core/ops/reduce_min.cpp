#include "core/ops/support/common.h"

namespace tenon::ops {

OpDef reduce_min() {
  return reduce_op("reduce_min",
                   "Smallest element over axes: out[i] = min over r of x[i, r]; nothing folded "
                   "gives the highest value.",
                   reduce_type<number>, folded<te::Fold::min>);
}

}  // namespace tenon::ops
