// Convolutions, pools, products, normalisation. Padding and kernel shapes are made explicit here.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "plugins/frontends/onnx/importer.h"

namespace tenon::onnx_import {
namespace {

using Ints = std::vector<std::int64_t>;

/// The window of a convolution or pool over two spatial axes; one-dimensional ones get a leading
/// axis of one.
struct Window {
  Ints kernel, strides, dilations, pads;  // pads: begins, then ends
};

// Output size when the window slides over `n` padded elements.
std::int64_t slots(std::int64_t n, std::int64_t k, std::int64_t stride, std::int64_t dilation,
                   bool ceil) {
  const std::int64_t span = n - dilation * (k - 1) - 1;
  return span < 0 ? 0 : (ceil ? (span + stride - 1) / stride : span / stride) + 1;
}

Result<Window> window_of(NodeImport& n, Ints kernel) {
  const Shape shape = n.shape(0);
  const std::size_t d = kernel.size();
  Window w{std::move(kernel), n.ints("strides").value_or(Ints(d, 1)),
           n.ints("dilations").value_or(Ints(d, 1)), n.ints("pads").value_or(Ints(2 * d, 0))};
  if (d + 2 != shape.size() || w.strides.size() != d || w.dilations.size() != d ||
      w.pads.size() != 2 * d)
    return n.fail(fmt::format(
        "kernel, strides, dilations or pads do not fit the {} spatial axes of the input",
        shape.size() < 2 ? 0 : shape.size() - 2));
  if (d < 1 || d > 2)
    return n.fail(fmt::format("{} spatial axes are not supported", d), "1 and 2 are");
  for (std::size_t i = 0; i < d; ++i)
    if (w.kernel[i] < 1 || w.strides[i] < 1 || w.dilations[i] < 1 || w.pads[i] < 0 ||
        w.pads[d + i] < 0)
      return n.fail("kernel, strides and dilations must be positive, pads not negative");
  const std::string mode = n.text("auto_pad", "NOTSET");
  const bool ceil = n.integer("ceil_mode", 0) != 0;
  for (std::size_t i = 0; i < d; ++i) {
    const std::int64_t size = shape[i + 2], reach = w.dilations[i] * (w.kernel[i] - 1) + 1;
    if (mode == "SAME_UPPER" || mode == "SAME_LOWER") {
      const std::int64_t out = (size + w.strides[i] - 1) / w.strides[i];
      const std::int64_t total = std::max<std::int64_t>(0, (out - 1) * w.strides[i] + reach - size);
      w.pads[i] = mode == "SAME_UPPER" ? total / 2 : total - total / 2;
      w.pads[d + i] = total - w.pads[i];
    } else if (mode == "VALID") {
      w.pads[i] = w.pads[d + i] = 0;
    } else if (mode != "NOTSET") {
      return n.fail(fmt::format("auto_pad '{}' is not known", mode));
    }
    if (ceil) {  // a last, partial window: pad behind until it is whole, unless it would start in
                 // the padding
      const std::int64_t padded = size + w.pads[i] + w.pads[d + i];
      std::int64_t out = slots(padded, w.kernel[i], w.strides[i], w.dilations[i], true);
      if ((out - 1) * w.strides[i] >= size + w.pads[i]) --out;
      w.pads[d + i] += std::max<std::int64_t>(0, (out - 1) * w.strides[i] + reach - padded);
    }
  }
  return w;
}

// A leading spatial axis of one element.
void widen(Window& w) {
  if (w.kernel.size() != 1) return;
  w.kernel.insert(w.kernel.begin(), 1);
  w.strides.insert(w.strides.begin(), 1);
  w.dilations.insert(w.dilations.begin(), 1);
  w.pads = {0, w.pads[0], 0, w.pads[1]};
}

Shape widened(const Shape& s) { return {s[0], s[1], 1, s[2]}; }
Shape narrowed(const Shape& s) { return {s[0], s[1], s[3]}; }

/// Runs `build` on the two-dimensional form and undoes the widening.
template <class Build>
Outputs on_planes(NodeImport& n, Build build) {
  if (n.rank(0) == 4) return one(build(n.in(0)));
  auto wide = n.reshape(n.in(0), widened(n.shape(0)));
  if (!wide) return wide.errors();
  auto out = build(*wide);
  if (!out) return out.errors();
  return one(n.reshape(*out, narrowed(out->type().shape())));
}

Outputs conv(NodeImport& n) {
  if (n.rank(0) < 3 || n.rank(1) != n.rank(0))
    return n.fail(
        fmt::format("input of rank {} and weights of rank {} do not fit", n.rank(0), n.rank(1)));
  const Shape ws = n.shape(1);
  const Ints kernel = n.ints("kernel_shape").value_or(Ints(ws.begin() + 2, ws.end()));
  if (!std::ranges::equal(kernel, std::span(ws).subspan(2)))
    return n.fail("kernel_shape does not agree with the weights");
  auto w = window_of(n, kernel);
  if (!w) return w.errors();
  widen(*w);
  return on_planes(n, [&](Value x) -> Result<Value> {
    Value weights = n.in(1);
    if (weights.type().rank() == 3) {
      auto r = n.reshape(weights, widened(ws));
      if (!r) return r.errors();
      weights = *r;
    }
    std::vector<Value> in{x, weights};
    if (n.has(2)) in.push_back(n.in(2));
    return n.op("conv2d", in,
                {{"strides", w->strides},
                 {"pads", w->pads},
                 {"dilations", w->dilations},
                 {"groups", n.integer("group", 1)}});
  });
}

Outputs pool(NodeImport& n, std::string_view op) {
  auto kernel = n.ints("kernel_shape");
  if (!kernel) return n.fail("kernel_shape is missing");
  if (n.integer("storage_order", 0) != 0 || n.n_outputs() > 1)
    return n.fail("indices of maxima are not supported", "drop the second output");
  const bool average = op == "avg_pool", whole = n.integer("count_include_pad", 0) != 0;
  if (average && whole && n.integer("ceil_mode", 0) != 0)
    return n.fail("ceil_mode together with count_include_pad is not supported");
  auto w = window_of(n, *kernel);
  if (!w) return w.errors();
  widen(*w);
  return on_planes(n, [&](Value x) {
    Attrs a{{"kernel", w->kernel},
            {"strides", w->strides},
            {"pads", w->pads},
            {"dilations", w->dilations}};
    if (average) a.set("count_include_pad", whole);
    return n.op(op, {x}, a);
  });
}
Outputs max_pool(NodeImport& n) { return pool(n, "max_pool"); }
Outputs avg_pool(NodeImport& n) { return pool(n, "avg_pool"); }

Outputs global_pool(NodeImport& n, std::string_view op) {
  if (n.rank(0) < 3) return n.fail(fmt::format("input of rank {} has no spatial axes", n.rank(0)));
  Ints axes;
  for (std::int64_t i = 2; i < n.rank(0); ++i) axes.push_back(i);
  return one(n.op(op, {n.in(0)}, {{"axes", axes}, {"keepdims", true}}));
}
Outputs global_average(NodeImport& n) { return global_pool(n, "reduce_mean"); }
Outputs global_max(NodeImport& n) { return global_pool(n, "reduce_max"); }

Outputs matmul(NodeImport& n) { return one(n.op("matmul", {n.in(0), n.in(1)})); }

// alpha * A' B' + beta * C. Transposed constants fold, so that weights always stand as [k, n].
Outputs gemm(NodeImport& n) {
  std::array<Value, 2> ab{n.in(0), n.in(1)};
  for (std::size_t i = 0; i < 2; ++i) {
    if (n.rank(i) != 2)
      return n.fail(fmt::format("input {} has rank {}, 2 is needed", i, n.rank(i)));
    if (n.integer(i == 0 ? "transA" : "transB", 0) == 0) continue;
    auto t = n.op("transpose", {ab[i]}, {{"perm", Ints{1, 0}}});
    if (!t) return t.errors();
    ab[i] = *t;
  }
  auto y = n.op("matmul", {ab[0], ab[1]});
  if (!y) return y.errors();
  const auto scaled = [&](Value v, double by) -> Result<Value> {
    if (by == 1) return v;
    return n.op("mul", {v, n.constant_real(v.type().dtype, by)});
  };
  auto out = scaled(*y, n.real("alpha", 1));
  if (!out || !n.has(2)) return one(out);
  auto c = scaled(n.in(2), n.real("beta", 1));
  if (!c) return c.errors();
  return one(n.op("add", {*out, *c}));
}

Outputs batch_norm(NodeImport& n) {
  if (n.integer("training_mode", 0) != 0 || n.n_outputs() > 1)
    return n.fail("training mode is not supported", "export the model for inference");
  return one(n.op("batch_norm", {n.in(0), n.in(1), n.in(2), n.in(3), n.in(4)},
                  {{"epsilon", n.real("epsilon", 1e-5)}}));
}

constexpr std::array table{
    OpRow{"Conv", 2, 3, conv},
    OpRow{"MaxPool", 1, 1, max_pool},
    OpRow{"AveragePool", 1, 1, avg_pool},
    OpRow{"GlobalAveragePool", 1, 1, global_average},
    OpRow{"GlobalMaxPool", 1, 1, global_max},
    OpRow{"MatMul", 2, 2, matmul},
    OpRow{"Gemm", 2, 3, gemm},
    OpRow{"BatchNormalization", 5, 5, batch_norm},
};

}  // namespace

std::span<const OpRow> network_rows() { return table; }

}  // namespace tenon::onnx_import
