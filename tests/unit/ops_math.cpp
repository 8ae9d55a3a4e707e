// Elementwise ops, reductions and contractions against the C++ library and plain loops.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include "tests/support/tensors.h"

using namespace tenon;
using test::apply;

namespace {

using Ints = std::vector<std::int64_t>;
using F = std::vector<float>;

F floats(const Tensor& t) { return {t.as<float>().begin(), t.as<float>().end()}; }

F unary(std::string_view op, const F& x, const Attrs& attrs = {}) {
  return floats(
      apply(op, {test::tensor<float>({static_cast<std::int64_t>(x.size())}, x)}, attrs)[0]);
}

std::string refused(std::string_view op, const std::vector<TensorType>& in,
                    const Attrs& attrs = {}) {
  auto r = test::types_of(op, in, attrs);
  REQUIRE_FALSE(r);
  CHECK(r.errors()[0].what.substr(0, op.size() + 2) == std::string(op) + ": ");
  return r.errors()[0].what;
}

TensorType f32(const Shape& s) { return TensorType(DType::f32, s); }

}  // namespace

TEST_CASE("unary ops equal the library") {
  const F x{-3.5f, -2.5f, -1, -0.25f, -0.0f, 0, 0.25f, 0.5f, 1.5f, 2.5f, 10};
  const std::pair<const char*, float (*)(float)> table[] = {
      {"neg", [](float v) { return -v; }},
      {"abs", [](float v) { return std::fabs(v); }},
      {"exp", [](float v) { return std::exp(v); }},
      {"tanh", [](float v) { return std::tanh(v); }},
      {"erf", [](float v) { return std::erf(v); }},
      {"sigmoid", [](float v) { return 1 / (1 + std::exp(-v)); }},
      {"sin", [](float v) { return std::sin(v); }},
      {"cos", [](float v) { return std::cos(v); }},
      {"floor", [](float v) { return std::floor(v); }},
      {"ceil", [](float v) { return std::ceil(v); }},
      {"round", [](float v) { return std::nearbyint(v); }},
      {"relu", [](float v) { return v > 0 ? v : 0; }},
      {"identity", [](float v) { return v; }},
      {"leaky_relu", [](float v) { return v < 0 ? 0.01f * v : v; }},
      {"hard_sigmoid", [](float v) { return std::min(1.0f, std::max(0.0f, 0.2f * v + 0.5f)); }},
      {"hard_swish",
       [](float v) {
         return v * std::min(1.0f, std::max(0.0f, static_cast<float>(1.0 / 6) * v + 0.5f));
       }},
  };
  for (const auto& [op, want] : table) {
    CAPTURE(op);
    const F got = unary(op, x);
    for (std::size_t k = 0; k < x.size(); ++k)
      CHECK(got[k] == doctest::Approx(want(x[k])).epsilon(1e-6));
  }
  const F positive{0.25f, 1, 2, 100};
  for (std::size_t k = 0; k < positive.size(); ++k) {
    CHECK(unary("sqrt", positive)[k] == std::sqrt(positive[k]));
    CHECK(unary("log", positive)[k] == doctest::Approx(std::log(positive[k])));
  }
}

TEST_CASE("NaN passes through the clamping ops") {
  CHECK(std::isnan(unary("relu", {NAN})[0]));
  CHECK(std::isnan(unary("leaky_relu", {NAN})[0]));
  CHECK(std::isnan(unary("hard_sigmoid", {NAN})[0]));
  CHECK(std::isnan(unary("clip", {NAN}, {{"min", 0.0}, {"max", 6.0}})[0]));
}

