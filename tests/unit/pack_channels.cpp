// pack-channels: random networks of convolutions and of what stands between them mean the same
// before and after, whatever the block, whatever the borders cost.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>

#include "core/pipeline/run.h"
#include "tenon/rewrite.h"
#include "tests/support/registration.h"
#include "tests/support/tensors.h"

using namespace tenon;

namespace {

using Ints = std::vector<std::int64_t>;

/// A network over values of rank 4. Weights are constants of small integers.
class RandomNetwork {
 public:
  explicit RandomNetwork(unsigned seed) : m_(builtin_ops()), rng_(seed) {
    m_.functions.push_back({.name = "main"});
  }

  Module run() {
    Builder b(m_, m_.functions[0]);
    const std::int64_t c = pick({3, 4, 8, 12});
    values_ = b.params({{TensorType(DType::f32, Shape{1 + below(2), c, 9, 10}), 0, "x"}});
    for (int k = 0; k < 9; ++k) node(b);
    Function& f = m_.functions[0];
    f.body.nodes = b.take();
    for (std::size_t k = 0; k < 2; ++k) {
      f.body.results.push_back(values_[values_.size() - 1 - k]);
      f.result_names.push_back("y" + std::to_string(k));
    }
    return std::move(m_);
  }

 private:
  std::int64_t below(unsigned n) { return static_cast<std::int64_t>(rng_() % n); }
  std::int64_t pick(Ints v) {
    return v[static_cast<std::size_t>(below(static_cast<unsigned>(v.size())))];
  }
  Value any() {
    return values_[values_.size() - 1 -
                   static_cast<std::size_t>(
                       below(static_cast<unsigned>(std::min<std::size_t>(3, values_.size()))))];
  }
  Value constant(Builder& b, const Shape& s) {
    const Tensor t = test::small_integers(TensorType(DType::f32, s), rng_);
    return b.constant(make_constant(t.type, t.bytes));
  }
  void add(Builder& b, const char* op, std::vector<Value> in, Attrs attrs) {
    auto made = b.add(b.module().ops().at(op), std::move(in), std::move(attrs));
    if (made) values_.push_back((*made)[0]);  // what does not fit is left out
  }

  void node(Builder& b) {
    const Value x = any();
    const Shape s = x.type().shape();
    const std::int64_t c = s[1];
    switch (below(12)) {
      case 0:
      case 1:
      case 2:
      case 3: {
        const std::int64_t k = pick({1, 3}), o = pick({4, 6, 8, 12, 24});
        const bool depthwise = below(4) == 0, grouped = below(4) == 0 && c % 2 == 0;
        const std::int64_t groups = depthwise ? c : grouped ? 2 : 1, out = depthwise ? c : o;
        std::vector<Value> in{x, constant(b, {out, c / groups, k, k})};
        if (below(2)) in.push_back(constant(b, {out}));
        return add(b, "conv2d", in,
                   {{"groups", groups},
                    {"strides", Ints{1 + below(2), 1 + below(2)}},
                    {"pads", Ints{below(2), below(2), below(2), below(2)}},
                    {"dilations", Ints{1, 1 + below(2)}}});
      }
      case 4:
        return add(b, "relu", {x}, {});
      case 5: {
        const Value y = any();
        return add(b, y.type() == x.type() ? "add" : "sigmoid",
                   y.type() == x.type() ? std::vector{x, y} : std::vector{x}, {});
      }
      case 6:
        return add(b, "mul", {x, constant(b, below(2) ? Shape{c, 1, 1} : Shape{1, 1, s[3]})}, {});
      case 7:
        return add(b, below(2) ? "max_pool" : "avg_pool", {x},
                   {{"kernel", Ints{3, 2}}, {"strides", Ints{2, 1}}, {"pads", Ints{1, 0, 0, 1}}});
      case 8: {
        const Value y = any();
        const bool joins = y.type().shape()[2] == s[2] && y.type().shape()[3] == s[3];
        return add(b, "concat", {x, joins ? y : x}, {{"axis", pick({1, -3, 2})}});
      }
      case 9:
        return add(b, "pad", {x}, {{"pads", Ints{0, below(2), 1, 0, 0, 0, 0, 2}}, {"value", 1.0}});
      case 10:
        return add(b, "resize", {x}, {{"shape", Ints{s[0], c, 2 * s[2], s[3]}}});
      default:
        return add(b, "reduce_mean", {x}, {{"axes", Ints{-2, 3}}, {"keepdims", true}});
    }
  }

