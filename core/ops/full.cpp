#include "core/ops/support/common.h"

namespace tenon::ops {

namespace {

Result<Types> full_type(const OpContext& c) {
  std::vector<Dim> dims;
  for (std::int64_t d : c.ints("shape")) {
    if (d < 0) return c.error(fmt::format("shape has the extent {}", d));
    dims.push_back(Dim(d));
  }
  return Types{TensorType(*c.attrs->get<DType>("dtype"), dims)};
}

Status full_compute(const OpContext& c, te::Builder& b) {
  b.output(b.stage("out", c.ints("shape"),
                   [&](auto) { return b.imm(*c.attrs->get<DType>("dtype"), c.real("value")); }));
  return {};
}

}  // namespace

OpDef full() {
  OpDef d;
  d.name = "full";
  d.doc = "One value everywhere: out[i] = value.";
  d.min_operands = 0;
  d.max_operands = 0;
  d.attrs = {{"shape", AttrKind::ints, "extents of the result", {}},
             {"value", AttrKind::real, "the value", 0.0},
             {"dtype", AttrKind::dtype, "element type of the result", DType::f32}};
  d.fusion = FusionKind::elementwise;
  d.infer = full_type;
  d.compute = full_compute;
  return d;
}

}  // namespace tenon::ops
