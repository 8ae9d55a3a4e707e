// Ops that rearrange, repeat, pick or mark elements.
#include <fmt/format.h>

#include <array>
#include <cmath>

#include "plugins/frontends/onnx/model_file.h"
#include "plugins/frontends/onnx/steps.h"

namespace tenon::onnx_import {
namespace {

using Ints = std::vector<std::int64_t>;

Outputs tile(NodeImport& n) {
  auto repeats = n.const_ints(1);
  if (!repeats) return n.fail("the repeats are computed at run time", "make them constant");
  const Shape from = n.shape(0);
  if (repeats->size() != from.size())
    return n.fail(fmt::format("{} repeats for {} axes", repeats->size(), from.size()));
  Shape apart, wide, to;  // every axis behind one that counts its repeats
  for (std::size_t k = 0; k < from.size(); ++k) {
    const std::int64_t r = (*repeats)[k];
    std::int64_t extent = 0;
    if (r < 0 || __builtin_mul_overflow(r, from[k], &extent))
      return n.fail(fmt::format("{} repeats of an axis of {} elements", r, from[k]));
    apart.insert(apart.end(), {1, from[k]});
    wide.insert(wide.end(), {r, from[k]});
    to.push_back(extent);
  }
  Steps step(n);
  const Term x = step("expand", {step.reshape(step.in(0), apart)}, {{"shape", wide}});
  return step.done({step.reshape(x, to)});
}

// [n, b, b, c, h, w] (DCR) or [n, c, b, b, h, w] (CRD) -> [n, c, h, b, w, b]
Outputs depth_to_space(NodeImport& n) {
  const std::int64_t b = n.integer("blocksize", 0);
  const std::string mode = n.text("mode", "DCR");
  const Shape s = n.shape(0);
  if (s.size() != 4 || b < 1 || s[1] % (b * b) != 0 || (mode != "DCR" && mode != "CRD"))
    return n.fail(fmt::format("blocks of {} ({}) in {}", b, mode, to_string(n.in(0).type())));
  const std::int64_t c = s[1] / (b * b);
  const bool channels_last = mode == "DCR";
  Steps step(n);
  const Term apart = step.reshape(step.in(0), channels_last ? Shape{s[0], b, b, c, s[2], s[3]}
                                                            : Shape{s[0], c, b, b, s[2], s[3]});
  const Term moved =
      step.transpose(apart, channels_last ? Ints{0, 3, 4, 1, 5, 2} : Ints{0, 1, 4, 2, 5, 3});
  return step.done({step.reshape(moved, {s[0], c, s[2] * b, s[3] * b})});
}

Outputs space_to_depth(NodeImport& n) {
  const std::int64_t b = n.integer("blocksize", 0);
  const Shape s = n.shape(0);
  if (s.size() != 4 || b < 1 || s[2] % b != 0 || s[3] % b != 0)
    return n.fail(fmt::format("blocks of {} in {}", b, to_string(n.in(0).type())));
  Steps step(n);
  const Term apart = step.reshape(step.in(0), {s[0], s[1], s[2] / b, b, s[3] / b, b});
  return step.done({step.reshape(step.transpose(apart, {0, 3, 5, 1, 2, 4}),
                                 {s[0], s[1] * b * b, s[2] / b, s[3] / b})});
}

Outputs one_hot(NodeImport& n) {
  auto given = n.const_ints(1);
  if (!given || given->size() != 1 || (*given)[0] < 0)
    return n.fail("the depth is computed at run time", "make it constant");
  const std::int64_t depth = (*given)[0];
  auto axis = axis_in(n.integer("axis", -1), n.rank(0) + 1);
  if (!axis || n.rank(2) != 1 || n.shape(2)[0] != 2)
    return n.fail(fmt::format("axis {} or values {} do not fit", n.integer("axis", -1),
                              to_string(n.in(2).type())));
  Shape with = n.shape(0), along(with.size() + 1, 1);
  with.insert(with.begin() + static_cast<std::ptrdiff_t>(*axis), 1);
  along[static_cast<std::size_t>(*axis)] = depth;
  Steps step(n);
  const Term index = step.cast(step.in(0), DType::i64);
  const Term positive =
      step.reshape(where(index < 0, index + static_cast<double>(depth), index), with);
  const Term places = step.reshape(step("range", {}, {{"count", depth}}), along);
  const auto value = [&](std::int64_t k) {
    return step.reshape(step.slice(step.in(2), 0, k, 1), {});
  };
  return step.done({where(equal(places, positive), value(1), value(0))});
}

/// A constant matrix of booleans.
Term matrix(NodeImport& n, Steps& step, std::int64_t rows, std::int64_t columns,
            bool (*at)(std::int64_t row, std::int64_t column, std::int64_t k), std::int64_t k) {
  std::vector<std::byte> bytes;
  bytes.reserve(static_cast<std::size_t>(rows * columns));
  for (std::int64_t r = 0; r < rows; ++r)
    for (std::int64_t c = 0; c < columns; ++c) bytes.push_back(std::byte{at(r, c, k)});
  return step.of(n.b.constant(
      make_constant(TensorType(DType::boolean, Shape{rows, columns}), std::move(bytes)), n.loc));
}

constexpr std::int64_t most_marks = 1 << 26;  // elements of a matrix of booleans

Outputs triangle(NodeImport& n) {
  std::int64_t k = 0;
  if (n.has(1)) {
    auto given = n.const_ints(1);
    if (!given || given->size() != 1)
      return n.fail("the diagonal is computed at run time", "make it constant");
    k = (*given)[0];
  }
  const Shape s = n.shape(0);
  if (s.size() < 2) return n.fail(fmt::format("input of rank {}", s.size()));
  const std::int64_t rows = s[s.size() - 2], columns = s.back();
  if (columns > 0 && rows > most_marks / columns)
    return n.fail(fmt::format("a matrix of {} by {} is too large", rows, columns));
  using At = bool (*)(std::int64_t, std::int64_t, std::int64_t);
  const At upper = [](std::int64_t r, std::int64_t c, std::int64_t d) { return c - r >= d; };
  const At lower = [](std::int64_t r, std::int64_t c, std::int64_t d) { return c - r <= d; };
  Steps step(n);
  const Term keep = matrix(n, step, rows, columns, n.integer("upper", 1) ? upper : lower, k);
  return step.done({where(keep, step.in(0), 0.0)});
}

Outputs eye_like(NodeImport& n) {
  const Shape s = n.shape(0);
  DType type = n.in(0).type().dtype;
  if (n.attr("dtype")) {
    auto given = dtype_of_onnx(static_cast<int>(n.integer("dtype", 0)));
    if (!given) return n.fail(fmt::format("element type {}", n.integer("dtype", 0)));
    type = *given;
  }
  if (s.size() != 2 || (s[1] > 0 && s[0] > most_marks / s[1]))
    return n.fail(fmt::format("input of {}", to_string(n.in(0).type())));
  Steps step(n);
  const auto diagonal = [](std::int64_t r, std::int64_t c, std::int64_t d) { return c - r == d; };
  return step.done({step.cast(matrix(n, step, s[0], s[1], diagonal, n.integer("k", 0)), type)});
}

Outputs range(NodeImport& n) {
  std::array<double, 3> v{};
  for (std::size_t i = 0; i < 3; ++i) {
    auto given = n.const_reals(i);
    if (!given || given->size() != 1)
      return n.fail("start, limit or delta are computed at run time",
                    "fix the input shapes with --shape, or make them constant");
    v[i] = (*given)[0];
  }
  const double count = std::ceil((v[1] - v[0]) / v[2]);
  if (v[2] == 0 || !(count < 0x1p62)) return n.fail(fmt::format("delta {}", v[2]));
  return one(n.op("range", {},
                  {{"start", v[0]},
                   {"step", v[2]},
                   {"count", count > 0 ? static_cast<std::int64_t>(count) : 0},
                   {"dtype", n.in(0).type().dtype}}));
}

Outputs gather_elements(NodeImport& n) {
  auto axis = axis_in(n.integer("axis", 0), n.rank(0));
  if (!axis)
    return n.fail(fmt::format("axis {} is outside rank {}", n.integer("axis", 0), n.rank(0)));
  return one(n.op("gather_elements", {n.in(0), n.in(1)}, {{"axis", *axis}}));
}

Outputs gather_nd(NodeImport& n) {
  return one(n.op("gather_nd", {n.in(0), n.in(1)}, {{"batch_dims", n.integer("batch_dims", 0)}}));
}

constexpr std::array table{
    OpRow{"Tile", 2, 2, tile},
    OpRow{"DepthToSpace", 1, 1, depth_to_space},
    OpRow{"SpaceToDepth", 1, 1, space_to_depth},
    OpRow{"OneHot", 3, 3, one_hot},
    OpRow{"Trilu", 1, 2, triangle},
    OpRow{"EyeLike", 1, 1, eye_like},
    OpRow{"Range", 3, 3, range},
    OpRow{"GatherElements", 2, 2, gather_elements},
    OpRow{"GatherND", 2, 2, gather_nd},
};

}  // namespace

std::span<const OpRow> index_rows() { return table; }

}  // namespace tenon::onnx_import