TEST_CASE("clip, cast, logical ops") {
  CHECK(unary("clip", {-2, 3, 9}, {{"min", 0.0}, {"max", 6.0}}) == F{0, 3, 6});
  CHECK(unary("clip", {-2, 9}) == F{-2, 9});
  CHECK(unary("clip", {-2, 9}, {{"max", 1.0}}) == F{-2, 1});
  auto i8 = apply("clip", {test::tensor<std::int8_t>({2}, {-128, 127})},
                  {{"min", -1000.0}, {"max", 5.0}})[0];
  CHECK(i8.as<std::int8_t>()[0] == -128);
  CHECK(i8.as<std::int8_t>()[1] == 5);
  CHECK(refused("clip", {f32({1})}, {{"min", std::numeric_limits<double>::quiet_NaN()}}) != "");
  auto cast =
      apply("cast", {test::tensor<float>({3}, {1.9f, -1.9f, NAN})}, {{"to", DType::i32}})[0];
  CHECK(cast.as<std::int32_t>()[0] == 1);
  CHECK(cast.as<std::int32_t>()[1] == -1);
  CHECK(cast.as<std::int32_t>()[2] == 0);
  const Tensor p = test::tensor<std::uint8_t>({4}, {0, 0, 1, 1}, DType::boolean),
               q = test::tensor<std::uint8_t>({4}, {0, 1, 0, 1}, DType::boolean);
  auto bytes = [](const Tensor& t) {
    return std::vector<std::uint8_t>(t.as<std::uint8_t>().begin(), t.as<std::uint8_t>().end());
  };
  CHECK(bytes(apply("logical_and", {p, q})[0]) == std::vector<std::uint8_t>{0, 0, 0, 1});
  CHECK(bytes(apply("logical_or", {p, q})[0]) == std::vector<std::uint8_t>{0, 1, 1, 1});
  CHECK(bytes(apply("logical_not", {p})[0]) == std::vector<std::uint8_t>{1, 1, 0, 0});
  CHECK(refused("logical_not", {f32({1})}).find("f32[1]") != std::string::npos);
}

TEST_CASE("binary ops by element") {
  const Tensor a = test::tensor<float>({4}, {-3, 0, 2, 2}),
               b = test::tensor<float>({4}, {2, -1, 2, 0.5f});
  CHECK(floats(apply("add", {a, b})[0]) == F{-1, -1, 4, 2.5f});
  CHECK(floats(apply("sub", {a, b})[0]) == F{-5, 1, 0, 1.5f});
  CHECK(floats(apply("mul", {a, b})[0]) == F{-6, 0, 4, 1});
  CHECK(floats(apply("div", {a, b})[0]) == F{-1.5f, 0, 1, 4});
  CHECK(floats(apply("min", {a, b})[0]) == F{-3, -1, 2, 0.5f});
  CHECK(floats(apply("max", {a, b})[0]) == F{2, 0, 2, 2});
  CHECK(floats(apply("mod", {a, b})[0]) == F{1, 0, 0, 0});
  CHECK(floats(apply("pow", {b, a})[0]) == F{0.125f, 1, 4, 0.25f});
  auto truth = [&](const char* op) {
    const Tensor t = apply(op, {a, b})[0];
    CHECK(t.type.dtype == DType::boolean);
    return std::vector<std::uint8_t>(t.as<std::uint8_t>().begin(), t.as<std::uint8_t>().end());
  };
  CHECK(truth("equal") == std::vector<std::uint8_t>{0, 0, 1, 0});
  CHECK(truth("less") == std::vector<std::uint8_t>{1, 0, 0, 0});
  CHECK(truth("greater") == std::vector<std::uint8_t>{0, 1, 0, 1});
  CHECK(truth("less_equal") == std::vector<std::uint8_t>{1, 0, 1, 0});
  CHECK(truth("greater_equal") == std::vector<std::uint8_t>{0, 1, 1, 1});
}

