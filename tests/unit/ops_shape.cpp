// Ops that move elements: each against its formula, coordinate by coordinate; their view facts
// against their values.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "tests/support/tensors.h"

using namespace tenon;
using test::apply;

namespace {

using Ints = std::vector<std::int64_t>;

/// 0, 1, 2, ...
Tensor iota(const Shape& s) {
  std::int64_t n = 1;
  for (std::int64_t d : s) n *= d;
  std::vector<std::int32_t> v(static_cast<std::size_t>(n));
  for (std::size_t k = 0; k < v.size(); ++k) v[k] = static_cast<std::int32_t>(k);
  return test::tensor<std::int32_t>(s, v);
}

std::int32_t element(const Tensor& t, const Ints& index) {
  std::int64_t n = 0;
  const Shape s = t.type.shape();
  for (std::size_t k = 0; k < s.size(); ++k) n = n * s[k] + index[k];
  return t.as<std::int32_t>()[static_cast<std::size_t>(n)];
}

/// Calls f for every index of a shape.
template <class F>
void for_each_index(const Shape& s, F f) {
  std::int64_t n = 1;
  for (std::int64_t d : s) n *= d;
  for (std::int64_t e = 0; e < n; ++e) {
    Ints index(s.size());
    std::int64_t rest = e;
    for (std::size_t k = s.size(); k-- > 0; rest /= s[k]) index[k] = rest % s[k];
    f(index);
  }
}

std::vector<std::int32_t> ints(const Tensor& t) {
  return {t.as<std::int32_t>().begin(), t.as<std::int32_t>().end()};
}

/// Where the op says that its result is a part of the operand's bytes, it must be.
bool view_holds(std::string_view op, const Tensor& x, const Attrs& attrs) {
  const auto ops = builtin_ops();
  const OpDef& def = (*ops)[ops->at(op)];
  const Attrs all = *complete_attrs(def, attrs, {});
  const std::vector<TensorType> types{x.type};
  auto fact = def.view(OpContext{nullptr, types, &all, {}, {}, def.name});
  if (!fact) return false;
  const Tensor out = apply(op, {x}, attrs)[0];
  REQUIRE(fact->offset + out.bytes.size() <= x.bytes.size());
  CHECK(std::memcmp(x.bytes.data() + fact->offset, out.bytes.data(), out.bytes.size()) == 0);
  return true;
}

std::string refused(std::string_view op, const std::vector<TensorType>& in, const Attrs& attrs) {
  auto r = test::types_of(op, in, attrs);
  REQUIRE_FALSE(r);
  return r.errors()[0].what;
}

TensorType i32(const Shape& s) { return TensorType(DType::i32, s); }

}  // namespace

TEST_CASE("reshape: keeps the row-major order over every regrouping") {
  const std::pair<Shape, Ints> cases[] = {
      {{2, 3, 4}, {24}},
      {{24}, {2, 3, 4}},
      {{2, 3, 4}, {2, 12}},
      {{2, 3, 4}, {6, 4}},
      {{6, 4}, {4, 6}},
      {{2, 3, 4}, {4, 3, 2}},
      {{1, 6, 1}, {2, 1, 3}},
      {{6}, {1, 1, 6, 1}},
      {{1}, {}},
      {{}, {1, 1}},
      {{0, 3}, {3, 0, 2}},
      {{2, 6, 5}, {2, -1}},
      {{4, 1, 9}, {1, 2, 2, 9}},
      {{7, 5}, {5, 7}},
      {{2, 2, 3, 5}, {4, 15}},
  };
  for (const auto& [from, to] : cases) {
    const Tensor x = iota(from), y = apply("reshape", {x}, {{"shape", to}})[0];
    CHECK(ints(y) == ints(x));
    CHECK(view_holds("reshape", x, {{"shape", to}}));
  }
  CHECK(refused("reshape", {i32({2, 3})}, {{"shape", Ints{7}}}).find("6 elements") !=
        std::string::npos);
  CHECK(refused("reshape", {i32({2, 3})}, {{"shape", Ints{-1, 4}}}).find("do not divide") !=
        std::string::npos);
  CHECK(refused("reshape", {i32({2, 3})}, {{"shape", Ints{-1, -1}}}).find("twice") !=
        std::string::npos);
  CHECK(refused("reshape", {i32({0})}, {{"shape", Ints{-1, 0}}}) != "");
  CHECK(refused("reshape", {i32({2})}, {{"shape", Ints{-2}}}) != "");
  CHECK(refused("reshape", {i32({2})}, {{"shape", Ints{INT64_MAX, INT64_MAX}}}) != "");
}

