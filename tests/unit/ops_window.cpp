// Convolutions and pools against loops over all coordinates, on awkward shapes.
#include <doctest/doctest.h>

#include <cmath>
#include <limits>

#include "tests/support/tensors.h"

using namespace tenon;
using test::apply;
using test::small_integers;

namespace {

using Ints = std::vector<std::int64_t>;

struct Case {
  std::int64_t n, c, h, w, o, kh, kw, groups;
  Ints strides, pads, dilations;
};

/// x[n, c, h, w], or `outside` when that is not there.
float at(const Tensor& x, std::int64_t n, std::int64_t c, std::int64_t h, std::int64_t w,
         float outside) {
  const Shape s = x.type.shape();
  if (h < 0 || h >= s[2] || w < 0 || w >= s[3]) return outside;
  return x.as<float>()[static_cast<std::size_t>(((n * s[1] + c) * s[2] + h) * s[3] + w)];
}

Tensor f32(const Shape& s, std::mt19937& rng) {
  return small_integers(TensorType(DType::f32, s), rng);
}

void check_conv(const Case& k, bool with_bias) {
  std::mt19937 rng(11);
  const Tensor x = f32({k.n, k.c, k.h, k.w}, rng), w = f32({k.o, k.c / k.groups, k.kh, k.kw}, rng),
               bias = f32({k.o}, rng);
  std::vector<Tensor> in{x, w};
  if (with_bias) in.push_back(bias);
  const Tensor out = apply("conv2d", in,
                           {{"strides", k.strides},
                            {"pads", k.pads},
                            {"dilations", k.dilations},
                            {"groups", k.groups}})[0];
  const Shape s = out.type.shape();
  const std::int64_t oh =
      (k.h + k.pads[0] + k.pads[2] - (k.dilations[0] * (k.kh - 1) + 1)) / k.strides[0] + 1;
  const std::int64_t ow =
      (k.w + k.pads[1] + k.pads[3] - (k.dilations[1] * (k.kw - 1) + 1)) / k.strides[1] + 1;
  REQUIRE(s == Shape{k.n, k.o, oh, ow});
  const std::int64_t cg = k.c / k.groups, og = k.o / k.groups;
  std::size_t e = 0;
  for (std::int64_t n = 0; n < k.n; ++n)
    for (std::int64_t o = 0; o < k.o; ++o)
      for (std::int64_t y = 0; y < oh; ++y)
        for (std::int64_t z = 0; z < ow; ++z) {
          float sum = with_bias ? bias.as<float>()[static_cast<std::size_t>(o)] : 0;
          for (std::int64_t c = 0; c < cg; ++c)
            for (std::int64_t i = 0; i < k.kh; ++i)
              for (std::int64_t j = 0; j < k.kw; ++j)
                sum +=
                    at(x, n, o / og * cg + c, y * k.strides[0] + i * k.dilations[0] - k.pads[0],
                       z * k.strides[1] + j * k.dilations[1] - k.pads[1], 0) *
                    w.as<float>()[static_cast<std::size_t>(((o * cg + c) * k.kh + i) * k.kw + j)];
          REQUIRE(out.as<float>()[e++] == sum);
        }
}

}  // namespace