TEST_CASE("broadcasting is NumPy's") {
  struct Row {
    Shape a, b, out;
    bool ok;
  };
  const Row rows[] = {
      {{}, {}, {}, true},
      {{3}, {}, {3}, true},
      {{3}, {1}, {3}, true},
      {{2, 3}, {3}, {2, 3}, true},
      {{2, 1}, {3}, {2, 3}, true},
      {{2, 1, 4}, {3, 1}, {2, 3, 4}, true},
      {{1}, {5, 1, 1}, {5, 1, 1}, true},
      {{0}, {1}, {0}, true},
      {{0, 3}, {1, 3}, {0, 3}, true},
      {{2}, {0}, {}, false},
      {{2}, {3}, {}, false},
      {{2, 3}, {2}, {}, false},
      {{4, 1, 2}, {3, 3}, {}, false},
  };
  std::mt19937 rng(4);
  for (const Row& r : rows) {
    CAPTURE(to_string(f32(r.a)));
    CAPTURE(to_string(f32(r.b)));
    auto types = test::types_of("add", {f32(r.a), f32(r.b)});
    CHECK(bool(types) == r.ok);
    CHECK(bool(test::types_of("add", {f32(r.b), f32(r.a)})) == r.ok);
    if (!r.ok) {
      CHECK(types.errors()[0].what.find("do not broadcast") != std::string::npos);
      continue;
    }
    REQUIRE((*types)[0] == f32(r.out));
    const Tensor a = test::small_integers(f32(r.a), rng), b = test::small_integers(f32(r.b), rng);
    const Tensor sum = apply("add", {a, b})[0];
    auto pick = [&](const Tensor& t, std::size_t e) {
      const Shape s = t.type.shape();
      std::size_t n = 0, stride = 1;
      for (std::size_t k = 0; k < r.out.size(); ++k) {
        const auto extent = static_cast<std::size_t>(r.out[r.out.size() - 1 - k]);
        const std::size_t i = e % extent;
        e /= extent;
        if (k >= s.size()) continue;
        const auto own = static_cast<std::size_t>(s[s.size() - 1 - k]);
        n += own == 1 ? 0 : i * stride;
        stride *= own;
      }
      return t.as<float>()[n];
    };
    for (std::size_t e = 0; e < sum.as<float>().size(); ++e)
      REQUIRE(sum.as<float>()[e] == pick(a, e) + pick(b, e));
  }
  CHECK(refused("add", {f32({2}), TensorType(DType::f64, Shape{2})}).find("f64[2]") !=
        std::string::npos);
  const TensorType symbolic(DType::f32, std::vector<Dim>{Dim::symbol(0), Dim(3)});
  auto same = test::types_of("add", {symbolic, f32({3})});
  REQUIRE(same);
  CHECK((*same)[0] == symbolic);
  CHECK_FALSE(test::types_of("add", {symbolic, f32({2, 3})}));
}

TEST_CASE("where broadcasts all three") {
  const Tensor c = test::tensor<std::uint8_t>({2, 1}, {1, 0}, DType::boolean);
  const Tensor r =
      apply("where", {c, test::tensor<float>({3}, {1, 2, 3}), test::tensor<float>({}, {9})})[0];
  CHECK(floats(r) == F{1, 2, 3, 9, 9, 9});
  CHECK(refused("where", {f32({1}), f32({1}), f32({1})}) != "");
}

TEST_CASE("reductions over every set of axes") {
  std::mt19937 rng(6);
  const Tensor x = test::small_integers(f32({3, 4, 5}), rng);
  for (unsigned mask = 1; mask < 8; ++mask)
    for (bool keep : {false, true}) {
      Ints axes;
      for (std::int64_t k = 0; k < 3; ++k)
        if (mask >> k & 1) axes.push_back(k % 2 ? k - 3 : k);  // some negative
      const Attrs attrs{{"axes", axes}, {"keepdims", keep}};
      const Shape s = x.type.shape();
      std::map<Ints, F> groups;
      for (std::int64_t e = 0; e < 60; ++e) {
        const Ints i{e / 20, e / 5 % 4, e % 5};
        Ints key;
        for (std::size_t k = 0; k < 3; ++k)
          if (!(mask >> k & 1)) key.push_back(i[k]);
        groups[key].push_back(x.as<float>()[static_cast<std::size_t>(e)]);
      }
      const Tensor sum = apply("reduce_sum", {x}, attrs)[0],
                   mean = apply("reduce_mean", {x}, attrs)[0],
                   top = apply("reduce_max", {x}, attrs)[0],
                   low = apply("reduce_min", {x}, attrs)[0],
                   prod = apply("reduce_prod", {x}, attrs)[0];
      CHECK(sum.type.rank() == (keep ? 3 : 3 - axes.size()));
      std::size_t e = 0;
      for (const auto& [key, group] : groups) {
        float total = 0, product = 1;
        for (float v : group) total += v, product *= v;
        CHECK(sum.as<float>()[e] == total);
        CHECK(mean.as<float>()[e] == total / static_cast<float>(group.size()));
        CHECK(top.as<float>()[e] == *std::max_element(group.begin(), group.end()));
        CHECK(low.as<float>()[e] == *std::min_element(group.begin(), group.end()));
        CHECK(prod.as<float>()[e] == product);
        ++e;
      }
    }
  CHECK(floats(apply("reduce_sum", {x})[0]).size() == 1);
  CHECK(floats(apply("reduce_sum", {test::tensor<float>({}, {4})})[0]) == F{4});
  CHECK(floats(apply("reduce_sum", {test::tensor<float>({0, 2}, {})}, {{"axes", Ints{0}}})[0]) ==
        F{0, 0});
  CHECK(
      refused("reduce_sum", {f32({2})}, {{"axes", Ints{1}}}).find("axis 1 of a tensor of rank 1") !=
      std::string::npos);
  CHECK(refused("reduce_sum", {f32({2})}, {{"axes", Ints{0, -1}}}).find("twice") !=
        std::string::npos);
}