TEST_CASE("transpose") {
  const Tensor x = iota({2, 3, 4});
  Ints perm{0, 1, 2};
  do {
    const Tensor y = apply("transpose", {x}, {{"perm", perm}})[0];
    for_each_index(y.type.shape(), [&](const Ints& i) {
      Ints from(3);
      for (std::size_t k = 0; k < 3; ++k) from[static_cast<std::size_t>(perm[k])] = i[k];
      REQUIRE(element(y, i) == element(x, from));
    });
    CHECK(view_holds("transpose", x, {{"perm", perm}}) == (perm == Ints{0, 1, 2}));
  } while (std::next_permutation(perm.begin(), perm.end()));
  CHECK(view_holds("transpose", iota({1, 5, 1, 4}), {{"perm", Ints{2, 1, 0, 3}}}));
  CHECK_FALSE(view_holds("transpose", iota({1, 5, 1, 4}), {{"perm", Ints{3, 1, 0, 2}}}));
  CHECK(apply("transpose", {iota({})}, {{"perm", Ints{}}})[0].bytes.size() == 4);
  CHECK(refused("transpose", {i32({2, 3})}, {{"perm", Ints{0, 0}}}) != "");
  CHECK(refused("transpose", {i32({2, 3})}, {{"perm", Ints{0}}}) != "");
}

TEST_CASE("slice: starts, sizes, steps; a view only where the bytes lie side by side") {
  const Tensor x = iota({4, 5, 3});
  struct SliceCase {
    Ints starts, sizes, steps;
    bool view;
  };
  const SliceCase cases[] = {
      {{0, 0, 0}, {4, 5, 3}, {}, true},
      {{1, 0, 0}, {2, 5, 3}, {}, true},
      {{2, 1, 0}, {1, 3, 3}, {}, true},
      {{2, 3, 1}, {1, 1, 2}, {}, true},
      {{0, 1, 0}, {2, 3, 3}, {}, false},
      {{0, 0, 0}, {2, 5, 3}, {2, 1, 1}, false},
      {{3, 4, 2}, {4, 5, 3}, {-1, -1, -1}, false},
      {{3, 0, 0}, {1, 5, 3}, {-7, 1, 1}, true},
      {{0, 0, 1}, {4, 5, 1}, {}, false},
      {{4, 0, 0}, {0, 5, 3}, {}, false},
  };
  for (const SliceCase& k : cases) {
    const Attrs attrs{{"starts", k.starts}, {"sizes", k.sizes}, {"steps", k.steps}};
    const Tensor y = apply("slice", {x}, attrs)[0];
    REQUIRE(y.type.shape() == k.sizes);
    for_each_index(k.sizes, [&](const Ints& i) {
      Ints from(3);
      for (std::size_t a = 0; a < 3; ++a)
        from[a] = k.starts[a] + i[a] * (k.steps.empty() ? 1 : k.steps[a]);
      REQUIRE(element(y, i) == element(x, from));
    });
    CHECK(view_holds("slice", x, attrs) == k.view);
  }
  auto bad = [](Ints starts, Ints sizes, Ints steps) {
    return refused("slice", {i32({4})}, {{"starts", starts}, {"sizes", sizes}, {"steps", steps}});
  };
  CHECK(bad({1}, {4}, {1}).find("extent 4") != std::string::npos);
  CHECK(bad({-1}, {1}, {1}) != "");
  CHECK(bad({0}, {2}, {-1}) != "");
  CHECK(bad({0}, {3}, {INT64_MAX}) != "");
  CHECK(bad({0}, {-1}, {1}) != "");
  CHECK(bad({0, 0}, {1, 1}, {1, 1}) != "");
}

