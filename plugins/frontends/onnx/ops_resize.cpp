// Resize and its predecessor Upsample: sizes or scales, and rules that changed with the opset.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "plugins/frontends/onnx/importer.h"

namespace tenon::onnx_import {
namespace {

using Ints = std::vector<std::int64_t>;
using Reals = std::vector<double>;

/// What the resize op needs; one entry per axis.
struct Sampling {
  Shape shape;
  Reals scales;  // empty: by the extents
};

/// The input's numbers; none when it is absent or has no elements.
Result<Reals> reals_or_none(NodeImport& n, std::size_t i, std::string_view what) {
  if (!n.has(i)) return Reals{};
  if (auto v = n.const_reals(i)) return *v;
  return n.fail(fmt::format("the {} are computed at run time", what),
                "fix the input shapes with --shape, or make them constant");
}

/// `values` for the axes named by the attribute `axes` (opset 18), `rest` for the others. With
/// `halves`, there are starts of all axes and then ends of all.
Result<Reals> spread(NodeImport& n, const Reals& values, double rest, bool halves = false) {
  const auto rank = static_cast<std::size_t>(n.rank(0));
  const std::size_t parts = halves ? 2 : 1;
  Ints axes;
  for (std::size_t k = 0; k < rank; ++k) axes.push_back(static_cast<std::int64_t>(k));
  if (auto named = n.ints("axes")) axes = *named;
  if (values.size() != parts * axes.size())
    return n.fail(fmt::format("{} values for {} axes", values.size(), axes.size()));
  Reals all(rank * parts, rest);
  if (halves) std::fill_n(all.begin(), rank, 0.0);
  for (std::size_t i = 0; i < axes.size(); ++i) {
    auto k = axis_in(axes[i], n.rank(0));
    if (!k) return n.fail(fmt::format("axis {} is outside rank {}", axes[i], n.rank(0)));
    for (std::size_t p = 0; p < parts; ++p)
      all[static_cast<std::size_t>(*k) + p * rank] = values[i + p * axes.size()];
  }
  return all;
}

Result<Sampling> by_scales(NodeImport& n, const Reals& given) {
  auto scales = spread(n, given, 1);
  if (!scales) return scales.errors();
  Sampling s{n.shape(0), *scales};
  for (std::size_t k = 0; k < s.shape.size(); ++k) {
    const float size = static_cast<float>(s.shape[k]) * static_cast<float>(s.scales[k]);
    if (!(s.scales[k] > 0) || !(size < 0x1p62f))
      return n.fail(fmt::format("scale {} of an axis of {} elements", s.scales[k], s.shape[k]));
    s.shape[k] = static_cast<std::int64_t>(size);
  }
  return s;
}

Result<Sampling> by_sizes(NodeImport& n, const Reals& given) {
  const Shape from = n.shape(0);
  auto sizes = spread(n, given, -1);
  if (!sizes) return sizes.errors();
  Sampling s{from, {}};
  const std::string policy = n.text("keep_aspect_ratio_policy", "stretch");
  if (policy != "stretch" && policy != "not_larger" && policy != "not_smaller")
    return n.fail(fmt::format("keep_aspect_ratio_policy '{}' is not known", policy));
  double common = policy == "not_larger" ? INFINITY : 0;
  for (std::size_t k = 0; k < from.size(); ++k) {
    if ((*sizes)[k] < 0) continue;
    s.shape[k] = static_cast<std::int64_t>((*sizes)[k]);
    if (policy == "stretch" || from[k] == 0) continue;
    const double scale = (*sizes)[k] / static_cast<double>(from[k]);
    common = policy == "not_larger" ? std::min(common, scale) : std::max(common, scale);
  }
  if (policy == "stretch") return s;
  s.scales.assign(from.size(), 1);
  for (std::size_t k = 0; k < from.size(); ++k)
    if ((*sizes)[k] >= 0) {
      s.scales[k] = common;
      s.shape[k] =
          static_cast<std::int64_t>(std::floor(common * static_cast<double>(from[k]) + 0.5));
    }
  return s;
}

Attrs attributes(const Sampling& s, std::string mode, std::string coordinates,
                 std::string rounding) {
  return {{"shape", s.shape},
          {"scales", s.scales},
          {"mode", std::move(mode)},
          {"coordinates", std::move(coordinates)},
          {"rounding", std::move(rounding)}};
}

/// Before opset 11 element i falls at i / scale, and nearest rounds down where the axis grows and
/// up where it shrinks. An op has one rounding: axes that shrink get an op of their own.
Outputs old_resize(NodeImport& n, const Reals& scales) {
  auto all = by_scales(n, scales);
  if (!all) return all.errors();
  const std::string mode = n.text("mode", "nearest");
  if (mode != "nearest")
    return one(n.op("resize", {n.in(0)}, attributes(*all, mode, "asymmetric", "floor")));
  Sampling grow = *all;
  const Shape from = n.shape(0);
  bool shrinks = false, grows = false;
  for (std::size_t k = 0; k < from.size(); ++k) {
    (all->scales[k] < 1 ? shrinks : grows) |= all->scales[k] != 1;
    if (all->scales[k] >= 1) continue;
    grow.scales[k] = 1;
    grow.shape[k] = from[k];
  }
  if (!shrinks)
    return one(n.op("resize", {n.in(0)}, attributes(*all, mode, "asymmetric", "floor")));
  auto x = grows ? n.op("resize", {n.in(0)}, attributes(grow, mode, "asymmetric", "floor"))
                 : Result<Value>(n.in(0));
  if (!x) return x.errors();
  Sampling shrink = *all;
  for (std::size_t k = 0; k < from.size(); ++k)
    if (all->scales[k] >= 1) shrink.scales[k] = 1;
  return one(n.op("resize", {*x}, attributes(shrink, mode, "asymmetric", "ceil")));
}

Outputs upsample(NodeImport& n) {
  if (const auto* a = n.attr("scales"))
    return old_resize(n, Reals(a->floats().begin(), a->floats().end()));
  auto scales = reals_or_none(n, 1, "scales");
  if (!scales) return scales.errors();
  return old_resize(n, *scales);
}

Outputs resize(NodeImport& n) {
  if (n.opset < 11) return upsample(n);
  if (n.integer("antialias", 0) != 0)
    return n.fail("antialias is not supported", "export it without");
  auto scales = reals_or_none(n, 2, "scales"), sizes = reals_or_none(n, 3, "sizes");
  if (!scales) return scales.errors();
  if (!sizes) return sizes.errors();
  if (scales->empty() == sizes->empty())
    return n.fail("needs either scales or sizes", "give one of them");
  auto s = sizes->empty() ? by_scales(n, *scales) : by_sizes(n, *sizes);
  if (!s) return s.errors();
  const std::string rounding = n.text("nearest_mode", "round_prefer_floor");
  Attrs a = attributes(*s, n.text("mode", "nearest"),
                       n.text("coordinate_transformation_mode", "half_pixel"),
                       rounding.starts_with("round_") ? rounding.substr(6) : rounding);
  a.set("cubic_a", n.real("cubic_coeff_a", -0.75));
  a.set("exclude_outside", n.integer("exclude_outside", 0) != 0);
  if (n.text("coordinate_transformation_mode", "") == "tf_crop_and_resize") {
    auto given = reals_or_none(n, 1, "regions of interest");
    if (!given) return given.errors();
    auto roi = spread(n, *given, 1, true);
    if (!roi) return roi.errors();
    a.set("roi", *roi);
    a.set("extrapolation", n.real("extrapolation_value", 0));
  }
  return one(n.op("resize", {n.in(0)}, a));
}

constexpr std::array table{
    OpRow{"Resize", 1, 4, resize},
    OpRow{"Upsample", 1, 2, upsample},
};

}  // namespace

std::span<const OpRow> resize_rows() { return table; }

}  // namespace tenon::onnx_import