TEST_CASE("arg_max and arg_min give the first place") {
  const Tensor x = test::tensor<float>({2, 4}, {1, 5, 5, 0, -1, -1, -2, -2});
  auto at = [&](const char* op, std::int64_t axis) {
    const Tensor t = apply(op, {x}, {{"axis", axis}})[0];
    return Ints(t.as<std::int64_t>().begin(), t.as<std::int64_t>().end());
  };
  CHECK(at("arg_max", 1) == Ints{1, 0});
  CHECK(at("arg_min", 1) == Ints{3, 2});
  CHECK(at("arg_max", 0) == Ints{0, 0, 0, 0});
  CHECK(at("arg_min", -2) == Ints{1, 1, 1, 1});
  CHECK(apply("arg_max", {x}, {{"axis", std::int64_t{1}}, {"keepdims", true}})[0].type.shape() ==
        Shape{2, 1});
  CHECK(refused("arg_max", {f32({2, 0})}, {{"axis", std::int64_t{1}}}) != "");
}

TEST_CASE("softmax and log_softmax along any axis") {
  std::mt19937 rng(8);
  const Tensor x = test::small_integers(f32({3, 4, 2}), rng);
  for (std::int64_t axis : {0, 1, -1}) {
    const auto k = static_cast<std::size_t>(axis < 0 ? axis + 3 : axis);
    const Tensor y = apply("softmax", {x}, {{"axis", axis}})[0],
                 z = apply("log_softmax", {x}, {{"axis", axis}})[0];
    const std::int64_t stride = k == 0 ? 8 : k == 1 ? 2 : 1, extent = x.type.shape()[k];
    for (std::int64_t e = 0; e < 24; ++e) {
      double sum = 0;
      for (std::int64_t r = 0; r < extent; ++r)
        sum += std::exp(
            x.as<float>()[static_cast<std::size_t>(e - e / stride % extent * stride + r * stride)]);
      const double want = std::exp(x.as<float>()[static_cast<std::size_t>(e)]) / sum;
      CHECK(y.as<float>()[static_cast<std::size_t>(e)] == doctest::Approx(want).epsilon(1e-5));
      CHECK(z.as<float>()[static_cast<std::size_t>(e)] ==
            doctest::Approx(std::log(want)).epsilon(1e-5));
    }
  }
  CHECK(floats(apply("softmax", {test::tensor<float>({2}, {1000, 1000})})[0]) == F{0.5f, 0.5f});
  CHECK(refused("softmax", {f32({})}) != "");
}

TEST_CASE("attention is a softmax between two products") {
  // The first head sees all three rows of k, the second one the last two.
  const Tensor q = test::tensor<float>({2, 1, 2}, {1, 2, -1, 1});
  const Tensor k = test::tensor<float>({3, 2}, {1, 0, 0, 1, 2, 2});
  const Tensor v = test::tensor<float>({3, 1}, {10, 20, 30});
  const Tensor mask = test::tensor<float>({2, 1, 3}, {0, 0, 0, -1e9f, 0, 0});
  const auto weighted = [](std::vector<double> scores, std::vector<double> values) {
    double sum = 0, of = 0;
    for (std::size_t n = 0; n < scores.size(); ++n)
      sum += std::exp(scores[n]), of += std::exp(scores[n]) * values[n];
    return doctest::Approx(of / sum).epsilon(1e-5);
  };
  const Tensor y = apply("attention", {q, k, v, mask}, {{"scale", 0.5}})[0];
  CHECK(y.type == TensorType(DType::f32, Shape{2, 1, 1}));
  CHECK(y.as<float>()[0] == weighted({0.5, 1, 3}, {10, 20, 30}));
  CHECK(y.as<float>()[1] == weighted({0.5, 0}, {20, 30}));
  CHECK(refused("attention", {f32({2, 3}), f32({4, 5}), f32({4, 6})}).find("last extents") !=
        std::string::npos);
  CHECK(refused("attention", {f32({2, 3}), f32({4, 3}), f32({5, 6})}).find("row counts") !=
        std::string::npos);
  CHECK(refused("attention", {f32({2, 3}), f32({4, 3}), f32({4, 6}), f32({7, 2, 4})})
            .find("larger than the scores") != std::string::npos);
  CHECK(refused("attention", {f32({3}), f32({4, 3}), f32({4, 6})}) != "");
}