TEST_CASE("concat and split undo each other") {
  for (std::int64_t axis : {std::int64_t{0}, std::int64_t{1}, std::int64_t{-1}}) {
    const Tensor x = iota({6, 7, 5});
    const std::int64_t extent =
        x.type.shape()[static_cast<std::size_t>(axis < 0 ? axis + 3 : axis)];
    for (Ints sizes : {Ints{extent}, Ints{1, extent - 1}, Ints{2, 0, extent - 3, 1}}) {
      auto parts = apply("split", {x}, {{"axis", axis}, {"sizes", sizes}});
      CHECK(apply("concat", parts, {{"axis", axis}})[0].bytes == x.bytes);
    }
  }
  const Tensor two = apply("concat", {iota({2, 2}), iota({2, 1})}, {{"axis", std::int64_t{1}}})[0];
  CHECK(ints(two) == std::vector<std::int32_t>{0, 1, 0, 2, 3, 1});
  CHECK(refused("concat", {i32({2, 2}), i32({3, 2})}, {{"axis", std::int64_t{1}}})
            .find("differ on axis 0") != std::string::npos);
  CHECK(refused("concat", {i32({2}), i32({2, 2})}, {{"axis", std::int64_t{0}}}) != "");
  CHECK(refused("concat", {i32({2}), i32({2})}, {{"axis", std::int64_t{1}}}).find("axis 1") !=
        std::string::npos);
  CHECK(refused("concat", {i32({2}), TensorType(DType::f32, Shape{2})},
                {{"axis", std::int64_t{0}}}) != "");
  CHECK(refused("concat", {i32({INT64_MAX}), i32({1})}, {{"axis", std::int64_t{0}}}) != "");
  CHECK(refused("split", {i32({5})}, {{"axis", std::int64_t{0}}, {"sizes", Ints{2, 2}}})
            .find("add up to 4") != std::string::npos);
}

TEST_CASE("pad: constant, edge, reflect, and negative pads") {
  const Tensor x = iota({4});
  auto padded = [&](Ints pads, const char* mode) {
    return ints(
        apply("pad", {x}, {{"pads", pads}, {"value", 9.0}, {"mode", std::string(mode)}})[0]);
  };
  using V = std::vector<std::int32_t>;
  CHECK(padded({2, 1}, "constant") == V{9, 9, 0, 1, 2, 3, 9});
  CHECK(padded({2, 1}, "edge") == V{0, 0, 0, 1, 2, 3, 3});
  CHECK(padded({3, 2}, "reflect") == V{3, 2, 1, 0, 1, 2, 3, 2, 1});
  CHECK(padded({-1, -1}, "constant") == V{1, 2});
  CHECK(padded({-2, 2}, "constant") == V{2, 3, 9, 9});
  CHECK(padded({0, 0}, "constant") == V{0, 1, 2, 3});
  CHECK(padded({-2, -2}, "constant").empty());
  const Tensor grid =
      apply("pad", {iota({2, 2})}, {{"pads", Ints{1, 0, 0, 1}}, {"value", -1.0}})[0];
  CHECK(ints(grid) == V{-1, -1, -1, 0, 1, -1, 2, 3, -1});
  CHECK(refused("pad", {i32({4})}, {{"pads", Ints{-3, -2}}}) != "");
  CHECK(refused("pad", {i32({4})}, {{"pads", Ints{4, 0}}, {"mode", std::string("reflect")}}) != "");
  CHECK(refused("pad", {i32({0})}, {{"pads", Ints{1, 0}}, {"mode", std::string("edge")}}) != "");
  CHECK(refused("pad", {i32({4})}, {{"pads", Ints{1, 1}}, {"mode", std::string("wrap")}})
            .find("'wrap'") != std::string::npos);
}

TEST_CASE("gather: any axis, negative indices count from the end, others are clamped") {
  const Tensor x = iota({3, 4, 2});
  const Tensor at = test::tensor<std::int64_t>({2, 3}, {0, -1, 2, 7, -9, 1});
  for (std::int64_t axis = 0; axis < 3; ++axis) {
    const Tensor y = apply("gather", {x, at}, {{"axis", axis}})[0];
    const std::int64_t extent = x.type.shape()[static_cast<std::size_t>(axis)];
    for_each_index(y.type.shape(), [&](const Ints& i) {
      std::int64_t k = at.as<std::int64_t>()[static_cast<std::size_t>(
          i[static_cast<std::size_t>(axis)] * 3 + i[static_cast<std::size_t>(axis) + 1])];
      k = std::clamp<std::int64_t>(k < 0 ? k + extent : k, 0, extent - 1);
      Ints from(i.begin(), i.begin() + axis);
      from.push_back(k);
      from.insert(from.end(), i.begin() + axis + 2, i.end());
      REQUIRE(element(y, i) == element(x, from));
    });
  }
  CHECK(ints(apply("gather", {iota({5}), test::tensor<std::int32_t>({}, {3})})[0]) ==
        std::vector<std::int32_t>{3});
  CHECK(refused("gather", {i32({0}), i32({2})}, {}) != "");
  CHECK(refused("gather", {i32({4}), TensorType(DType::f32, Shape{2})}, {}) != "");
}