TEST_CASE("conv2d: shapes, strides, pads, dilations, groups") {
  const Case cases[] = {
      {1, 1, 1, 1, 1, 1, 1, 1, {1, 1}, {0, 0, 0, 0}, {1, 1}},
      {2, 3, 7, 5, 4, 3, 3, 1, {1, 1}, {1, 1, 1, 1}, {1, 1}},
      {1, 3, 11, 13, 5, 3, 5, 1, {2, 3}, {0, 2, 1, 3}, {1, 1}},
      {1, 2, 9, 8, 3, 3, 2, 1, {1, 2}, {2, 0, 0, 1}, {2, 3}},
      {1, 6, 5, 5, 6, 3, 3, 6, {1, 1}, {1, 1, 1, 1}, {1, 1}},  // depthwise
      {1, 3, 5, 4, 6, 2, 2, 3, {2, 1}, {0, 1, 1, 0}, {1, 1}},  // depthwise, two results per channel
      {2, 6, 4, 4, 9, 1, 1, 3, {1, 1}, {0, 0, 0, 0}, {1, 1}},  // grouped
      {1, 4, 3, 3, 4, 3, 3, 2, {1, 1}, {1, 0, 1, 0}, {1, 1}},
      {0, 3, 4, 4, 2, 3, 3, 1, {1, 1}, {0, 0, 0, 0}, {1, 1}},    // no images
      {1, 0, 4, 4, 2, 3, 3, 1, {1, 1}, {0, 0, 0, 0}, {1, 1}},    // no channels: all zero
      {1, 5, 40, 41, 7, 3, 3, 1, {1, 1}, {1, 1, 1, 1}, {1, 1}},  // several blocks
  };
  for (const Case& k : cases) {
    CAPTURE(k.h);
    CAPTURE(k.groups);
    check_conv(k, false);
    check_conv(k, true);
  }
}

TEST_CASE("packed_conv2d is conv2d between pack and unpack") {
  struct Packed {
    std::int64_t block, c, o, groups;  // groups = c: depthwise
    Ints strides, pads, dilations;
    bool plain = false;  // data as they are
  };
  const Packed cases[] = {
      {2, 4, 6, 1, {1, 1}, {0, 0, 0, 0}, {1, 1}}, {4, 8, 4, 1, {2, 1}, {1, 1, 1, 1}, {1, 1}},
      {4, 7, 5, 1, {1, 1}, {1, 0, 2, 1}, {1, 2}},  // filled blocks
      {2, 4, 8, 2, {1, 2}, {0, 1, 0, 1}, {1, 1}}, {4, 3, 8, 1, {2, 2}, {1, 1, 1, 1}, {1, 1}, true},
      {4, 8, 8, 8, {1, 1}, {1, 1, 1, 1}, {1, 1}}, {4, 6, 6, 6, {2, 2}, {1, 1, 0, 0}, {2, 1}},
  };
  std::mt19937 rng(17);
  const auto packed = [](const Tensor& t, std::int64_t axis, std::int64_t block) {
    return apply("pack", {t}, {{"axis", axis}, {"block", block}})[0];
  };
  for (const Packed& k : cases) {
    CAPTURE(k.c);
    CAPTURE(k.groups);
    const bool depthwise = k.groups == k.c;
    const Tensor x = f32({2, k.c, 6, 7}, rng), bias = f32({k.o}, rng);
    Tensor w = f32({k.o, k.c / k.groups, 3, 2}, rng);
    Attrs attrs{{"strides", k.strides}, {"pads", k.pads}, {"dilations", k.dilations}};
    Attrs plain_attrs = attrs;
    plain_attrs.set("groups", k.groups);
    attrs.set("groups", depthwise ? 1 : k.groups);
    const Tensor expected = apply("conv2d", {x, w, bias}, plain_attrs)[0];
    if (depthwise) w.type = TensorType(DType::f32, Shape{k.c, 3, 2});
    if (!depthwise && !k.plain) w = packed(w, 1, k.block);
    const Tensor y = apply(
        "packed_conv2d",
        {k.plain ? x : packed(x, 1, k.block), packed(w, 0, k.block), packed(bias, 0, k.block)},
        attrs)[0];
    CHECK(apply("unpack", {y}, {{"axis", std::int64_t{1}}, {"size", k.o}})[0].bytes ==
          expected.bytes);
  }
  const auto refused = [](Shape x, Shape w, std::int64_t groups = 1) {
    auto r = test::types_of("packed_conv2d", {TensorType(DType::f32, x), TensorType(DType::f32, w)},
                            {{"groups", groups}});
    return r ? std::string() : r.errors()[0].what;
  };
  CHECK(refused({1, 2, 5, 5, 4}, {3, 2, 1, 1, 4, 4}) == "");
  CHECK(refused({1, 2, 5, 5, 4}, {3, 2, 1, 1, 4}).find("ranks 5 and 6") != std::string::npos);
  CHECK(refused({1, 2, 5, 5, 4}, {3, 2, 1, 1, 8, 8}).find("blocks of 4") != std::string::npos);
  CHECK(refused({1, 2, 5, 5, 4}, {3, 3, 1, 1, 4, 4}).find("does not fit") != std::string::npos);
  CHECK(refused({1, 2, 5, 5, 4}, {3, 1, 1, 1, 4, 4}, 2).find("2 groups") != std::string::npos);
  CHECK(refused({1, 2, 5, 5, 4}, {3, 1, 1, 4}).find("3 blocks") != std::string::npos);
  CHECK(refused({1, 2, 2, 5, 4}, {3, 2, 3, 1, 4, 4}).find("window of 3") != std::string::npos);
}