TEST_CASE("batch_norm and layer_norm") {
  const Tensor x = test::tensor<float>({1, 2, 2}, {1, 3, 10, 20});
  const Tensor y = apply("batch_norm",
                         {x, test::tensor<float>({2}, {2, 1}), test::tensor<float>({2}, {0, 5}),
                          test::tensor<float>({2}, {1, 10}), test::tensor<float>({2}, {4, 25})},
                         {{"epsilon", 0.0}})[0];
  CHECK(floats(y) == F{0, 2, 5, 7});
  CHECK(refused("batch_norm", {f32({1, 2, 2}), f32({3}), f32({2}), f32({2}), f32({2})})
            .find("scale is f32[3]") != std::string::npos);
  CHECK(refused("batch_norm", {f32({2}), f32({2}), f32({2}), f32({2}), f32({2})}) != "");
  const Tensor n = apply("layer_norm",
                         {test::tensor<float>({2, 2}, {1, 3, 10, 20}),
                          test::tensor<float>({2}, {1, 2}), test::tensor<float>({2}, {0, 1})},
                         {{"epsilon", 0.0}})[0];
  CHECK(floats(n) == F{-1, 3, -1, 3});
  CHECK(refused("layer_norm", {f32({2, 2}), f32({3})}) != "");
}

TEST_CASE("matmul: ranks, batches, vectors") {
  struct Row {
    Shape a, b, out;
  };
  const Row rows[] = {{{2, 3}, {3, 4}, {2, 4}},
                      {{3}, {3, 4}, {4}},
                      {{2, 3}, {3}, {2}},
                      {{3}, {3}, {}},
                      {{5, 2, 3}, {3, 4}, {5, 2, 4}},
                      {{2, 3}, {5, 3, 4}, {5, 2, 4}},
                      {{5, 1, 2, 3}, {7, 3, 4}, {5, 7, 2, 4}},
                      {{2, 0}, {0, 3}, {2, 3}},
                      {{0, 3}, {3, 2}, {0, 2}},
                      {{3}, {5, 3, 4}, {5, 4}},
                      {{1, 1}, {1, 1}, {1, 1}},
                      {{37, 29}, {29, 41}, {37, 41}}};
  std::mt19937 rng(9);
  for (const Row& r : rows) {
    CAPTURE(to_string(f32(r.a)));
    CAPTURE(to_string(f32(r.b)));
    const Tensor a = test::small_integers(f32(r.a), rng), b = test::small_integers(f32(r.b), rng);
    const Tensor y = apply("matmul", {a, b})[0];
    REQUIRE(y.type.shape() == r.out);
    const Shape as = r.a.size() == 1 ? Shape{1, r.a[0]} : r.a,
                bs = r.b.size() == 1 ? Shape{r.b[0], 1} : r.b;
    const auto m = static_cast<std::size_t>(as[as.size() - 2]),
               k = static_cast<std::size_t>(as.back()), n = static_cast<std::size_t>(bs.back());
    Shape batch;  // of the result
    for (std::size_t d = 0; d + 2 < std::max(as.size(), bs.size()); ++d) batch.push_back(r.out[d]);
    std::size_t e = 0;
    std::int64_t batches = 1;
    for (std::int64_t d : batch) batches *= d;
    auto offset = [&](const Shape& s, std::int64_t at) {  // matrix number of an operand
      std::int64_t result = 0, stride = 1;
      for (std::size_t d = 0; d + 2 < s.size(); ++d) {
        const std::int64_t whole = batch[batch.size() - 1 - d], own = s[s.size() - 3 - d];
        result += own == 1 ? 0 : at % whole * stride;
        at /= whole;
        stride *= own;
      }
      return static_cast<std::size_t>(result);
    };
    for (std::int64_t q = 0; q < batches; ++q)
      for (std::size_t i = 0; i < m; ++i)
        for (std::size_t j = 0; j < n; ++j) {
          float sum = 0;
          for (std::size_t l = 0; l < k; ++l)
            sum += a.as<float>()[(offset(as, q) * m + i) * k + l] *
                   b.as<float>()[(offset(bs, q) * k + l) * n + j];
          REQUIRE(y.as<float>()[e++] == sum);
        }
  }
  CHECK(refused("matmul", {f32({2, 3}), f32({4, 5})}).find("inner extents [3] and [4]") !=
        std::string::npos);
  CHECK(refused("matmul", {f32({}), f32({4})}) != "");
  CHECK(refused("matmul", {f32({2, 2, 3}), f32({3, 3, 4})}).find("broadcast") != std::string::npos);
}

