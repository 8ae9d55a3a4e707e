#include "core/ops/support/common.h"

namespace tenon::ops {

namespace {

Result<Types> cast_type(const OpContext& c) {
  return Types{TensorType(*c.attrs->get<DType>("to"), c.operands[0].dims)};
}

E converted(const OpContext& c, E x) { return x.b->cast(x, *c.attrs->get<DType>("to")); }

}  // namespace

OpDef cast() {
  OpDef d = unary_op("cast",
                     "Conversion: out[i] = x[i] as `to`; float to integer truncates and saturates, "
                     "NaN gives 0; to bool is x[i] != 0.",
                     cast_type, elementwise<converted>);
  d.attrs = {{"to", AttrKind::dtype, "element type of the result", {}}};
  return d;
}

}  // namespace tenon::ops