TEST_CASE("packed_integer_conv2d is conv2d of i32 between pack and unpack") {
  struct Packed {
    std::int64_t block, c, o, pad;
    Ints strides, pads, dilations;
  };
  const Packed cases[] = {{4, 4, 8, 0, {1, 1}, {0, 0, 0, 0}, {1, 1}},
                          {8, 16, 8, 3, {2, 1}, {1, 1, 1, 1}, {1, 1}},
                          {4, 7, 5, 200, {1, 1}, {1, 0, 2, 1}, {1, 2}}};
  std::mt19937 rng(19);
  const auto packed = [](const Tensor& t, std::int64_t axis, std::int64_t block) {
    return apply("pack", {t}, {{"axis", axis}, {"block", block}})[0];
  };
  const auto wide = [](const Tensor& t) { return apply("cast", {t}, {{"to", DType::i32}})[0]; };
  for (const Packed& k : cases) {
    CAPTURE(k.c);
    const Tensor x = small_integers(TensorType(DType::u8, Shape{2, k.c, 6, 7}), rng),
                 w = small_integers(TensorType(DType::i8, Shape{k.o, k.c, 3, 2}), rng);
    const Ints& p = k.pads;
    const Tensor padded = apply("pad", {x},
                                {{"pads", Ints{0, 0, p[0], p[1], 0, 0, p[2], p[3]}},
                                 {"value", static_cast<double>(k.pad)}})[0];
    Attrs attrs{{"strides", k.strides}, {"dilations", k.dilations}};
    const Tensor expected = apply("conv2d", {wide(padded), wide(w)}, attrs)[0];
    attrs.set("pads", k.pads);
    attrs.set("pad", k.pad);
    Tensor panels = packed(packed(w, 1, k.block), 0, k.block);
    Shape shape = panels.type.shape();
    shape[4] = k.block / 4;
    shape.insert(shape.begin() + 5, 4);
    panels = apply("reshape", {panels}, {{"shape", shape}})[0];
    panels = apply("transpose", {panels}, {{"perm", Ints{0, 1, 2, 3, 4, 6, 5}}})[0];
    const Tensor y = apply("packed_integer_conv2d", {packed(x, 1, k.block), panels}, attrs)[0];
    CHECK(apply("unpack", {y}, {{"axis", std::int64_t{1}}, {"size", k.o}})[0].bytes ==
          expected.bytes);
  }
  const auto refused = [](Shape x, Shape w, Attrs attrs = {}, DType t = DType::u8) {
    auto r = test::types_of("packed_integer_conv2d", {TensorType(t, x), TensorType(DType::i8, w)},
                            attrs);
    return r ? std::string() : r.errors()[0].what;
  };
  CHECK(refused({1, 2, 5, 5, 8}, {3, 2, 1, 1, 2, 16, 4}) == "");
  CHECK(refused({1, 2, 5, 5, 8}, {3, 2, 1, 1, 2, 16, 4}, {}, DType::i8).find("u8 and i8") !=
        std::string::npos);
  CHECK(refused({1, 2, 5, 5, 8}, {3, 2, 1, 1, 2, 16}).find("ranks 5 and 7") != std::string::npos);
  CHECK(refused({1, 2, 5, 5, 8}, {3, 2, 1, 1, 2, 16, 3}).find("groups of 4") != std::string::npos);
  CHECK(refused({1, 2, 5, 5, 8}, {3, 3, 1, 1, 2, 16, 4}).find("does not fit") != std::string::npos);
  CHECK(refused({1, 2, 5, 5, 8}, {3, 2, 1, 1, 1, 16, 4}).find("does not fit") != std::string::npos);
  CHECK(refused({1, 2, 2, 5, 8}, {3, 2, 3, 1, 2, 16, 4}).find("window of 3") != std::string::npos);
  CHECK(
      refused({1, 2, 5, 5, 8}, {3, 2, 1, 1, 2, 16, 4}, {{"pad", std::int64_t{256}}}).find("256") !=
      std::string::npos);
}