TEST_CASE("packed_matmul is matmul over the columns that its panels hold") {
  std::mt19937 rng(10);
  for (const auto& [shape, n, width] : std::vector<std::tuple<Shape, std::int64_t, std::int64_t>>{
           {{3, 5}, 8, 4}, {{2, 3, 7}, 6, 6}, {{5}, 6, 2}, {{4, 0}, 3, 1}, {{0, 2}, 4, 2}}) {
    const std::int64_t k = shape.back();
    const Tensor a = test::small_integers(f32(shape), rng),
                 b = test::small_integers(f32({k, n}), rng);
    const Tensor columns = apply("transpose", {b}, {{"perm", std::vector<std::int64_t>{1, 0}}})[0];
    const Tensor panels =
        apply("pack", {columns}, {{"axis", std::int64_t{0}}, {"block", width}})[0];
    const Tensor y = apply("packed_matmul", {a, panels})[0], wanted = apply("matmul", {a, b})[0];
    CHECK(y.type == wanted.type);
    CHECK(y.bytes == wanted.bytes);
  }
  CHECK(refused("packed_matmul", {f32({2, 3}), f32({2, 4, 5})}).find("[3] and [4]") !=
        std::string::npos);
  CHECK(refused("packed_matmul", {f32({2, 3}), f32({3, 4})}).find("ranks 1 or more and 3") !=
        std::string::npos);
  CHECK(refused("packed_matmul", {f32({2, 3}), f32({2, 3, 0})}).find("2 panels of 0") !=
        std::string::npos);
}

TEST_CASE("packed_integer_matmul is matmul of i32 over the bytes that its panels hold") {
  std::mt19937 rng(11);
  const auto of = [](DType t, Shape s) { return TensorType(t, std::move(s)); };
  using Ints = std::vector<std::int64_t>;
  for (const auto& [shape, n, width] : std::vector<std::tuple<Shape, std::int64_t, std::int64_t>>{
           {{3, 8}, 8, 4}, {{2, 3, 4}, 6, 6}, {{12}, 6, 2}, {{4, 0}, 3, 1}, {{0, 4}, 4, 2}}) {
    const std::int64_t k = shape.back();
    const Tensor a = test::small_integers(of(DType::u8, shape), rng),
                 b = test::small_integers(of(DType::i8, {k, n}), rng);
    const Tensor apart = apply("reshape", {b}, {{"shape", Ints{k / 4, 4, n / width, width}}})[0];
    const Tensor panels = apply("transpose", {apart}, {{"perm", Ints{2, 0, 3, 1}}})[0];
    const Tensor y = apply("packed_integer_matmul", {a, panels})[0];
    const auto wide = [](const Tensor& t) { return apply("cast", {t}, {{"to", DType::i32}})[0]; };
    const Tensor wanted = apply("matmul", {wide(a), wide(b)})[0];
    CHECK(y.type == wanted.type);
    CHECK(y.bytes == wanted.bytes);
  }
  const TensorType data = of(DType::u8, {2, 8}), panels = of(DType::i8, {3, 2, 16, 4});
  CHECK(refused("packed_integer_matmul", {of(DType::i8, {2, 8}), panels}).find("u8 and i8") !=
        std::string::npos);
  CHECK(refused("packed_integer_matmul", {of(DType::u8, {2, 12}), panels}).find("[12] and 8") !=
        std::string::npos);
  CHECK(refused("packed_integer_matmul", {data, of(DType::i8, {3, 2, 16})}).find("need ranks") !=
        std::string::npos);
  CHECK(
      refused("packed_integer_matmul", {data, of(DType::i8, {3, 2, 16, 3})}).find("groups of 4") !=
      std::string::npos);
}
