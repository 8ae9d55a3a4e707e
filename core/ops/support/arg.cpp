#include "core/ops/support/arg.h"

namespace tenon::ops {

namespace {

Result<Types> infer(const OpContext& c) {
  if (Status s = accept(c, number); !s) return s.errors();
  const TensorType& x = c.operands[0];
  auto axis = axis_of(c, c.integer("axis"), x.rank());
  if (!axis) return axis.errors();
  if (x.dims[*axis] == Dim(0))
    return c.error(fmt::format("axis {} of {} is empty", *axis, to_string(x)));
  std::vector<Dim> dims = x.dims;
  const auto at = dims.begin() + static_cast<std::ptrdiff_t>(*axis);
  if (*c.attrs->get<bool>("keepdims"))
    *at = Dim(1);
  else
    dims.erase(at);
  return Types{TensorType(DType::i64, dims)};
}

}  // namespace

OpDef arg_op(std::string name, std::string doc, Compute compute) {
  OpDef d = unary_op(std::move(name), std::move(doc), infer, compute);
  d.fusion = FusionKind::reduction;
  d.attrs = {{"axis", AttrKind::integer, "axis that is searched", std::int64_t{0}},
             {"keepdims", AttrKind::boolean, "keep the axis with extent 1", false}};
  return d;
}

Status arg_compute(const OpContext& c, te::Builder& b, te::Fold fold) {
  auto type = infer(c);
  if (!type) return type.errors();
  T x = b.input(0);
  const std::size_t axis = *axis_of(c, c.integer("axis"), c.operands[0].rank());
  const bool keep = *c.attrs->get<bool>("keepdims");
  const std::int64_t extent = x.shape()[axis];
  const std::vector<te::Axis> along{{"r0", extent}};
  auto element = [&](std::span<const E> i, E at) {
    std::vector<E> index(i.begin(), i.end());
    if (keep) index.erase(index.begin() + static_cast<std::ptrdiff_t>(axis));
    index.insert(index.begin() + static_cast<std::ptrdiff_t>(axis), at);
    return x(index);
  };
  const Shape shape = (*type)[0].shape();
  T best = b.stage("best", shape, [&](auto i) {
    return b.reduce(fold, along, [&](auto r) { return element(i, r[0]); });
  });
  b.output(b.stage("out", shape, [&](auto i) {
    E first = b.reduce(te::Fold::min, along, [&](auto r) {
      E hit = te::binary(ScalarOp::eq, element(i, r[0]), best(i));
      return te::select(hit, r[0], b.i64(extent - 1));  // a row of NaN has no hit: its last place
    });
    return first;
  }));
  return {};
}

}  // namespace tenon::ops
