#include "core/ops/support/common.h"

namespace tenon::ops {

namespace {

Result<Types> shape_of_type(const OpContext& c) {
  return Types{TensorType(DType::i64, Shape{static_cast<std::int64_t>(c.operands[0].rank())})};
}

Status shape_of_compute(const OpContext&, te::Builder& b) {
  const Shape shape = b.input(0).shape();
  b.output(b.stage("out", {static_cast<std::int64_t>(shape.size())}, [&](auto i) {
    E value = b.i64(0);
    for (std::size_t k = 0; k < shape.size(); ++k)
      value = te::select(te::binary(ScalarOp::eq, i[0], b.i64(static_cast<std::int64_t>(k))),
                         b.i64(shape[k]), value);
    return value;
  }));
  return {};
}

}  // namespace

OpDef shape_of() {
  OpDef d;
  d.name = "shape_of";
  d.doc = "The extents of x as an i64 vector: out[k] = extent of axis k.";
  d.fusion = FusionKind::opaque;
  d.infer = shape_of_type;
  d.compute = shape_of_compute;
  return d;
}

}  // namespace tenon::ops