  Module m_;
  std::mt19937 rng_;
  std::vector<Value> values_;
};

/// Convolutions of quantised data, some of them of quantised weights. All scales are powers of two
/// and all numbers are small integers times those, so that every sum is exact.
class QuantisedNetwork {
 public:
  explicit QuantisedNetwork(unsigned seed) : m_(builtin_ops()), rng_(seed) {
    m_.functions.push_back({.name = "main"});
  }

  Module run() {
    Builder b(m_, m_.functions[0]);
    Value x = b.params(
        {{TensorType(DType::f32, Shape{1 + below(2), 3 + 5 * below(2), 7, 6}), 0, "x"}})[0];
    Value last;
    for (int k = 0; k < 4; ++k) {
      x = quantised(b, x, below(4) > 0 ? DType::u8 : DType::i8);
      Value y = convolution(b, x);
      if (last.node && last.type() == y.type()) y = b.make("add", {y, last});
      if (below(2)) y = b.make("relu", {y});
      last = x = y;
    }
    Function& f = m_.functions[0];
    f.body.nodes = b.take();
    f.body.results = {x};
    f.result_names = {"y"};
    return std::move(m_);
  }

 private:
  std::int64_t below(unsigned n) { return static_cast<std::int64_t>(rng_() % n); }
  Value number(Builder& b, DType t, double v) {
    return b.make("cast", {b.make("full", {}, {{"shape", Ints{}}, {"value", v}})}, {{"to", t}});
  }
  Value constant(Builder& b, DType t, const Shape& s) {
    const Tensor c = test::small_integers(TensorType(t, s), rng_);
    return b.constant(make_constant(c.type, c.bytes));
  }
  Value dequantised(Builder& b, Value q, Value zero, Value scale) {
    Value whole = b.make("cast", {q}, {{"to", DType::i32}});
    if (zero.node) {
      // Widened as a constant, or as part of the graph.
      const Tensor z = test::tensor<std::int32_t>({}, {static_cast<std::int32_t>(below(9))});
      zero = below(2) ? b.make("cast", {zero}, {{"to", DType::i32}})
                      : b.constant(make_constant(z.type, z.bytes));
      whole = b.make("sub", {whole, zero});
    }
    return b.make("mul", {b.make("cast", {whole}, {{"to", DType::f32}}), scale});
  }
  Value quantised(Builder& b, Value x, DType t) {
    const Value scale = number(b, DType::f32, below(2) ? 2 : 0.5);
    Value q = b.make("round", {b.make("div", {x, scale})});
    q = b.make("clip", {q}, {{"min", t == DType::u8 ? 0.0 : -128.0}, {"max", 31.0}});
    q = b.make("cast", {q}, {{"to", t}});
    Value zero;
    if (below(3) > 0) zero = b.constant(scalar_byte(t));
    return dequantised(b, q, zero, scale);
  }
  Constant scalar_byte(DType t) {
    const std::byte z{static_cast<unsigned char>(below(100))};
    return make_constant(TensorType(t, Shape{}), std::vector{z});
  }
  Value convolution(Builder& b, Value x) {
    const std::int64_t c = x.type().shape()[1], k = 1 + 2 * below(2), o = 4 * (1 + below(4));
    const bool depthwise = below(4) == 0;
    const std::int64_t out = depthwise ? c : o;
    const Shape shape{out, depthwise ? 1 : c, k, k};
    Value w = constant(b, DType::i8, shape);
    const Tensor scales = test::tensor<float>({out, 1, 1, 1}, powers(out));
    w = dequantised(b, w, {},
                    below(2) ? number(b, DType::f32, 0.25)
                             : b.constant(make_constant(scales.type, scales.bytes)));
    std::vector<Value> in{x, w};
    if (below(2)) in.push_back(constant(b, DType::f32, {out}));
    return b.make("conv2d", in,
                  {{"groups", depthwise ? c : 1},
                   {"strides", Ints{1 + below(2), 1 + below(2)}},
                   {"pads", Ints{k / 2, k / 2, k / 2, k / 2}},
                   {"dilations", Ints{1, 1}}});
  }
  std::vector<float> powers(std::int64_t n) {
    std::vector<float> v;
    for (std::int64_t i = 0; i < n; ++i) v.push_back(below(2) ? 0.5f : 1.0f);
    return v;
  }

