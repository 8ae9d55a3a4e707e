// ConvTranspose as an ordinary convolution.
//
// With stride s, output s * q + a is a sum over the taps k = a (mod s) alone. So the taps of each
// remainder form a kernel of their own, of ceil(k / s) taps; a convolution with all those kernels
// computes s outputs per position as channels, and moving them to their places (as depth to space
// does) gives the result, from which the padding is cut. No product with an inserted zero is
// computed.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "plugins/frontends/onnx/steps.h"

namespace tenon::onnx_import {
namespace {

using Ints = std::vector<std::int64_t>;

struct Plan {
  std::int64_t groups;
  Ints kernel, strides, dilations, pads, out;  // pads: begins, then ends; out: extents
};

Result<Plan> plan_of(NodeImport& n) {
  const Shape x = n.shape(0), w = n.shape(1);
  if (x.size() < 3 || x.size() > 5 || w.size() != x.size())
    return n.fail(fmt::format("input of rank {} and weights of rank {}: 3 to 5 are supported",
                              x.size(), w.size()));
  const std::size_t d = x.size() - 2;
  Plan p{n.integer("group", 1),
         Ints(w.begin() + 2, w.end()),
         n.ints("strides").value_or(Ints(d, 1)),
         n.ints("dilations").value_or(Ints(d, 1)),
         n.ints("pads").value_or(Ints(2 * d, 0)),
         {}};
  const Ints extra = n.ints("output_padding").value_or(Ints(d, 0));
  const Ints given = n.ints("output_shape").value_or(Ints{});
  if (p.strides.size() != d || p.dilations.size() != d || p.pads.size() != 2 * d ||
      extra.size() != d || (!given.empty() && given.size() != d))
    return n.fail(
        fmt::format("strides, dilations, pads, output_padding or output_shape do not fit "
                    "{} spatial axes",
                    d));
  if (p.groups < 1 || x[1] % p.groups != 0 || w[0] != x[1])
    return n.fail(fmt::format("{} channels, weights for {} and {} groups", x[1], w[0], p.groups));
  const std::string mode = n.text("auto_pad", "NOTSET");
  const bool same = mode == "SAME_UPPER" || mode == "SAME_LOWER";
  for (std::size_t k = 0; k < d; ++k) {
    const std::int64_t s = p.strides[k], reach = p.dilations[k] * (p.kernel[k] - 1) + 1;
    if (s < 1 || p.dilations[k] < 1 || p.kernel[k] < 1 || x[k + 2] < 1 || extra[k] < 0)
      return n.fail("extents, kernel, strides and dilations must be positive");
    const std::int64_t whole = s * (x[k + 2] - 1) + extra[k] + reach;
    std::int64_t out = whole - p.pads[k] - p.pads[d + k];
    if (mode == "VALID") out = whole;
    if (!given.empty() || same) {
      out = given.empty() ? s * x[k + 2] : given[k];
      const std::int64_t total = std::max<std::int64_t>(0, whole - out);
      p.pads[k] = mode == "SAME_UPPER" ? total / 2 : total - total / 2;
    } else if (mode == "VALID") {
      p.pads[k] = 0;
    }
    if (out < 1) return n.fail(fmt::format("the output has {} elements on axis {}", out, k + 2));
    p.out.push_back(out);
  }
  return p;
}

/// Zeros between and behind the taps: `count` of them, `dilation` apart, in all `to` elements.
Term spread(Steps& step, Term w, std::size_t axis, std::int64_t dilation, std::int64_t to) {
  if (!w.v) return w;
  Shape shape = w.v.type().shape();
  const auto padded = [&](Term t, std::size_t at, std::int64_t behind) {
    Ints pads(2 * t.v.type().rank(), 0);
    pads[t.v.type().rank() + at] = behind;
    return step("pad", {t}, {{"pads", pads}});
  };
  if (dilation > 1) {
    shape.insert(shape.begin() + static_cast<std::ptrdiff_t>(axis) + 1, 1);
    w = step.reshape(w, shape);
    if (w.v) w = padded(w, axis + 1, dilation - 1);
    shape.erase(shape.begin() + static_cast<std::ptrdiff_t>(axis) + 1);
    shape[axis] *= dilation;
    w = step.reshape(w, shape);
  }
  return w.v && to != shape[axis] ? padded(w, axis, to - shape[axis]) : w;
}

/// Weights [c, m, k...] of `groups` groups -> those of the convolution: [groups * m * s..., c /
/// groups, taps...], taps reversed.
Term kernels_of(Steps& step, Term w, const Plan& p) {
  if (!w.v) return w;
  const std::size_t d = p.kernel.size();
  const Shape from = w.v.type().shape();
  Ints taps;
  for (std::size_t k = 0; k < d; ++k) {
    const std::int64_t reach = p.dilations[k] * (p.kernel[k] - 1) + 1;
    taps.push_back((reach + p.strides[k] - 1) / p.strides[k]);
    w = spread(step, w, k + 2, p.dilations[k], taps[k] * p.strides[k]);
  }
  const std::int64_t c = from[0] / p.groups, m = from[1];
  Shape split{p.groups, c, m};  // then (taps, remainder) per axis
  Ints perm{0, 2};
  for (std::size_t k = 0; k < d; ++k) {
    split.insert(split.end(), {taps[k], p.strides[k]});
    perm.push_back(static_cast<std::int64_t>(4 + 2 * k));
  }
  perm.push_back(1);
  Shape joined{p.groups * m, c};
  for (std::size_t k = 0; k < d; ++k) {
    perm.push_back(static_cast<std::int64_t>(3 + 2 * k));
    joined[0] *= p.strides[k];
    joined.push_back(taps[k]);
  }
  w = step.reshape(step.transpose(step.reshape(w, split), perm), joined);
  Ints starts(d + 2, 0), steps(d + 2, 1);
  for (std::size_t k = 0; k < d; ++k) {
    starts[k + 2] = taps[k] - 1;
    steps[k + 2] = -1;
  }
  return step("slice", {w}, {{"starts", starts}, {"sizes", joined}, {"steps", steps}});
}

Outputs conv_transpose(NodeImport& n) {
  auto planned = plan_of(n);
  if (!planned) return planned.errors();
  Plan& p = *planned;
  const std::size_t d = p.kernel.size();
  const Shape from = n.shape(0);
  Steps step(n);
  const Term w = kernels_of(step, step.in(1), p);
  if (!w.v) return step.done({});
  const Shape ws = w.v.type().shape();
  Ints pads(2 * d, 0);
  for (std::size_t k = 0; k < d; ++k) pads[k] = pads[d + k] = ws[k + 2] - 1;
  Term y = step(fmt::format("conv{}d", d), {step.in(0), w}, {{"pads", pads}, {"groups", p.groups}});
  // [n, m * s..., q...] -> [n, m, (q, s)...]
  const std::int64_t m = p.groups * n.shape(1)[1];
  Shape split{from[0], m};
  Ints perm{0, 1};
  Shape joined{from[0], m};
  for (std::size_t k = 0; k < d; ++k) split.push_back(p.strides[k]);
  for (std::size_t k = 0; k < d; ++k) {
    split.push_back(from[k + 2] + ws[k + 2] - 1);
    perm.insert(perm.end(),
                {static_cast<std::int64_t>(2 + d + k), static_cast<std::int64_t>(2 + k)});
    joined.push_back(split.back() * p.strides[k]);
  }
  y = step.reshape(step.transpose(step.reshape(y, split), perm), joined);
  Ints cut(2 * joined.size(), 0);
  for (std::size_t k = 0; k < d; ++k) {
    cut[k + 2] = -p.pads[k];
    cut[joined.size() + k + 2] = p.out[k] + p.pads[k] - joined[k + 2];
  }
  if (std::ranges::any_of(cut, [](std::int64_t c) { return c != 0; }))
    y = step("pad", {y}, {{"pads", cut}});
  if (!n.has(2)) return step.done({y});
  Shape bias(from.size(), 1);
  bias[1] = m;
  return step.done({y + step.reshape(step.in(2), bias)});
}

constexpr std::array table{
    OpRow{"ConvTranspose", 2, 3, conv_transpose},
};

}  // namespace

std::span<const OpRow> transposed_rows() { return table; }

}  // namespace tenon::onnx_import
