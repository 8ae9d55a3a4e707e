#include "core/ops/support/common.h"

namespace tenon::ops {

namespace {

Result<Types> range_type(const OpContext& c) {
  const DType t = *c.attrs->get<DType>("dtype");
  if (!number(t)) return c.error(fmt::format("element type {}", name(t)), "use a number type");
  if (c.integer("count") < 0) return c.error(fmt::format("count is {}", c.integer("count")));
  return Types{TensorType(t, Shape{c.integer("count")})};
}

Status range_compute(const OpContext& c, te::Builder& b) {
  const DType t = *c.attrs->get<DType>("dtype");
  b.output(b.stage("out", {c.integer("count")}, [&](auto i) {
    return b.imm(t, c.real("start")) + b.cast(i[0], t) * b.imm(t, c.real("step"));
  }));
  return {};
}

}  // namespace

OpDef range() {
  OpDef d;
  d.name = "range";
  d.doc =
      "An arithmetic progression: out[i] = start + i * step, in the element type of the result.";
  d.min_operands = 0;
  d.max_operands = 0;
  d.attrs = {{"start", AttrKind::real, "first value", 0.0},
             {"count", AttrKind::integer, "number of values", {}},
             {"step", AttrKind::real, "difference of neighbours", 1.0},
             {"dtype", AttrKind::dtype, "element type of the result", DType::i64}};
  d.fusion = FusionKind::injective;
  d.infer = range_type;
  d.compute = range_compute;
  return d;
}

}  // namespace tenon::ops