TEST_CASE("gather_elements: an index of its own for every element") {
  const Tensor x = iota({3, 4});
  const Tensor at = test::tensor<std::int64_t>({2, 3}, {0, -1, 2, 7, -9, 1});
  for (std::int64_t axis = 0; axis < 2; ++axis) {
    const Tensor y = apply("gather_elements", {x, at}, {{"axis", axis}})[0];
    const std::int64_t extent = x.type.shape()[static_cast<std::size_t>(axis)];
    for_each_index({2, 3}, [&](Ints i) {
      const std::int32_t got = element(y, i);
      const std::int64_t k = at.as<std::int64_t>()[static_cast<std::size_t>(i[0] * 3 + i[1])];
      i[static_cast<std::size_t>(axis)] =
          std::clamp<std::int64_t>(k < 0 ? k + extent : k, 0, extent - 1);
      REQUIRE(got == element(x, i));
    });
  }
  const TensorType index(DType::i64, Shape{4, 3});
  CHECK(refused("gather_elements", {i32({3, 3}), index}, {{"axis", std::int64_t{1}}})
            .find("axis 0") != std::string::npos);
  CHECK(refused("gather_elements", {i32({3}), index}, {}).find("ranks") != std::string::npos);
  CHECK(refused("gather_elements", {i32({0, 3}), index}, {}) != "");
}

TEST_CASE("gather_nd: several axes at once, behind batch axes") {
  const Tensor x = iota({2, 3, 4});
  const Tensor pairs = test::tensor<std::int64_t>({3, 2}, {0, 2, -1, 0, 1, 9});
  CHECK(ints(apply("gather_nd", {x, pairs}, {})[0]) ==
        std::vector<std::int32_t>{8, 9, 10, 11, 12, 13, 14, 15, 20, 21, 22, 23});
  const Tensor triples = test::tensor<std::int64_t>({2, 3}, {0, 2, 1, 1, 1, -1});
  CHECK(ints(apply("gather_nd", {x, triples}, {})[0]) == std::vector<std::int32_t>{9, 19});
  const Tensor rows = test::tensor<std::int64_t>({2, 1, 1}, {2, 0});
  CHECK(ints(apply("gather_nd", {x, rows}, {{"batch_dims", std::int64_t{1}}})[0]) ==
        std::vector<std::int32_t>{8, 9, 10, 11, 12, 13, 14, 15});
  const auto at = [](const Shape& s) { return TensorType(DType::i64, s); };
  CHECK(refused("gather_nd", {i32({2, 3}), at({4, 3})}, {}) != "");
  CHECK(refused("gather_nd", {i32({2, 3}), at({3, 1})}, {{"batch_dims", std::int64_t{1}}})
            .find("batch axis 0") != std::string::npos);
  CHECK(refused("gather_nd", {i32({2}), at({2, 1})}, {{"batch_dims", std::int64_t{1}}}) != "");
  CHECK(refused("gather_nd", {i32({0}), at({2, 1})}, {}) != "");
}

TEST_CASE("cumulative_sum: both directions, with the element itself and without") {
  const Tensor x = iota({2, 3, 2});
  for (std::int64_t axis = 0; axis < 3; ++axis)
    for (bool exclusive : {false, true})
      for (bool reverse : {false, true}) {
        const Tensor y = apply("cumulative_sum", {x},
                               {{"axis", axis}, {"exclusive", exclusive}, {"reverse", reverse}})[0];
        for_each_index({2, 3, 2}, [&](const Ints& i) {
          const auto k = static_cast<std::size_t>(axis);
          std::int32_t sum = 0;
          for (std::int64_t r = 0; r < x.type.shape()[k]; ++r) {
            const bool before = reverse ? r > i[k] : r < i[k];
            Ints from = i;
            from[k] = r;
            if (before || (r == i[k] && !exclusive)) sum += element(x, from);
          }
          REQUIRE(element(y, i) == sum);
        });
      }
  CHECK(refused("cumulative_sum", {i32({2})}, {{"axis", std::int64_t{1}}}) != "");
}