TEST_CASE("conv1d and conv3d are conv2d with an axis less or more") {
  std::mt19937 rng(5);
  Tensor x = f32({2, 3, 9}, rng), w = f32({4, 3, 3}, rng);
  const Tensor one = apply("conv1d", {x, w}, {{"strides", Ints{2}}, {"pads", Ints{1, 2}}})[0];
  x.type = TensorType(DType::f32, Shape{2, 3, 1, 9});
  w.type = TensorType(DType::f32, Shape{4, 3, 1, 3});
  const Tensor two =
      apply("conv2d", {x, w}, {{"strides", Ints{1, 2}}, {"pads", Ints{0, 1, 0, 2}}})[0];
  CHECK(one.bytes == two.bytes);
  x.type = TensorType(DType::f32, Shape{2, 3, 1, 1, 9});
  w.type = TensorType(DType::f32, Shape{4, 3, 1, 1, 3});
  const Tensor three =
      apply("conv3d", {x, w}, {{"strides", Ints{1, 1, 2}}, {"pads", Ints{0, 0, 1, 0, 0, 2}}})[0];
  CHECK(three.bytes == two.bytes);
}

TEST_CASE(
    "conv2d: a depthwise convolution has no channel to fold, an unpadded one no padding stage") {
  const TensorType x(DType::f32, Shape{1, 4, 8, 8}), w(DType::f32, Shape{4, 1, 3, 3});
  auto c = test::compute_for("conv2d", {x, w}, {{"groups", std::int64_t{4}}});
  REQUIRE(c);
  CHECK(c->stages.size() == 1);
  CHECK(c->stages[0].reduce.size() == 2);
  auto padded = test::compute_for("conv2d", {x, w},
                                  {{"groups", std::int64_t{4}}, {"pads", Ints{1, 1, 1, 1}}});
  REQUIRE(padded);
  CHECK(padded->stages.size() == 2);
  CHECK(te::inline_stages(*padded).stages.size() == 2);
}

TEST_CASE("conv2d: each thing that does not fit is named with its numbers") {
  const TensorType x(DType::f32, Shape{1, 4, 8, 8}), w(DType::f32, Shape{6, 4, 3, 3});
  auto message = [&](TensorType a, TensorType b, Attrs attrs = {}) {
    auto r = test::types_of("conv2d", {a, b}, attrs);
    REQUIRE_FALSE(r);
    CHECK(r.errors()[0].what.substr(0, 8) == "conv2d: ");
    return r.errors()[0].what;
  };
  auto has = [](const std::string& text, const char* part) {
    return text.find(part) != std::string::npos;
  };
  CHECK(has(message(x, TensorType(DType::f32, Shape{6, 3, 3, 3})), "4 channels"));
  CHECK(has(message(x, TensorType(DType::f64, Shape{6, 4, 3, 3})), "f64"));
  CHECK(has(message(x, TensorType(DType::f32, Shape{6, 4, 3})), "rank 4"));
  CHECK(has(message(x, TensorType(DType::f32, Shape{6, 4, 9, 3})), "window of 9"));
  CHECK(has(message(x, TensorType(DType::f32, Shape{6, 4, 0, 3})), "extent 0"));
  CHECK(has(message(x, w, {{"strides", Ints{0, 1}}}), "strides"));
  CHECK(has(message(x, w, {{"strides", Ints{1}}}), "1 entries for 2"));
  CHECK(has(message(x, w, {{"pads", Ints{1, 1}}}), "2 entries for 4"));
  CHECK(has(message(x, w, {{"pads", Ints{-1, 0, 0, 0}}}), "-1"));
  CHECK(has(message(x, w, {{"dilations", Ints{9, 1}}}), "dilation 9"));
  CHECK(has(message(x, w, {{"groups", std::int64_t{0}}}), "groups is 0"));
  CHECK(has(message(x, TensorType(DType::f32, Shape{5, 2, 3, 3}), {{"groups", std::int64_t{2}}}),
            "5 output channels"));
  CHECK(has(message(x, w, {{"pads", Ints{INT64_MAX, 0, INT64_MAX, 0}}}), "pads"));
  auto bias = test::types_of("conv2d", {x, w, TensorType(DType::f32, Shape{5})});
  REQUIRE_FALSE(bias);
  CHECK(has(bias.errors()[0].what, "bias"));
}

