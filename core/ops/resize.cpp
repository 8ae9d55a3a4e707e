#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include "core/ops/support/common.h"

namespace tenon::ops {

namespace {

constexpr std::array modes{"nearest", "linear", "cubic"};
constexpr std::array coordinate_rules{
    "half_pixel",           "asymmetric",           "align_corners",     "pytorch_half_pixel",
    "half_pixel_symmetric", "tf_half_pixel_for_nn", "tf_crop_and_resize"};
constexpr std::array roundings{"prefer_floor", "prefer_ceil", "floor", "ceil"};

const std::string& string_of(const OpContext& c, std::string_view key) {
  return *c.attrs->get<std::string>(key);
}

/// One axis that is resampled.
struct Resampled {
  std::int64_t from, to;
  float scale;       ///< elements of the result per element of x
  float start, end;  ///< of the part of the axis that is cropped, in [0, 1]
};

Resampled resampled(const OpContext& c, std::size_t k, std::int64_t from) {
  const auto& scales = *c.attrs->get<std::vector<double>>("scales");
  const auto& roi = *c.attrs->get<std::vector<double>>("roi");
  const std::int64_t to = c.ints("shape")[k];
  Resampled r{from, to, static_cast<float>(to) / static_cast<float>(from), 0, 1};
  if (!scales.empty()) r.scale = static_cast<float>(scales[k]);
  if (!roi.empty()) {
    r.start = static_cast<float>(roi[k]);
    r.end = static_cast<float>(roi[roi.size() / 2 + k]);
  }
  return r;
}

bool crops(const OpContext& c) { return string_of(c, "coordinates") == "tf_crop_and_resize"; }

bool unchanged(const OpContext& c, const Resampled& r) {
  const bool whole = !crops(c) || (r.start == 0 && r.end == 1);
  return r.to == 0 || (r.from == r.to && r.scale == 1 && whole);
}

/// Where element `i` of the result falls on the axis. V is f32, on the host or as an expression;
/// the operations and their order are those of ONNX Runtime, so that ties fall as there.
template <class V, class Imm>
V coordinate(std::string_view rule, const Resampled& r, V i, Imm k) {
  const float from = static_cast<float>(r.from), to = static_cast<float>(r.to);
  if (rule == "asymmetric") return i / k(r.scale);
  if (rule == "tf_half_pixel_for_nn") return (i + k(0.5f)) / k(r.scale);
  if (rule == "align_corners") return r.to == 1 ? k(0) : i * k(from - 1) / k(to - 1);
  if (rule == "pytorch_half_pixel" && r.to == 1) return k(0);
  if (rule == "tf_crop_and_resize") {
    if (r.to == 1) return k(0.5f * (r.start + r.end) * (from - 1));
    return k(r.start * (from - 1)) + i * k((r.end - r.start) * (from - 1)) / k(to - 1);
  }
  V x = (i + k(0.5f)) / k(r.scale) - k(0.5f);
  if (rule != "half_pixel_symmetric") return x;
  return k(from / 2 * (1 - to / (r.scale * from))) + x;
}

E coordinate_at(const OpContext& c, const Resampled& r, E i) {
  te::Builder& b = *i.b;
  return coordinate(string_of(c, "coordinates"), r, b.cast(i, DType::f32),
                    [&](float v) { return b.imm(DType::f32, static_cast<double>(v)); });
}

// ---- nearest

/// floor((a * i + b) / d)
struct Ratio {
  std::int64_t a, b, d;
  std::int64_t at(std::int64_t i) const {
    const std::int64_t n = a * i + b;
    return n / d - (n % d < 0);
  }
};

float rounded(std::string_view how, float x) {
  if (how == "floor") return std::floor(x);
  if (how == "ceil") return std::ceil(x);
  return how == "prefer_ceil" ? std::floor(x + 0.5f) : std::ceil(x - 0.5f);
}

/// The rule in exact arithmetic for a scale of to / from.
Ratio exact(std::string_view rule, std::string_view how, const Resampled& r) {
  Ratio q{r.from, 0, r.to};
  if (rule == "align_corners") q = {r.from - 1, 0, std::max<std::int64_t>(r.to - 1, 1)};
  if (rule == "tf_half_pixel_for_nn") q = {2 * r.from, r.from, 2 * r.to};
  if (rule == "half_pixel" || rule == "pytorch_half_pixel" || rule == "half_pixel_symmetric")
    q = {2 * r.from, r.from - r.to, 2 * r.to};
  if (how == "ceil") q.b += q.d - 1;
  if (how == "prefer_floor") q = {2 * q.a, 2 * q.b + q.d - 1, 2 * q.d};
  if (how == "prefer_ceil") q = {2 * q.a, 2 * q.b + q.d, 2 * q.d};
  const std::int64_t g = std::gcd(q.a, q.d);
  return {q.a / g, Ratio{0, q.b, g}.at(0), q.d / g};
}

/// The element that is nearest to where `i` falls. In integers where they say the same for every i
/// as the rule in f32: back ends see through those.
E nearest(const OpContext& c, const Resampled& r, E i) {
  te::Builder& b = *i.b;
  const std::string &rule = string_of(c, "coordinates"), &how = string_of(c, "rounding");
  constexpr std::int64_t most = 1 << 16;
  const auto clamped = [&](E k) { return te::min(te::max(k, b.i64(0)), b.i64(r.from - 1)); };
  if (!crops(c) && r.from <= most && r.to <= most) {
    const Ratio q = exact(rule, how, r);
    bool same = true, inside = true;
    for (std::int64_t n = 0; same && n < r.to; ++n) {
      const float x = coordinate(rule, r, static_cast<float>(n), [](float v) { return v; });
      same = rounded(how, x) == static_cast<float>(q.at(n));
      inside = inside && q.at(n) >= 0 && q.at(n) < r.from;
    }
    E k = (i * q.a + q.b) / q.d;
    if (same) return inside ? k : clamped(k);
  }
  E x = coordinate_at(c, r, i);
  E half = b.imm(DType::f32, 0.5);
  if (how == "prefer_floor") x = x - half;
  if (how == "prefer_ceil") x = x + half;
  const bool down = how == "floor" || how == "prefer_ceil";
  return clamped(b.cast(te::unary(down ? ScalarOp::floor : ScalarOp::ceil, x), DType::i64));
}

// ---- linear and cubic: a weighted sum of neighbours, axis by axis

struct Tap {
  E index, weight;
};

std::vector<Tap> linear_taps(te::Builder& b, const Resampled& r, E x) {
  E last = b.imm(DType::f32, static_cast<double>(r.from - 1));
  E at = te::min(te::max(x, b.imm(DType::f32, 0)), last);
  E low = te::unary(ScalarOp::floor, at), weight = at - low;
  E k = b.cast(low, DType::i64);
  return {{k, b.imm(DType::f32, 1) - weight}, {te::min(k + 1, b.i64(r.from - 1)), weight}};
}

std::vector<Tap> cubic_taps(const OpContext& c, te::Builder& b, const Resampled& r, E x) {
  const auto k = [&](double v) { return b.imm(DType::f32, v); };
  const double a = c.real("cubic_a");
  E low = te::unary(ScalarOp::floor, x), t = x - low;
  const auto near = [&](E d) { return (k(a + 2) * d - k(a + 3)) * d * d + k(1); };
  const auto far = [&](E d) { return ((k(a) * d - k(5 * a)) * d + k(8 * a)) * d - k(4 * a); };
  std::vector<Tap> taps;
  const E distance[] = {t + k(1), t, k(1) - t, k(2) - t};
  for (int n = 0; n < 4; ++n) {
    E at = b.cast(low, DType::i64) + (n - 1);
    E weight = n == 1 || n == 2 ? near(distance[n]) : far(distance[n]);
    if (*c.attrs->get<bool>("exclude_outside"))
      weight = te::select(at >= 0 && at < r.from, weight, k(0));
    taps.push_back({te::min(te::max(at, b.i64(0)), b.i64(r.from - 1)), weight});
  }
  if (*c.attrs->get<bool>("exclude_outside")) {
    E sum = taps[0].weight + taps[1].weight + taps[2].weight + taps[3].weight;
    for (Tap& tap : taps) tap.weight = tap.weight / sum;
  }
  return taps;
}

E interpolated(const OpContext& c, T x, std::size_t k, const Resampled& r, std::span<const E> i) {
  te::Builder& b = *x.b;
  E at = coordinate_at(c, r, i[k]);
  std::optional<E> sum;
  for (const Tap& tap :
       string_of(c, "mode") == "linear" ? linear_taps(b, r, at) : cubic_taps(c, b, r, at)) {
    std::vector<E> index(i.begin(), i.end());
    index[k] = tap.index;
    E part = x(index) * b.cast(tap.weight, x.dtype());
    sum = sum ? *sum + part : part;
  }
  return *sum;
}

/// Outside of x, where a crop reaches beyond it, the result is a value of its own.
E extrapolated(const OpContext& c, const Resampled& r, E i, E value) {
  if (!crops(c)) return value;
  te::Builder& b = *i.b;
  E at = coordinate_at(c, r, i);
  E outside = at < b.imm(DType::f32, 0) || at > b.imm(DType::f32, static_cast<double>(r.from - 1));
  return te::select(outside, b.imm(value.dtype(), c.real("extrapolation")), value);
}

Status one_of(const OpContext& c, std::string_view key, std::span<const char* const> words) {
  const std::string& is = string_of(c, key);
  if (std::ranges::find(words, is) != words.end()) return {};
  return c.error(fmt::format("{} '{}'", key, is), fmt::format("use {}", fmt::join(words, ", ")));
}

Result<Types> resize_type(const OpContext& c) {
  if (Status s = need_static(c); !s) return s.errors();
  const TensorType& x = c.operands[0];
  const auto& shape = c.ints("shape");
  const auto& scales = *c.attrs->get<std::vector<double>>("scales");
  const auto& roi = *c.attrs->get<std::vector<double>>("roi");
  if (Status s = need_length(c, "shape", shape.size(), x.rank(), "axes"); !s) return s.errors();
  if (!scales.empty())
    if (Status s = need_length(c, "scales", scales.size(), x.rank(), "axes"); !s) return s.errors();
  if (!roi.empty())
    if (Status s = need_length(c, "roi", roi.size(), 2 * x.rank(), "ends"); !s) return s.errors();
  if (Status s = one_of(c, "mode", modes); !s) return s.errors();
  if (Status s = one_of(c, "coordinates", coordinate_rules); !s) return s.errors();
  if (Status s = one_of(c, "rounding", roundings); !s) return s.errors();
  if (string_of(c, "mode") != "nearest")
    if (Status s = accept(c, float_type); !s) return s.errors();
  for (double s : scales)
    if (!(s > 0) || std::isinf(s)) return c.error(fmt::format("scale {}", s));
  for (std::size_t k = 0; k < shape.size(); ++k)
    if (shape[k] < 0 || (shape[k] > 0 && x.dims[k].value() == 0))
      return c.error(fmt::format("axis {} from extent {} to {}", k, x.dims[k].value(), shape[k]));
  return Types{TensorType(x.dtype, shape)};
}

/// Linear and cubic: one axis after the other, in stages; nearest: one stage.
Status resize_compute(const OpContext& c, te::Builder& b) {
  T x = b.input(0);
  const Shape to = c.ints("shape"), from = x.shape();
  if (string_of(c, "mode") == "nearest") {
    b.output(b.stage("out", to, [&](auto i) {
      std::vector<E> index(i.begin(), i.end());
      std::vector<std::size_t> moved;
      for (std::size_t k = 0; k < to.size(); ++k) {
        const Resampled r = resampled(c, k, from[k]);
        if (unchanged(c, r)) continue;
        index[k] = nearest(c, r, i[k]);
        moved.push_back(k);
      }
      E value = x(index);
      for (std::size_t k : moved) value = extrapolated(c, resampled(c, k, from[k]), i[k], value);
      return value;
    }));
    return {};
  }
  Shape now = from;
  for (std::size_t k = 0; k < to.size(); ++k) {
    const Resampled r = resampled(c, k, from[k]);
    if (unchanged(c, r)) continue;
    now[k] = to[k];
    T before = x;
    x = b.stage("axis" + std::to_string(k), now,
                [&](auto i) { return extrapolated(c, r, i[k], interpolated(c, before, k, r, i)); });
  }
  if (x.tensor == 0) x = b.stage("out", to, [&](auto i) { return b.input(0)(i); });
  b.output(x);
  return {};
}

}  // namespace

OpDef resize() {
  OpDef d;
  d.name = "resize";
  d.doc =
      "Resampling to a shape, axis by axis: out[i] = x at coordinate(i): its nearest element, or a "
      "sum of the neighbours weighted linearly or by cubic convolution; with s = scales, by "
      "default "
      "to / from, coordinate(i) = (i + 1/2) / s - 1/2 (half_pixel; pytorch_half_pixel: 0 where "
      "to = 1; half_pixel_symmetric: from the middle), i / s (asymmetric), i * (from - 1) / (to - "
      "1) (align_corners), (i + 1/2) / s (tf_half_pixel_for_nn), or the same as align_corners over "
      "the part `roi` of x (tf_crop_and_resize).";
  d.attrs = {
      {"shape", AttrKind::ints, "extents of the result", {}},
      {"scales", AttrKind::reals,
       "elements of the result per element of x, by axis; none = from "
       "the extents",
       std::vector<double>{}},
      {"mode", AttrKind::string, "nearest, linear or cubic", std::string("nearest")},
      {"coordinates", AttrKind::string, "where element i falls, see above",
       std::string("half_pixel")},
      {"rounding", AttrKind::string, "of nearest: prefer_floor, prefer_ceil (halves), floor, ceil",
       std::string("prefer_floor")},
      {"cubic_a", AttrKind::real, "coefficient a of the cubic convolution", -0.75},
      {"exclude_outside", AttrKind::boolean,
       "cubic: neighbours outside of x weigh nothing; else the border is repeated", false},
      {"roi", AttrKind::reals, "tf_crop_and_resize: starts, then ends, in [0, 1]; none = all",
       std::vector<double>{}},
      {"extrapolation", AttrKind::real, "tf_crop_and_resize: the result outside of x", 0.0}};
  d.fusion = FusionKind::injective;
  d.infer = resize_type;
  d.compute = resize_compute;
  return d;
}

}  // namespace tenon::ops