TEST_CASE("expand, full, range, shape_of") {
  using V = std::vector<std::int32_t>;
  CHECK(ints(apply("expand", {iota({2, 1})}, {{"shape", Ints{2, 2, 3}}})[0]) ==
        V{0, 0, 0, 1, 1, 1, 0, 0, 0, 1, 1, 1});
  CHECK(ints(apply("expand", {iota({})}, {{"shape", Ints{2}}})[0]) == V{0, 0});
  CHECK(refused("expand", {i32({3})}, {{"shape", Ints{2}}}) != "");
  CHECK(refused("expand", {i32({2, 3})}, {{"shape", Ints{3}}}) != "");
  CHECK(ints(apply("full", {},
                   {{"shape", Ints{2, 1}}, {"value", 7.0}, {"dtype", DType::i32}})[0]) == V{7, 7});
  CHECK(ints(apply("range", {},
                   {{"start", 5.0},
                    {"count", std::int64_t{4}},
                    {"step", -2.0},
                    {"dtype", DType::i32}})[0]) == V{5, 3, 1, -1});
  const Tensor s = apply("shape_of", {iota({4, 0, 7})})[0];
  CHECK(std::vector<std::int64_t>(s.as<std::int64_t>().begin(), s.as<std::int64_t>().end()) ==
        Ints{4, 0, 7});
  CHECK(apply("shape_of", {iota({})})[0].bytes.empty());
}

TEST_CASE("pack fills the last block; unpack undoes it") {
  for (std::int64_t axis = 0; axis < 3; ++axis)
    for (std::int64_t block : {1, 2, 4, 16}) {
      const Tensor x = iota({3, 5, 4});
      const std::int64_t extent = x.type.shape()[static_cast<std::size_t>(axis)];
      const Tensor y = apply("pack", {x}, {{"axis", axis}, {"block", block}, {"pad", -1.0}})[0];
      CHECK(y.type.shape()[static_cast<std::size_t>(axis)] == (extent + block - 1) / block);
      for_each_index(y.type.shape(), [&](const Ints& i) {
        Ints from(i.begin(), i.end() - 1);
        std::int64_t& at = from[static_cast<std::size_t>(axis)];
        at = at * block + i.back();
        REQUIRE(element(y, i) == (at < extent ? element(x, from) : -1));
      });
      CHECK(apply("unpack", {y}, {{"axis", axis}, {"size", extent}})[0].bytes == x.bytes);
    }
  CHECK(refused("pack", {i32({4})}, {{"axis", std::int64_t{0}}, {"block", std::int64_t{0}}}) != "");
  CHECK(refused("unpack", {i32({2, 4})}, {{"axis", std::int64_t{0}}, {"size", std::int64_t{9}}})
            .find("size 9") != std::string::npos);
  CHECK(refused("unpack", {i32({4})}, {{"axis", std::int64_t{0}}, {"size", std::int64_t{4}}}) !=
        "");
}

