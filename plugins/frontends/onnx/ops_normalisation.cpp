// Normalisations besides batch norm.
#include <fmt/format.h>

#include <array>

#include "plugins/frontends/onnx/steps.h"

namespace tenon::onnx_import {
namespace {

using Ints = std::vector<std::int64_t>;

// The second and third output, the mean and the inverse of the deviation, are computed when they
// are asked for.
Outputs layer_norm(NodeImport& n) {
  auto axis = axis_in(n.integer("axis", -1), n.rank(0));
  if (!axis)
    return n.fail(fmt::format("axis {} is outside rank {}", n.integer("axis", -1), n.rank(0)));
  const double epsilon = n.real("epsilon", 1e-5);
  Steps step(n);
  std::vector<Term> in{step.in(0), step.in(1)};
  if (n.has(2)) in.push_back(step.in(2));
  const Term y = step("layer_norm", in, {{"axis", *axis}, {"epsilon", epsilon}});
  if (n.n_outputs() == 1) return step.done({y});
  Ints axes;
  for (std::int64_t k = *axis; k < n.rank(0); ++k) axes.push_back(k);
  const Attrs over{{"axes", axes}, {"keepdims", true}};
  const Term mean = step("reduce_mean", {in[0]}, over), away = in[0] - mean;
  const Term variance = step("reduce_mean", {away * away}, over);
  return step.done({y, mean, 1.0 / sqrt(variance + epsilon)});
}

/// `v`, of one number per channel, against x of `rank` axes.
Term per_channel(Steps& step, Term v, std::size_t rank) {
  if (!v.v) return v;
  Shape to(rank, 1);
  to[1] = v.v.type().shape()[0];
  return step.reshape(v, to);
}

/// Every group of channels normalised over all its elements; then scale and bias.
Outputs grouped(NodeImport& n, std::int64_t groups) {
  const Shape x = n.shape(0);
  if (x.size() < 3 || groups < 1 || x[1] % groups != 0)
    return n.fail(fmt::format("{} groups of an input of {}", groups, to_string(n.in(0).type())));
  std::int64_t rest = x[1] / groups;
  for (std::size_t k = 2; k < x.size(); ++k) rest *= x[k];
  Steps step(n);
  Term y = step("layer_norm", {step.reshape(step.in(0), {x[0] * groups, rest})},
                {{"axis", std::int64_t{1}}, {"epsilon", n.real("epsilon", 1e-5)}});
  y = step.reshape(y, x);
  const auto spread = [&](std::size_t i) {  // scales per group before opset 21
    Term v = step.in(i);
    const Shape s = n.shape(i);
    if (s.size() != 1 || s[0] == x[1]) return per_channel(step, v, x.size());
    v = step("expand", {step.reshape(v, {s[0], 1})}, {{"shape", Shape{s[0], x[1] / s[0]}}});
    return per_channel(step, step.reshape(v, {x[1]}), x.size());
  };
  for (std::size_t i = 1; i < 3; ++i)
    if (const Shape s = n.shape(i); s.size() != 1 || (s[0] != x[1] && s[0] != groups))
      return n.fail(fmt::format("input {} is {} for {} channels in {} groups", i,
                                to_string(n.in(i).type()), x[1], groups));
  return step.done({y * spread(1) + spread(2)});
}
Outputs instance_norm(NodeImport& n) {
  return n.rank(0) < 2 ? Outputs(n.fail(fmt::format("input of rank {}", n.rank(0))))
                       : grouped(n, n.shape(0)[1]);
}
Outputs group_norm(NodeImport& n) { return grouped(n, n.integer("num_groups", 0)); }

Outputs mean_variance(NodeImport& n) {
  const Attrs over{{"axes", n.ints("axes").value_or(Ints{0, 2, 3})}, {"keepdims", true}};
  Steps step(n);
  const Term away = step.in(0) - step("reduce_mean", {step.in(0)}, over);
  return step.done({away / (sqrt(step("reduce_mean", {away * away}, over)) + 1e-9)});
}

Outputs lp_norm(NodeImport& n) {
  auto axis = axis_in(n.integer("axis", -1), n.rank(0));
  const std::int64_t p = n.integer("p", 2);
  if (!axis || p < 1 || p > 2)
    return n.fail(fmt::format("axis {} and p {} of rank {}", n.integer("axis", -1), p, n.rank(0)));
  const Attrs over{{"axes", Ints{*axis}}, {"keepdims", true}};
  Steps step(n);
  const Term x = step.in(0);
  const Term sum = step("reduce_sum", {p == 1 ? abs(x) : x * x}, over);
  return step.done({x / (p == 1 ? sum : sqrt(sum))});
}

// x / (bias + alpha / size * sum of squares of the channels around)^beta. The sum is a pool over
// the channels, of an image of channels by pixels.
Outputs local_response(NodeImport& n) {
  const Shape s = n.shape(0);
  const std::int64_t size = n.integer("size", 0);
  if (s.size() < 2 || size < 1) return n.fail(fmt::format("size {} of rank {}", size, s.size()));
  std::int64_t pixels = 1;
  for (std::size_t k = 2; k < s.size(); ++k) pixels *= s[k];
  Steps step(n);
  const Term x = step.in(0);
  const Term mean = step("avg_pool", {step.reshape(x * x, {s[0], 1, s[1], pixels})},
                         {{"kernel", Ints{size, 1}},
                          {"pads", Ints{(size - 1) / 2, 0, size / 2, 0}},
                          {"count_include_pad", true}});
  const Term base = step.reshape(mean, s) * n.real("alpha", 1e-4) + n.real("bias", 1);
  return step.done({x / step.binary("pow", base, n.real("beta", 0.75))});
}

constexpr std::array table{
    OpRow{"LayerNormalization", 2, 3, layer_norm},
    OpRow{"InstanceNormalization", 3, 3, instance_norm},
    OpRow{"GroupNormalization", 3, 3, group_norm},
    OpRow{"MeanVarianceNormalization", 1, 1, mean_variance},
    OpRow{"LpNormalization", 1, 1, lp_norm},
    OpRow{"LRN", 1, 1, local_response},
};

}  // namespace

std::span<const OpRow> normalisation_rows() { return table; }

}  // namespace tenon::onnx_import
