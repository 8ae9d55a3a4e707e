// Ops that move, cut or describe data.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "plugins/frontends/onnx/importer.h"
#include "plugins/frontends/onnx/model_file.h"

namespace tenon::onnx_import {
namespace {

// Attribute in early opsets, input later.
Result<std::vector<std::int64_t>> ints_of(NodeImport& n, std::string_view name, std::size_t input) {
  if (auto a = n.ints(name)) return *a;
  if (!n.has(input)) return n.fail(fmt::format("'{}' is missing", name));
  if (auto v = n.const_ints(input)) return *v;
  return n.fail(fmt::format("'{}' is computed at run time", name),
                "fix the input shapes with --shape, or make it constant");
}

Outputs reshape(NodeImport& n) {
  auto want = ints_of(n, "shape", 1);
  if (!want) return want.errors();
  const Shape from = n.shape(0);
  Shape to = *want;
  std::int64_t known = 1, open = -1;
  for (std::size_t i = 0; i < to.size(); ++i) {
    if (to[i] == 0 && n.integer("allowzero", 0) == 0) {
      if (i >= from.size())
        return n.fail(fmt::format("dimension {} copies an input dimension that is not there", i));
      to[i] = from[i];
    }
    if (to[i] < -1 || (to[i] == -1 && open >= 0))
      return n.fail("the new shape has more than one open or a negative dimension");
    if (to[i] == -1)
      open = static_cast<std::int64_t>(i);
    else if (__builtin_mul_overflow(known, to[i], &known))
      return n.fail("the new shape is too large");
  }
  const auto total = static_cast<std::int64_t>(elements(n.in(0).type()).value_or(0));
  if (open >= 0) {
    if (known == 0 || total % known != 0)
      return n.fail(fmt::format("{} elements do not divide into the new shape", total));
    to[static_cast<std::size_t>(open)] = total / known;
  }
  return one(n.reshape(n.in(0), to));
}

Outputs flatten(NodeImport& n) {
  const std::int64_t given = n.integer("axis", 1);
  const std::int64_t axis = given < 0 ? given + n.rank(0) : given;
  if (axis < 0 || axis > n.rank(0))
    return n.fail(fmt::format("axis {} is outside rank {}", given, n.rank(0)));
  Shape to{1, 1};
  const Shape from = n.shape(0);
  for (std::size_t i = 0; i < from.size(); ++i)
    to[static_cast<std::int64_t>(i) < axis ? 0 : 1] *= from[i];
  return one(n.reshape(n.in(0), to));
}

Outputs squeeze(NodeImport& n) {
  const Shape from = n.shape(0);
  std::vector<bool> drop(from.size(), false);
  if (n.ints("axes") || n.has(1)) {
    auto axes = ints_of(n, "axes", 1);
    if (!axes) return axes.errors();
    for (std::int64_t a : *axes) {
      auto k = axis_in(a, n.rank(0));
      if (!k || from[static_cast<std::size_t>(*k)] != 1)
        return n.fail(fmt::format("axis {} is not an axis of one element", a));
      drop[static_cast<std::size_t>(*k)] = true;
    }
  } else {
    for (std::size_t i = 0; i < from.size(); ++i) drop[i] = from[i] == 1;
  }
  Shape to;
  for (std::size_t i = 0; i < from.size(); ++i)
    if (!drop[i]) to.push_back(from[i]);
  return one(n.reshape(n.in(0), to));
}

Outputs unsqueeze(NodeImport& n) {
  auto axes = ints_of(n, "axes", 1);
  if (!axes) return axes.errors();
  const Shape from = n.shape(0);
  const auto rank = n.rank(0) + static_cast<std::int64_t>(axes->size());
  std::vector<bool> fresh(static_cast<std::size_t>(rank), false);
  for (std::int64_t a : *axes) {
    auto k = axis_in(a, rank);
    if (!k || fresh[static_cast<std::size_t>(*k)])
      return n.fail(fmt::format("axis {} is outside rank {} or named twice", a, rank));
    fresh[static_cast<std::size_t>(*k)] = true;
  }
  Shape to;
  std::size_t next = 0;
  for (bool f : fresh) to.push_back(f ? 1 : from[next++]);
  return one(n.reshape(n.in(0), to));
}

Outputs transpose(NodeImport& n) {
  std::vector<std::int64_t> perm;
  for (std::int64_t i = n.rank(0) - 1; i >= 0; --i) perm.push_back(i);
  if (auto p = n.ints("perm")) perm = *p;
  return one(n.op("transpose", {n.in(0)}, {{"perm", perm}}));
}

Outputs concat(NodeImport& n) {
  for (std::size_t i = 0; i < n.n_inputs(); ++i)
    if (!n.has(i)) return n.fail(fmt::format("input {} is missing", i));
  auto axis = axis_in(n.integer("axis", 1), n.rank(0));
  if (!axis)
    return n.fail(fmt::format("axis {} is outside rank {}", n.integer("axis", 1), n.rank(0)));
  return one(n.op("concat", n.inputs(), {{"axis", *axis}}));
}

// Start and end are clamped to the axis, as in Python; steps may be negative.
Outputs slice(NodeImport& n) {
  auto starts = ints_of(n, "starts", 1), ends = ints_of(n, "ends", 2);
  if (!starts) return starts.errors();
  if (!ends) return ends.errors();
  std::vector<std::int64_t> axes, steps(starts->size(), 1);
  for (std::size_t i = 0; i < starts->size(); ++i) axes.push_back(static_cast<std::int64_t>(i));
  if (n.ints("axes") || n.has(3)) {
    auto a = ints_of(n, "axes", 3);
    if (!a) return a.errors();
    axes = *a;
  }
  if (n.has(4)) {
    auto s = ints_of(n, "steps", 4);
    if (!s) return s.errors();
    steps = *s;
  }
  if (ends->size() != starts->size() || axes.size() != starts->size() ||
      steps.size() != starts->size())
    return n.fail("starts, ends, axes and steps have different lengths");
  const Shape shape = n.shape(0);
  std::vector<std::int64_t> start(shape.size(), 0), size = shape, step(shape.size(), 1);
  for (std::size_t i = 0; i < axes.size(); ++i) {
    auto axis = axis_in(axes[i], n.rank(0));
    if (!axis || steps[i] == 0 || steps[i] == INT64_MIN)
      return n.fail(fmt::format("axis {} with step {} is not legal for rank {}", axes[i], steps[i],
                                n.rank(0)));
    const auto k = static_cast<std::size_t>(*axis);
    const std::int64_t d = shape[k], s = steps[i], lo = s > 0 ? 0 : -1, hi = s > 0 ? d : d - 1;
    const auto clamp = [&](std::int64_t x) {
      return std::clamp(x < 0 ? std::max(x, -d - 1) + d : std::min(x, d), lo, hi);
    };
    const std::int64_t from = clamp((*starts)[i]), to = clamp((*ends)[i]);
    start[k] = from;
    step[k] = s;
    size[k] = s > 0 ? (to > from ? (to - from - 1) / s + 1 : 0)
                    : (from > to ? (from - to - 1) / -s + 1 : 0);
    if (size[k] == 0) start[k] = 0;
  }
  return one(n.op("slice", {n.in(0)}, {{"starts", start}, {"sizes", size}, {"steps", step}}));
}

Outputs split(NodeImport& n) {
  auto axis = axis_in(n.integer("axis", 0), n.rank(0));
  if (!axis)
    return n.fail(fmt::format("axis {} is outside rank {}", n.integer("axis", 0), n.rank(0)));
  const Shape shape = n.shape(0);
  const std::int64_t d = shape[static_cast<std::size_t>(*axis)],
                     parts = static_cast<std::int64_t>(n.n_outputs());
  std::vector<std::int64_t> sizes;
  if (n.ints("split") || n.has(1)) {
    auto s = ints_of(n, "split", 1);
    if (!s) return s.errors();
    sizes = *s;
  } else {
    const std::int64_t each = (d + parts - 1) / std::max<std::int64_t>(parts, 1);
    for (std::int64_t i = 0, left = d; i < parts; ++i, left -= each)
      sizes.push_back(std::clamp<std::int64_t>(left, 0, each));
  }
  std::vector<Value> out;
  std::int64_t at = 0;
  for (std::int64_t s : sizes) {
    if (s < 0 || at + s > d) return n.fail(fmt::format("the parts do not add up to {}", d));
    std::vector<std::int64_t> start(shape.size(), 0), size = shape, step(shape.size(), 1);
    start[static_cast<std::size_t>(*axis)] = at;
    size[static_cast<std::size_t>(*axis)] = s;
    auto v = n.op("slice", {n.in(0)}, {{"starts", start}, {"sizes", size}, {"steps", step}});
    if (!v) return v.errors();
    out.push_back(*v);
    at += s;
  }
  if (at != d) return n.fail(fmt::format("the parts add up to {}, the axis has {}", at, d));
  return out;
}

Outputs gather(NodeImport& n) {
  auto axis = axis_in(n.integer("axis", 0), n.rank(0));
  if (!axis)
    return n.fail(fmt::format("axis {} is outside rank {}", n.integer("axis", 0), n.rank(0)));
  return one(n.op("gather", {n.in(0), n.in(1)}, {{"axis", *axis}}));
}

Outputs shape(NodeImport& n) {
  Shape s = n.shape(0);
  const auto rank = n.rank(0);
  const auto at = [&](std::int64_t x) {
    return std::clamp<std::int64_t>(x < 0 ? x + rank : x, 0, rank);
  };
  const std::int64_t first = at(n.integer("start", 0)),
                     last = std::max(first, at(n.integer("end", rank)));
  return std::vector<Value>{n.constant_ints(Shape(s.begin() + first, s.begin() + last))};
}

Outputs size(NodeImport& n) {
  return std::vector<Value>{
      n.constant_ints({static_cast<std::int64_t>(elements(n.in(0).type()).value_or(0))}, true)};
}

Outputs constant(NodeImport& n) {
  if (const auto* a = n.attr("value")) {
    auto c = constant_of_proto(a->t(), n.folder, n.loc);
    if (!c) return c.errors();
    return std::vector<Value>{n.b.constant(*c, n.loc)};
  }
  if (const auto* a = n.attr("value_int"))
    return std::vector<Value>{n.constant_ints({a->i()}, true)};
  if (const auto* a = n.attr("value_ints"))
    return std::vector<Value>{n.constant_ints({a->ints().begin(), a->ints().end()})};
  if (const auto* a = n.attr("value_float"))
    return std::vector<Value>{n.constant_real(DType::f32, static_cast<double>(a->f()))};
  if (const auto* a = n.attr("value_floats")) {
    const std::vector<float> v(a->floats().begin(), a->floats().end());
    return std::vector<Value>{n.b.constant(
        make_constant(TensorType(DType::f32, Shape{static_cast<std::int64_t>(v.size())}),
                      std::span<const float>(v)),
        n.loc)};
  }
  return n.fail("holds neither a dense tensor nor numbers");
}

Outputs constant_of_shape(NodeImport& n) {
  auto shape = n.const_ints(0);
  if (!shape)
    return n.fail("the shape is computed at run time", "fix the input shapes with --shape");
  DType type = DType::f32;
  double value = 0;
  if (const auto* a = n.attr("value")) {
    auto c = constant_of_proto(a->t(), n.folder, n.loc);
    if (!c) return c.errors();
    type = (*c)->type.dtype;
    auto reals = reals_of(*c);
    if (!reals || reals->size() != 1) return n.fail("'value' is not one number");
    value = (*reals)[0];
  }
  for (std::int64_t d : *shape)
    if (d < 0) return n.fail(fmt::format("negative dimension {}", d));
  return one(n.op("full", {}, {{"shape", *shape}, {"value", value}, {"dtype", type}}));
}

Outputs expand(NodeImport& n) {
  auto want = n.const_ints(1);
  if (!want)
    return n.fail("the shape is computed at run time", "fix the input shapes with --shape");
  // Numpy broadcast of both shapes.
  const Shape from = n.shape(0);
  Shape to(std::max(from.size(), want->size()), 1);
  for (std::size_t i = 0; i < to.size(); ++i) {
    const std::int64_t a = i < from.size() ? from[from.size() - 1 - i] : 1;
    const std::int64_t b = i < want->size() ? (*want)[want->size() - 1 - i] : 1;
    if (a != b && a != 1 && b != 1)
      return n.fail(fmt::format("dimensions {} and {} do not broadcast", a, b));
    to[to.size() - 1 - i] = a == 1 ? b : a;
  }
  return one(n.op("expand", {n.in(0)}, {{"shape", to}}));
}

Outputs pad(NodeImport& n) {
  auto pads = ints_of(n, "pads", 1);
  if (!pads) return pads.errors();
  double value = n.real("value", 0);
  if (n.has(2)) {
    auto v = n.const_reals(2);
    if (!v || v->size() != 1)
      return n.fail("the padding value is computed at run time", "make it constant");
    value = (*v)[0];
  }
  if (n.has(3)) {
    auto axes = n.const_ints(3);
    if (!axes || pads->size() != 2 * axes->size())
      return n.fail("'axes' and 'pads' do not fit each other");
    std::vector<std::int64_t> full(static_cast<std::size_t>(2 * n.rank(0)), 0);
    for (std::size_t i = 0; i < axes->size(); ++i) {
      auto k = axis_in((*axes)[i], n.rank(0));
      if (!k) return n.fail(fmt::format("axis {} is outside rank {}", (*axes)[i], n.rank(0)));
      full[static_cast<std::size_t>(*k)] = (*pads)[i];
      full[static_cast<std::size_t>(*k + n.rank(0))] = (*pads)[i + axes->size()];
    }
    *pads = full;
  }
  return one(n.op("pad", {n.in(0)},
                  {{"pads", *pads}, {"value", value}, {"mode", n.text("mode", "constant")}}));
}

// Inference: the input itself, and a mask that keeps everything (dead code unless it is used).
Outputs dropout(NodeImport& n) {
  if (n.has(2)) {
    const auto training = n.const_ints(2);
    const auto ratio = n.has(1) ? n.const_reals(1) : std::vector<double>{0.5};
    const auto zero = [](const auto& v) { return v && v->size() == 1 && (*v)[0] == 0; };
    if (!zero(training) && !zero(ratio))
      return n.fail("training mode is not supported", "export the model for inference");
  }
  auto x = n.op("identity", {n.in(0)});
  if (!x || n.n_outputs() < 2) return one(x);
  const DType mask = n.opset < 10 ? n.in(0).type().dtype : DType::boolean;
  auto keep = n.op("full", {}, {{"shape", n.shape(0)}, {"value", 1.0}, {"dtype", mask}});
  if (!keep) return keep.errors();
  return std::vector<Value>{*x, *keep};
}

constexpr std::size_t any = SIZE_MAX;
constexpr std::array table{
    OpRow{"Reshape", 1, 2, reshape},
    OpRow{"Flatten", 1, 1, flatten},
    OpRow{"Squeeze", 1, 2, squeeze},
    OpRow{"Unsqueeze", 1, 2, unsqueeze},
    OpRow{"Transpose", 1, 1, transpose},
    OpRow{"Concat", 1, any, concat},
    OpRow{"Slice", 1, 5, slice},
    OpRow{"Split", 1, 2, split},
    OpRow{"Gather", 2, 2, gather},
    OpRow{"Shape", 1, 1, shape},
    OpRow{"Size", 1, 1, size},
    OpRow{"Constant", 0, 0, constant},
    OpRow{"ConstantOfShape", 1, 1, constant_of_shape},
    OpRow{"Expand", 2, 2, expand},
    OpRow{"Pad", 1, 4, pad},
    OpRow{"Dropout", 1, 3, dropout},
};

}  // namespace

std::span<const OpRow> shape_rows() { return table; }

}  // namespace tenon::onnx_import
