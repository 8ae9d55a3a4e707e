#include "core/ops/support/common.h"

namespace tenon::ops {

namespace {
E same(const OpContext&, E x) { return x; }
}  // namespace

OpDef identity() {
  OpDef d =
      unary_op("identity", "The operand: out[i] = x[i].", same_type<any_type>, elementwise<same>);
  d.view = same_bytes;
  return d;
}

}  // namespace tenon::ops
