#include "core/ops/support/common.h"

namespace tenon::ops {

OpDef reduce_prod() {
  return reduce_op("reduce_prod",
                   "Product over axes: out[i] = prod over r of x[i, r]; nothing folded gives 1.",
                   reduce_type<number>, folded<te::Fold::prod>);
}

}  // namespace tenon::ops