TEST_CASE("max_pool and avg_pool: windows that hang over the border") {
  struct PoolCase {
    Shape x;
    Ints kernel, strides, pads, dilations;
  };
  const PoolCase cases[] = {
      {{1, 1, 1, 1}, {1, 1}, {1, 1}, {0, 0, 0, 0}, {1, 1}},
      {{2, 3, 7, 6}, {2, 2}, {2, 2}, {0, 0, 0, 0}, {1, 1}},
      {{1, 2, 7, 9}, {3, 2}, {2, 1}, {1, 0, 1, 1}, {1, 1}},
      {{1, 2, 9, 9}, {3, 3}, {1, 2}, {2, 1, 0, 3}, {2, 3}},
      {{1, 1, 2, 2}, {3, 3}, {1, 1}, {2, 2, 2, 2}, {1, 1}},
      {{0, 2, 4, 4}, {2, 2}, {1, 1}, {0, 0, 0, 0}, {1, 1}},
  };
  std::mt19937 rng(2);
  for (const PoolCase& k : cases) {
    const Tensor x = f32(k.x, rng);
    const Attrs attrs{
        {"kernel", k.kernel}, {"strides", k.strides}, {"pads", k.pads}, {"dilations", k.dilations}};
    Attrs counting = attrs;
    counting.set("count_include_pad", true);
    const Tensor top = apply("max_pool", {x}, attrs)[0], mean = apply("avg_pool", {x}, attrs)[0],
                 full = apply("avg_pool", {x}, counting)[0];
    const Shape s = top.type.shape();
    std::size_t e = 0;
    for (std::int64_t n = 0; n < s[0]; ++n)
      for (std::int64_t c = 0; c < s[1]; ++c)
        for (std::int64_t y = 0; y < s[2]; ++y)
          for (std::int64_t z = 0; z < s[3]; ++z, ++e) {
            float best = -std::numeric_limits<float>::infinity(), sum = 0;
            int inside = 0;
            for (std::int64_t i = 0; i < k.kernel[0]; ++i)
              for (std::int64_t j = 0; j < k.kernel[1]; ++j) {
                const std::int64_t h = y * k.strides[0] + i * k.dilations[0] - k.pads[0],
                                   w = z * k.strides[1] + j * k.dilations[1] - k.pads[1];
                if (h < 0 || h >= k.x[2] || w < 0 || w >= k.x[3]) continue;
                const float v = at(x, n, c, h, w, 0);
                best = std::max(best, v);
                sum += v;
                ++inside;
              }
            REQUIRE(top.as<float>()[e] == best);
            REQUIRE(full.as<float>()[e] == sum / static_cast<float>(k.kernel[0] * k.kernel[1]));
            if (inside) REQUIRE(mean.as<float>()[e] == sum / static_cast<float>(inside));
          }
  }
  CHECK_FALSE(test::types_of("max_pool", {TensorType(DType::f32, Shape{1, 1, 4, 4})},
                             {{"kernel", Ints{5, 1}}}));
  CHECK_FALSE(test::types_of("max_pool", {TensorType(DType::f32, Shape{1, 1, 4})},
                             {{"kernel", Ints{2, 2}}}));
  CHECK_FALSE(test::types_of("avg_pool", {TensorType(DType::i32, Shape{1, 1, 4, 4})},
                             {{"kernel", Ints{2, 2}}}));
}
