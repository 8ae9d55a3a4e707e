#include "core/ops/support/window.h"

#include <algorithm>

namespace tenon::ops {

bool Window::padded() const {
  auto zero = [](std::int64_t v) { return v == 0; };
  return !std::all_of(before.begin(), before.end(), zero) ||
         !std::all_of(after.begin(), after.end(), zero);
}

std::vector<AttrSpec> window_attrs() {
  return {{"strides", AttrKind::ints, "steps of the window per spatial axis; none = 1",
           std::vector<std::int64_t>{}},
          {"dilations", AttrKind::ints, "steps inside the window per spatial axis; none = 1",
           std::vector<std::int64_t>{}},
          {"pads", AttrKind::ints,
           "padding: all begins, then all ends ([top, left, bottom, right]); none = 0",
           std::vector<std::int64_t>{}}};
}

namespace {

constexpr std::int64_t limit = std::int64_t{1}
                               << 40;  // keeps products of these numbers within 64 bits

Result<std::vector<std::int64_t>> entries(const OpContext& c, std::string_view attr, std::size_t n,
                                          std::int64_t dflt, std::int64_t least) {
  std::vector<std::int64_t> v = c.ints(attr);
  if (v.empty()) v.assign(n, dflt);
  if (Status s = need_length(c, attr, v.size(), n, attr == "pads" ? "sides" : "spatial axes"); !s)
    return s.errors();
  for (std::int64_t x : v)
    if (x < least || x > limit)
      return c.error(fmt::format("attribute '{}' has {}, needs {} or more", attr, x, least));
  return v;
}

}  // namespace

Result<Window> window_of(const OpContext& c, std::vector<std::int64_t> kernel) {
  const std::size_t n = kernel.size();
  for (std::int64_t k : kernel)
    if (k < 1 || k > limit) return c.error(fmt::format("a window of extent {}", k));
  auto strides = entries(c, "strides", n, 1, 1), dilations = entries(c, "dilations", n, 1, 1),
       pads = entries(c, "pads", 2 * n, 0, 0);
  for (auto* r : {&strides, &dilations, &pads})
    if (!*r) return r->errors();
  const auto middle = pads->begin() + static_cast<std::ptrdiff_t>(n);
  return Window{
      std::move(kernel), *strides, *dilations, {pads->begin(), middle}, {middle, pads->end()}};
}

Result<std::vector<Dim>> output_extents(const OpContext& c, const Window& w,
                                        std::span<const Dim> spatial) {
  std::vector<Dim> out;
  for (std::size_t k = 0; k < w.rank(); ++k) {
    if (!spatial[k].is_static())
      return c.error(fmt::format("spatial axis {} is symbolic", k),
                     "give the input shapes with --shape");
    std::int64_t reach = 0, extent = 0;
    if (__builtin_mul_overflow(w.dilations[k], w.kernel[k] - 1, &reach) ||
        __builtin_add_overflow(spatial[k].value(), w.before[k] + w.after[k], &extent))
      return c.error(fmt::format("sizes of spatial axis {} pass 2^63", k));
    const std::int64_t room = extent - reach - 1;
    if (room < 0)
      return c.error(
          fmt::format("a window of {} (kernel {}, dilation {}) does not fit the padded extent {} "
                      "of spatial axis {}",
                      reach + 1, w.kernel[k], w.dilations[k], extent, k));
    out.push_back(Dim(room / w.strides[k] + 1));
  }
  return out;
}

T pad_stage(te::Builder& b, T x, const Window& w, E value) {
  if (!w.padded()) return x;
  const Shape in = x.shape();
  Shape shape = in;
  for (std::size_t k = 0; k < w.rank(); ++k) shape[k + 2] += w.before[k] + w.after[k];
  return b.stage("pad", shape, [&](auto i) {
    std::vector<E> index(i.begin(), i.end());
    E inside = b.imm_int(DType::boolean, 1);
    for (std::size_t k = 0; k < w.rank(); ++k) {
      E& at = index[k + 2];
      at = at - w.before[k];
      if (w.before[k]) inside = inside && at >= 0;
      if (w.after[k]) inside = inside && at < in[k + 2];
    }
    return te::select(inside, x(index), value);
  });
}

E window_index(const Window& w, std::size_t k, E i, E r) {
  return i * w.strides[k] + r * w.dilations[k];
}

namespace {

Result<std::vector<std::int64_t>> kernel_of(const OpContext& c) {
  const TensorType& w = c.operands[1];
  std::vector<std::int64_t> kernel;
  for (std::size_t k = 2; k < w.rank(); ++k) {
    if (!w.dims[k].is_static())
      return c.error(fmt::format("weight {} has a symbolic dim", to_string(w)));
    kernel.push_back(w.dims[k].value());
  }
  return kernel;
}

Result<Types> infer_conv(const OpContext& c, std::size_t spatial) {
  if (Status s = accept(c, number); !s) return s.errors();
  const TensorType &x = c.operands[0], &w = c.operands[1];
  if (x.rank() != spatial + 2 || w.rank() != spatial + 2)
    return c.error(fmt::format("data {} and weight {}, need rank {} each", to_string(x),
                               to_string(w), spatial + 2));
  for (const TensorType& t : c.operands)
    if (t.dtype != x.dtype)
      return c.error(
          fmt::format("operands of different element types: {} and {}", to_string(x), to_string(t)),
          "insert a `cast`");
  const std::int64_t groups = c.integer("groups");
  if (groups < 1) return c.error(fmt::format("groups is {}", groups));
  if (!x.dims[1].is_static() || !w.dims[1].is_static() || !w.dims[0].is_static())
    return c.error(
        fmt::format("channels are symbolic: data {}, weight {}", to_string(x), to_string(w)),
        "give the input shapes with --shape");
  std::int64_t channels = 0;
  if (__builtin_mul_overflow(w.dims[1].value(), groups, &channels) || channels != x.dims[1].value())
    return c.error(fmt::format("data has {} channels, the weight {} takes {} x {} groups",
                               x.dims[1].value(), to_string(w), w.dims[1].value(), groups));
  if (w.dims[0].value() % groups != 0)
    return c.error(
        fmt::format("{} output channels do not divide into {} groups", w.dims[0].value(), groups));
  if (c.operands.size() == 3 &&
      !(c.operands[2] == TensorType(x.dtype, std::vector<Dim>{w.dims[0]})))
    return c.error(fmt::format("bias is {}, needs one element per output channel: {}",
                               to_string(c.operands[2]), w.dims[0].value()));
  auto kernel = kernel_of(c);
  if (!kernel) return kernel.errors();
  auto window = window_of(c, *kernel);
  if (!window) return window.errors();
  auto extents = output_extents(c, *window, std::span(x.dims).subspan(2));
  if (!extents) return extents.errors();
  std::vector<Dim> dims{x.dims[0], w.dims[0]};
  dims.insert(dims.end(), extents->begin(), extents->end());
  return Types{TensorType(x.dtype, dims)};
}

/// A channel axis of extent 1 per group is not folded: depthwise convolutions share the channel of
/// data and result.
Status compute_conv(const OpContext& c, te::Builder& b) {
  auto type = infer_conv(c, c.operands[0].rank() - 2);
  if (!type) return type.errors();
  auto window = window_of(c, *kernel_of(c));
  if (!window) return window.errors();
  const Window& w = *window;
  T x = pad_stage(b, b.input(0), w, b.imm(b.input(0).dtype(), 0)), weight = b.input(1);
  const Shape shape = (*type)[0].shape();
  const std::int64_t groups = c.integer("groups"), per_group = weight.shape()[1];
  const std::int64_t outs = groups ? std::max<std::int64_t>(shape[1] / groups, 1) : 1;
  std::vector<te::Axis> axes;
  if (per_group != 1) axes.push_back({"c", per_group});
  for (std::size_t k = 0; k < w.rank(); ++k) axes.push_back({"k" + std::to_string(k), w.kernel[k]});
  b.output(b.stage("out", shape, [&](auto i) {
    E group = groups == 1 ? b.i64(0) : i[1] / outs;
    E sum = b.reduce(te::Fold::sum, axes, [&](auto r) {
      E channel = per_group == 1 ? b.i64(0) : r[0];
      std::vector<E> from{i[0], group * per_group + channel}, tap{i[1], channel};
      for (std::size_t k = 0; k < w.rank(); ++k) {
        E at = r[k + (per_group != 1)];
        from.push_back(window_index(w, k, i[k + 2], at));
        tap.push_back(at);
      }
      return x(from) * weight(tap);
    });
    return b.n_inputs() == 3 ? sum + b.input(2)({i[1]}) : sum;
  }));
  return {};
}

template <std::size_t spatial>
Result<Types> conv_type(const OpContext& c) {
  return infer_conv(c, spatial);
}

}  // namespace

OpDef conv_op(std::string name, std::size_t spatial, std::string doc) {
  OpDef d;
  d.name = std::move(name);
  d.doc = std::move(doc);
  d.min_operands = 2;
  d.max_operands = 3;
  d.attrs = window_attrs();
  d.attrs.push_back(
      {"groups", AttrKind::integer, "groups of channels that do not mix", std::int64_t{1}});
  d.fusion = FusionKind::anchor;
  d.infer = spatial == 1 ? conv_type<1> : spatial == 2 ? conv_type<2> : conv_type<3>;
  d.compute = compute_conv;
  return d;
}

OpDef pool_op(std::string name, std::string doc, Infer infer, Compute compute) {
  OpDef d;
  d.name = std::move(name);
  d.doc = std::move(doc);
  d.attrs = window_attrs();
  d.attrs.push_back({"kernel", AttrKind::ints, "extents of the window per spatial axis", {}});
  d.fusion = FusionKind::anchor;
  d.infer = infer;
  d.compute = compute;
  return d;
}

Result<Types> infer_pool(const OpContext& c, TypeSet set) {
  if (Status s = accept(c, set); !s) return s.errors();
  const TensorType& x = c.operands[0];
  auto window = window_of(c, c.ints("kernel"));
  if (!window) return window.errors();
  if (x.rank() != window->rank() + 2)
    return c.error(fmt::format("operand is {}, a window of {} axes needs rank {}", to_string(x),
                               window->rank(), window->rank() + 2));
  auto extents = output_extents(c, *window, std::span(x.dims).subspan(2));
  if (!extents) return extents.errors();
  std::vector<Dim> dims{x.dims[0], x.dims[1]};
  dims.insert(dims.end(), extents->begin(), extents->end());
  return Types{TensorType(x.dtype, dims)};
}

}  // namespace tenon::ops
