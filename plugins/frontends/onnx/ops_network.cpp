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
  if (d < 1 || d > 3)
    return n.fail(fmt::format("{} spatial axes are not supported", d), "1 to 3 are");
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

/// Runs `build` on the two-dimensional form of x and undoes the widening.
template <class Build>
Result<Value> on_planes(NodeImport& n, Value x, Build build) {
  if (x.type().rank() != 3) return build(x);
  auto wide = n.reshape(x, widened(x.type().shape()));
  if (!wide) return wide.errors();
  auto out = build(*wide);
  if (!out) return out.errors();
  return n.reshape(*out, narrowed(out->type().shape()));
}

Outputs conv(NodeImport& n) {
  return one(convolution(n, n.in(0), n.in(1), n.has(2) ? n.in(2) : Value{}));
}

Attrs pool_attrs(std::string_view op, const Window& w, bool whole) {
  Attrs a{
      {"kernel", w.kernel}, {"strides", w.strides}, {"pads", w.pads}, {"dilations", w.dilations}};
  if (op == "avg_pool") a.set("count_include_pad", whole);
  return a;
}

// A pool over three axes is one over the last two, then one over the first: maxima and means are
// taken apart like that, the elements that a mean counts being a box.
Result<Value> pool_of_boxes(NodeImport& n, std::string_view op, const Window& w, bool whole) {
  const auto axes = [](const Ints& v, std::size_t from, std::size_t to) {
    return Ints(v.begin() + static_cast<std::ptrdiff_t>(from),
                v.begin() + static_cast<std::ptrdiff_t>(to));
  };
  const Window planes{axes(w.kernel, 1, 3),
                      axes(w.strides, 1, 3),
                      axes(w.dilations, 1, 3),
                      {w.pads[1], w.pads[2], w.pads[4], w.pads[5]}};
  const Window depth{
      {w.kernel[0], 1}, {w.strides[0], 1}, {w.dilations[0], 1}, {w.pads[0], 0, w.pads[3], 0}};
  const Shape s = n.shape(0);
  auto x = n.reshape(n.in(0), {s[0], s[1] * s[2], s[3], s[4]});
  if (x) x = n.op(op, {*x}, pool_attrs(op, planes, whole));
  if (!x) return x;
  const Shape p = x->type().shape();
  x = n.reshape(*x, {s[0], s[1], s[2], p[2] * p[3]});
  if (x) x = n.op(op, {*x}, pool_attrs(op, depth, whole));
  if (!x) return x;
  return n.reshape(*x, {s[0], s[1], x->type().shape()[2], p[2], p[3]});
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
  if (w->kernel.size() == 3) return one(pool_of_boxes(n, op, *w, whole));
  widen(*w);
  return one(
      on_planes(n, n.in(0), [&](Value x) { return n.op(op, {x}, pool_attrs(op, *w, whole)); }));
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

Result<Value> convolution(NodeImport& n, Value x, Value weights, Value bias) {
  const Shape ws = weights.type().shape();
  if (x.type().rank() < 3 || ws.size() != x.type().rank())
    return n.fail(fmt::format("input of rank {} and weights of rank {} do not fit", x.type().rank(),
                              ws.size()));
  const Ints kernel = n.ints("kernel_shape").value_or(Ints(ws.begin() + 2, ws.end()));
  if (!std::ranges::equal(kernel, std::span(ws).subspan(2)))
    return n.fail("kernel_shape does not agree with the weights");
  auto w = window_of(n, kernel);
  if (!w) return w.errors();
  widen(*w);
  return on_planes(n, x, [&](Value plane) -> Result<Value> {
    if (ws.size() == 3) {
      auto r = n.reshape(weights, widened(ws));
      if (!r) return r.errors();
      weights = *r;
    }
    std::vector<Value> in{plane, weights};
    if (bias) in.push_back(bias);
    return n.op(w->kernel.size() == 3 ? "conv3d" : "conv2d", in,
                {{"strides", w->strides},
                 {"pads", w->pads},
                 {"dilations", w->dilations},
                 {"groups", n.integer("group", 1)}});
  });
}

}  // namespace tenon::onnx_import
