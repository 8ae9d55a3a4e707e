#include "core/ops/support/common.h"

namespace tenon::ops {

namespace {

Result<Types> batch_norm_type(const OpContext& c) {
  if (Status s = accept(c, float_type); !s) return s.errors();
  const TensorType& x = c.operands[0];
  if (x.rank() < 2)
    return c.error(fmt::format("operand 0 is {}, needs rank 2 or more (N, C, ...)", to_string(x)));
  constexpr const char* names[] = {"x", "scale", "bias", "mean", "var"};
  for (std::size_t k = 1; k < 5; ++k) {
    const TensorType want(x.dtype, std::vector<Dim>{x.dims[1]});
    if (!(c.operands[k] == want))
      return c.error(fmt::format("{} is {}, needs {} for {} channels", names[k],
                                 to_string(c.operands[k]), to_string(want), text({x.dims[1]})));
  }
  return Types{x};
}

Status batch_norm_compute(const OpContext& c, te::Builder& b) {
  T x = b.input(0), scale = b.input(1), bias = b.input(2), mean = b.input(3), var = b.input(4);
  b.output(b.stage("out", x.shape(), [&](auto i) {
    E channel = i[1];
    E deviation = te::unary(ScalarOp::sqrt, var({channel}) + b.imm(x.dtype(), c.real("epsilon")));
    return (x(i) - mean({channel})) * (scale({channel}) / deviation) + bias({channel});
  }));
  return {};
}

}  // namespace

OpDef batch_norm() {
  OpDef d;
  d.name = "batch_norm";
  d.doc =
      "Batch normalisation at inference, operands x, scale, bias, mean, var: out[n, c, ...] = "
      "(x[n, c, ...] - mean[c]) * "
      "(scale[c] / sqrt(var[c] + epsilon)) + bias[c].";
  d.min_operands = d.max_operands = 5;
  d.attrs = {{"epsilon", AttrKind::real, "added to the variance", 1e-5}};
  d.fusion = FusionKind::broadcast;
  d.infer = batch_norm_type;
  d.compute = batch_norm_compute;
  return d;
}

}  // namespace tenon::ops