TEST_CASE("resize: nearest, linear and cubic at the coordinate rules of ONNX") {
  using V = std::vector<float>;
  const Tensor x = test::tensor<float>({1, 1, 1, 4}, {0, 1, 2, 3});
  auto resized = [&](std::int64_t n, Attrs more) {
    more.set("shape", Ints{1, 1, 1, n});
    const Tensor y = apply("resize", {x}, more)[0];
    return V(y.as<float>().begin(), y.as<float>().end());
  };
  const auto how = [](const char* mode, const char* coordinates, const char* rounding = "floor") {
    return Attrs{{"mode", std::string(mode)},
                 {"coordinates", std::string(coordinates)},
                 {"rounding", std::string(rounding)}};
  };
  const auto scaled = [](Attrs a, double s) {
    a.set("scales", std::vector<double>{1, 1, 1, s});
    return a;
  };
  CHECK(resized(8, how("nearest", "asymmetric")) == V{0, 0, 1, 1, 2, 2, 3, 3});
  CHECK(resized(8, how("nearest", "half_pixel", "prefer_floor")) == V{0, 0, 1, 1, 2, 2, 3, 3});
  CHECK(resized(2, how("nearest", "asymmetric")) == V{0, 2});
  CHECK(resized(2, how("nearest", "half_pixel", "prefer_floor")) == V{0, 2});  // 0.5 and 2.5
  CHECK(resized(2, how("nearest", "half_pixel", "prefer_ceil")) == V{1, 3});
  CHECK(resized(6, how("nearest", "asymmetric", "ceil")) == V{0, 1, 2, 2, 3, 3});
  CHECK(resized(5, how("nearest", "align_corners", "prefer_floor")) == V{0, 1, 1, 2, 3});
  CHECK(resized(2, how("nearest", "tf_half_pixel_for_nn")) == V{1, 3});
  CHECK(resized(2, scaled(how("nearest", "asymmetric"), 0.6)) == V{0, 1});  // 1 / 0.6, not 1 * 2
  CHECK(resized(8, how("linear", "half_pixel")) == V{0, 0.25, 0.75, 1.25, 1.75, 2.25, 2.75, 3});
  CHECK(resized(7, how("linear", "align_corners")) == V{0, 0.5, 1, 1.5, 2, 2.5, 3});
  CHECK(resized(2, how("linear", "asymmetric")) == V{0, 2});
  CHECK(resized(4, how("linear", "half_pixel")) == V{0, 1, 2, 3});
  CHECK(resized(1, how("linear", "pytorch_half_pixel")) == V{0});
  CHECK(resized(1, how("linear", "half_pixel")) == V{1.5});
  // Numbers of the convolution kernel of Keys with a = -3/4, taken by hand.
  CHECK(resized(8, how("cubic", "half_pixel")) == V{-0.10546875f, 0.19140625f, 0.66796875f,
                                                    1.296875f, 1.703125f, 2.33203125f, 2.80859375f,
                                                    3.10546875f});
  CHECK(resized(4, how("cubic", "align_corners")) == V{0, 1, 2, 3});
  Attrs inside = how("cubic", "half_pixel");
  inside.set("exclude_outside", true);
  CHECK(resized(8, inside)[0] == doctest::Approx(-0.10546875 / 0.7734375));
  Attrs crop = how("linear", "tf_crop_and_resize");
  crop.set("roi", std::vector<double>{0, 0, 0, 0, 1, 1, 1, 2});
  crop.set("extrapolation", 10.0);
  CHECK(resized(5, crop) == V{0, 1.5, 3, 10, 10});
  CHECK(apply("resize", {iota({2, 0})}, {{"shape", Ints{4, 0}}})[0].bytes.empty());
  const auto refusal = [](Attrs a) {
    a.set("shape", Ints{4});
    return refused("resize", {TensorType(DType::f32, Shape{4})}, a);
  };
  CHECK(refusal({{"mode", std::string("area")}}).find("'area'") != std::string::npos);
  CHECK(refusal({{"coordinates", std::string("corner")}}).find("'corner'") != std::string::npos);
  CHECK(refusal({{"rounding", std::string("up")}}).find("'up'") != std::string::npos);
  CHECK(refusal({{"scales", std::vector<double>{1, 2}}}).find("2 entries") != std::string::npos);
  CHECK(refusal({{"scales", std::vector<double>{0}}}).find("scale 0") != std::string::npos);
  CHECK(refused("resize", {i32({4})}, {{"shape", Ints{4}}, {"mode", std::string("linear")}})
            .find("float") != std::string::npos);
}

TEST_CASE("resize: nearest in whole numbers is nearest in f32") {
  // Every pair of small extents under every rule, against the rule written down in f32.
  const auto fall = [](const std::string& rule, float i, float from, float to) {
    if (rule == "asymmetric") return i / (to / from);
    if (rule == "align_corners") return to == 1 ? 0 : i * (from - 1) / (to - 1);
    return (i + 0.5f) / (to / from) - 0.5f;
  };
  const auto round = [](const std::string& how, float x) {
    if (how == "floor") return std::floor(x);
    if (how == "ceil") return std::ceil(x);
    return how == "prefer_ceil" ? std::floor(x + 0.5f) : std::ceil(x - 0.5f);
  };
  for (const std::string rule : {"asymmetric", "align_corners", "half_pixel"})
    for (const std::string how : {"floor", "ceil", "prefer_floor", "prefer_ceil"})
      for (std::int64_t from = 1; from <= 12; ++from)
        for (std::int64_t to = 1; to <= 24; ++to) {
          const Tensor y =
              apply("resize", {iota({from})},
                    {{"shape", Ints{to}}, {"coordinates", rule}, {"rounding", how}})[0];
          for (std::int64_t i = 0; i < to; ++i) {
            const float x =
                fall(rule, static_cast<float>(i), static_cast<float>(from), static_cast<float>(to));
            const auto want =
                std::clamp<std::int64_t>(static_cast<std::int64_t>(round(how, x)), 0, from - 1);
            REQUIRE(ints(y)[static_cast<std::size_t>(i)] == want);
          }
        }
}
