#include "core/ops/support/common.h"

namespace tenon::ops {

namespace {

Result<Types> where_type(const OpContext& c) {
  if (Status s = accept(c, boolean_type, 0); !s) return s.errors();
  const TensorType &x = c.operands[1], &y = c.operands[2];
  if (x.dtype != y.dtype)
    return c.error(
        fmt::format("operands of different element types: {} and {}", to_string(x), to_string(y)),
        "insert a `cast`");
  auto values = broadcast(c, x.dims, y.dims);
  if (!values) return values.errors();
  auto dims = broadcast(c, c.operands[0].dims, *values);
  if (!dims) return dims.errors();
  return Types{TensorType(x.dtype, *dims)};
}

Status where_compute(const OpContext& c, te::Builder& b) {
  auto type = where_type(c);
  if (!type) return type.errors();
  b.output(b.stage("out", (*type)[0].shape(), [&](auto i) {
    // Both sides are in bounds whatever the condition.
    return te::select(load_broadcast(b.input(0), i), load_broadcast(b.input(1), i),
                      load_broadcast(b.input(2), i));
  }));
  return {};
}

}  // namespace

OpDef where() {
  OpDef d;
  d.name = "where";
  d.doc = "Choice: out[i] = cond[i] ? a[i] : b[i], with broadcasting of all three.";
  d.min_operands = d.max_operands = 3;
  d.fusion = FusionKind::broadcast;
  d.infer = where_type;
  d.compute = where_compute;
  return d;
}

}  // namespace tenon::ops
