#include "core/ops/support/common.h"

namespace tenon::ops {

namespace {

/// Axes [axis, rank) are normalised.
Result<std::size_t> first_axis(const OpContext& c) {
  return axis_of(c, c.integer("axis"), c.operands[0].rank());
}

Result<Types> layer_norm_type(const OpContext& c) {
  if (Status s = accept(c, float_type); !s) return s.errors();
  auto axis = first_axis(c);
  if (!axis) return axis.errors();
  const TensorType& x = c.operands[0];
  const TensorType tail(
      x.dtype, std::vector<Dim>(x.dims.begin() + static_cast<std::ptrdiff_t>(*axis), x.dims.end()));
  for (std::size_t k = 1; k < c.operands.size(); ++k) {
    const TensorType& t = c.operands[k];
    auto together = t.dtype == x.dtype ? broadcast(c, tail.dims, t.dims)
                                       : Result<std::vector<Dim>>(std::vector<Dim>{});
    if (!together || *together != tail.dims)
      return c.error(fmt::format("{} is {}, needs {}", k == 1 ? "scale" : "bias", to_string(t),
                                 to_string(tail)));
  }
  return Types{x};
}

Status layer_norm_compute(const OpContext& c, te::Builder& b) {
  T x = b.input(0);
  const Shape shape = x.shape();
  auto axis = first_axis(c);
  if (!axis) return axis.errors();
  const Shape rows(shape.begin(), shape.begin() + static_cast<std::ptrdiff_t>(*axis));
  const Shape tail(shape.begin() + static_cast<std::ptrdiff_t>(*axis), shape.end());
  double n = 1;
  for (std::int64_t d : tail) n *= static_cast<double>(d);
  E count = b.imm(x.dtype(), n);
  auto joined = [](std::span<const E> i, std::span<const E> r) {
    std::vector<E> index(i.begin(), i.end());
    index.insert(index.end(), r.begin(), r.end());
    return index;
  };
  T mean = b.stage("mean", rows, [&](auto i) {
    return b.reduce(te::Fold::sum, reduce_axes(tail), [&](auto r) { return x(joined(i, r)); }) /
           count;
  });
  T scale = b.stage("scale", rows, [&](auto i) {
    E squares = b.reduce(te::Fold::sum, reduce_axes(tail), [&](auto r) {
      E d = x(joined(i, r)) - mean(i);
      return d * d;
    });
    E variance = squares / count + b.imm(x.dtype(), c.real("epsilon"));
    return b.imm(x.dtype(), 1) / te::unary(ScalarOp::sqrt, variance);
  });
  b.output(b.stage("out", shape, [&](auto i) {
    auto row = i.subspan(0, rows.size());
    E y = (x(i) - mean(row)) * scale(row);
    if (b.n_inputs() > 1) y = y * load_broadcast(b.input(1), i);
    return b.n_inputs() > 2 ? y + load_broadcast(b.input(2), i) : y;
  }));
  return {};
}

}  // namespace

OpDef layer_norm() {
  OpDef d;
  d.name = "layer_norm";
  d.doc =
      "Layer normalisation over the axes from `axis` on, operands x, scale, bias: out[i, k] = "
      "(x[i, k] - mean[i]) * "
      "(1 / sqrt(var[i] + epsilon)) * scale[k] + bias[k].";
  d.min_operands = 1;
  d.max_operands = 3;
  d.attrs = {{"axis", AttrKind::integer, "first axis that is normalised", std::int64_t{-1}},
             {"epsilon", AttrKind::real, "added to the variance", 1e-5}};
  d.fusion = FusionKind::reduction;
  d.infer = layer_norm_type;
  d.compute = layer_norm_compute;
  return d;
}

}  // namespace tenon::ops