  Module m_;
  std::mt19937 rng_;
};

/// Largest difference, in parts of the largest element of `a`.
double difference(const Tensor& a, const Tensor& b) {
  double most = 1, apart = 0;
  for (std::size_t i = 0; i < a.as<float>().size(); ++i) {
    const double x = static_cast<double>(a.as<float>()[i]),
                 y = static_cast<double>(b.as<float>()[i]);
    most = std::max(most, std::abs(x));
    apart = std::max(apart, std::isnan(x) == std::isnan(y) ? std::abs(x - y) : 1e30);
  }
  return apart / most;
}

std::size_t count(const Module& m, std::string_view op) {
  std::size_t n = 0;
  for_each_node(*m.main(), [&](const Node& x) { n += m.ops()[x.op].name == op; });
  return n;
}

}  // namespace

TEST_CASE("pack-channels: random networks mean the same before and after") {
  const PassInfo pack = test::pass_of("tenon.pack-channels");
  std::size_t convolutions = 0, packed = 0, packs = 0, unpacks = 0, left = 0;
  for (unsigned seed = 0; seed < 400; ++seed) {
    CAPTURE(seed);
    Module m = RandomNetwork(seed).run();
    REQUIRE(verify(m));
    std::mt19937 rng(seed);
    const std::vector<Tensor> in{test::small_integers(m.main()->param(0).type(), rng)};
    const auto before = evaluate(m, *m.main(), in);
    REQUIRE(before);
    convolutions += count(m, "conv2d");
    const OptionValues options{{.key = "block", .items = {seed % 2 ? "2" : "4"}},
                               {.key = "boundary", .items = {seed % 5 ? "0" : "20"}}};
    const Status done = run_pass(m, pack, options);
    REQUIRE(done);
    REQUIRE(verify(m));
    const auto after = evaluate(m, *m.main(), in);
    REQUIRE(after);
    for (std::size_t k = 0; k < before->size(); ++k) {
      REQUIRE((*after)[k].type == (*before)[k].type);
      REQUIRE(difference((*before)[k], (*after)[k]) < 1e-5);
    }
    packed += count(m, "packed_conv2d");
    left += count(m, "conv2d");
    packs += count(m, "pack");
    unpacks += count(m, "unpack");
  }
  MESSAGE(convolutions << " convolutions: " << packed << " over blocks, " << left
                       << " as they are; " << packs << " packs, " << unpacks << " unpacks");
  CHECK(packed > convolutions / 3);
  CHECK(left > 0);
  CHECK(unpacks > 0);
  CHECK(unpacks < packed);  // most cancel
}

TEST_CASE("pack-channels: quantised networks mean the same, to the last bit, with integer sums") {
  const PassInfo pack = test::pass_of("tenon.pack-channels");
  std::size_t convolutions = 0, of_bytes = 0, packs = 0;
  for (unsigned seed = 0; seed < 300; ++seed) {
    CAPTURE(seed);
    Module m = QuantisedNetwork(seed).run();
    REQUIRE(verify(m));
    std::mt19937 rng(seed);
    const std::vector<Tensor> in{test::small_integers(m.main()->param(0).type(), rng)};
    const auto before = evaluate(m, *m.main(), in);
    REQUIRE(before);
    convolutions += count(m, "conv2d");
    REQUIRE(run_pass(m, pack,
                     {{.key = "block", .items = {"4"}},
                      {.key = "boundary", .items = {seed % 3 ? "0" : "20"}},
                      {.key = "bytes", .items = {"true"}}}));
    REQUIRE(verify(m));
    const auto after = evaluate(m, *m.main(), in);
    REQUIRE(after);
    REQUIRE((*after)[0].type == (*before)[0].type);
    REQUIRE(difference((*before)[0], (*after)[0]) == 0);
    of_bytes += count(m, "packed_integer_conv2d");
    packs += count(m, "pack");
  }
  MESSAGE(convolutions << " convolutions: " << of_bytes << " of bytes; " << packs << " packs");
  CHECK(of_bytes > convolutions / 5);
}
