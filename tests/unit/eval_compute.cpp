#include <doctest/doctest.h>

#include <cmath>
#include <cstring>
#include <limits>

#include "tests/support/te_reference.h"
#include "tests/support/tensors.h"

using namespace tenon;
using namespace tenon::te;

namespace {

constexpr float inf = std::numeric_limits<float>::infinity();

/// A random expression of type f32 over the axes `i` of a stage: loads of the inputs, arithmetic,
/// choices.
class RandomStage {
 public:
  RandomStage(Builder& b, std::mt19937& rng) : b_(b), rng_(rng) {}

  E real(std::span<const E> i, int depth) {
    const auto pick = rng_() % (depth > 0 ? 9 : 2);
    if (pick == 0) return b_.imm(DType::f32, static_cast<double>(rng_() % 5) - 2);
    if (pick == 1) return load(i);
    E x = real(i, depth - 1), y = real(i, depth - 1);
    constexpr ScalarOp ops[] = {ScalarOp::add, ScalarOp::sub, ScalarOp::mul, ScalarOp::min,
                                ScalarOp::max};
    if (pick < 7) return binary(ops[pick - 2], x, y);
    if (pick == 7) return select(x < y, x, y + x);
    return b_.cast(b_.cast(x, DType::i32) % b_.imm_int(DType::i32, 3), DType::f32);
  }

 private:
  /// At each axis of the tensor: a clamped affine index, a guarded shift, or something not affine.
  E load(std::span<const E> i) {
    T t = b_.input(static_cast<std::uint32_t>(rng_() % b_.n_inputs()));
    std::vector<E> index;
    E inside = b_.imm_int(DType::boolean, 1);
    bool guarded = false;
    for (std::int64_t extent : t.shape()) {
      E at = i.empty() ? b_.i64(0)
                       : i[rng_() % i.size()] * (1 + static_cast<std::int64_t>(rng_() % 2));
      if (!i.empty() && rng_() % 2) at = at + i[rng_() % i.size()];
      switch (rng_() % 4) {
        case 0:
          index.push_back(at % extent);
          break;
        case 1:
          index.push_back(min(max(at - 2, b_.i64(0)), b_.i64(extent - 1)));
          break;
        case 2:
          index.push_back(b_.i64(static_cast<std::int64_t>(rng_()) % extent));
          break;
        default:
          at = at - 1;
          index.push_back(at);
          inside = inside && at >= 0 && at < extent;
          guarded = true;
      }
    }
    return guarded ? select(inside, t(index), b_.imm(DType::f32, 7)) : t(index);
  }

  Builder& b_;
  std::mt19937& rng_;
};

template <class V>
std::vector<V> values(const Tensor& t) {
  return {t.as<V>().begin(), t.as<V>().end()};
}

/// One stage over operands of one element each, evaluated.
template <class R, class A>
R scalar(ScalarOp op, std::vector<A> args, DType t, DType result) {
  std::vector<TensorType> types(args.size(), TensorType(t, Shape{}));
  Builder b(types);
  b.output(b.stage("s", {}, [&](auto) {
    std::vector<E> e;
    for (std::uint32_t k = 0; k < args.size(); ++k) e.push_back(b.input(k)({}));
    return b.scalar(op, result, e);
  }));
  REQUIRE(check(b.get()) == "");
  std::vector<Tensor> in;
  for (A a : args) in.push_back(test::tensor<A>({}, {a}, t));
  return test::run(b.get(), in)[0].template as<R>()[0];
}

float f(ScalarOp op, std::vector<float> args) {
  return scalar<float>(op, args, DType::f32, DType::f32);
}
std::int8_t i8(ScalarOp op, std::vector<std::int8_t> args) {
  return scalar<std::int8_t>(op, args, DType::i8, DType::i8);
}

}  // namespace

TEST_CASE("eval: random computes equal the tree walker, bit for bit") {
  for (unsigned seed = 0; seed < 300; ++seed) {
    CAPTURE(seed);
    std::mt19937 rng(seed);
    auto extent = [&](int most) {
      return 1 + static_cast<std::int64_t>(rng() % static_cast<unsigned>(most));
    };
    Builder b({TensorType(DType::f32, Shape{extent(5), extent(5)}),
               TensorType(DType::f32, Shape{extent(40)})});
    Shape shape;
    for (unsigned k = 0; k < rng() % 4; ++k) shape.push_back(extent(seed % 10 == 0 ? 20 : 6));
    const bool reduces = rng() % 2;
    RandomStage random(b, rng);
    T first = b.stage("a", shape, [&](auto i) {
      if (!reduces) return random.real(i, 3);
      constexpr Fold folds[] = {Fold::sum, Fold::max, Fold::min};
      const Fold fold = folds[rng() % 3];
      E sum = b.reduce(fold, {{"r", extent(4)}, {"q", extent(30)}}, [&](auto r) {
        std::vector<E> all(i.begin(), i.end());
        all.insert(all.end(), r.begin(), r.end());
        return random.real(all, 2);
      });
      return sum + random.real(i, 1);
    });
    b.output(b.stage("b", shape, [&](auto i) { return first(i) * b.imm(DType::f32, 2); }));
    b.output(first);
    const Compute c = b.take();
    REQUIRE(check(c) == "");
    std::vector<Tensor> in;
    for (const TensorType& t : c.inputs) in.push_back(test::small_integers(t, rng));
    auto got = test::run(c, in);
    auto want = test::TreeWalker(c, {in[0].bytes.data(), in[1].bytes.data()}).run();
    for (std::size_t k = 0; k < got.size(); ++k)
      for (std::size_t e = 0; e < got[k].as<float>().size(); ++e)
        REQUIRE(got[k].as<float>()[e] == want[k].as<float>()[e]);
  }
}

TEST_CASE("eval: float corner cases of scalar.h") {
  CHECK(std::isnan(f(ScalarOp::min, {1, NAN})));  // the second operand wins
  CHECK(f(ScalarOp::min, {NAN, 1}) == 1);
  CHECK(std::signbit(f(ScalarOp::max, {0.0f, -0.0f})));
  CHECK_FALSE(std::signbit(f(ScalarOp::max, {-0.0f, 0.0f})));
  CHECK(f(ScalarOp::round_even, {2.5f}) == 2);
  CHECK(f(ScalarOp::round_even, {-3.5f}) == -4);
  CHECK(f(ScalarOp::mod, {-1, 3}) == 2);
  CHECK(f(ScalarOp::mod, {1, -3}) == -2);
  CHECK(f(ScalarOp::sigmoid, {-200}) == 0);
  CHECK(f(ScalarOp::fma, {1 + 0x1p-12f, 1 + 0x1p-12f, -1}) == 0x1p-11f + 0x1p-24f);
  CHECK(f(ScalarOp::ldexp, {1.5f, -149}) == 0x1p-148f);  // a tie, rounded once, to even
  CHECK(f(ScalarOp::ldexp, {1.25f, -149}) == 0x1p-149f);
  CHECK(f(ScalarOp::ldexp, {0x1p-149f, 276.5f}) == 0x1p127f);
  CHECK(f(ScalarOp::ldexp, {-1, 1e30f}) == -INFINITY);
  CHECK(std::signbit(f(ScalarOp::ldexp, {-1, -1e30f})));
  CHECK(f(ScalarOp::ldexp, {0, 1e30f}) == 0);
  CHECK(std::isnan(f(ScalarOp::ldexp, {0, INFINITY})));
  CHECK(std::isnan(f(ScalarOp::ldexp, {INFINITY, -INFINITY})));
  CHECK(std::isnan(f(ScalarOp::ldexp, {1, NAN})));
  CHECK(scalar<std::uint8_t>(ScalarOp::eq, std::vector<float>{NAN, NAN}, DType::f32,
                             DType::boolean) == 0);
  CHECK(scalar<std::uint8_t>(ScalarOp::ne, std::vector<float>{NAN, NAN}, DType::f32,
                             DType::boolean) == 1);
  CHECK(scalar<std::uint8_t>(ScalarOp::is_nan, std::vector<float>{NAN}, DType::f32,
                             DType::boolean) == 1);
}

TEST_CASE("eval: integers wrap, divide downwards, and never trap") {
  CHECK(i8(ScalarOp::add, {127, 1}) == -128);
  CHECK(i8(ScalarOp::mul, {16, 16}) == 0);
  CHECK(i8(ScalarOp::neg, {-128}) == -128);
  CHECK(i8(ScalarOp::abs, {-128}) == -128);
  CHECK(i8(ScalarOp::div, {-7, 2}) == -4);
  CHECK(i8(ScalarOp::div, {7, 0}) == 0);
  CHECK(i8(ScalarOp::div, {-128, -1}) == -128);
  CHECK(i8(ScalarOp::mod, {-7, 2}) == 1);
  CHECK(i8(ScalarOp::mod, {7, -2}) == -1);
  CHECK(i8(ScalarOp::mod, {7, 0}) == 0);
  CHECK(i8(ScalarOp::pow, {2, 7}) == -128);
  CHECK(i8(ScalarOp::pow, {2, -1}) == 0);
  CHECK(i8(ScalarOp::pow, {-1, -3}) == -1);
  CHECK(i8(ScalarOp::shr, {-128, 3}) == -16);
  CHECK(i8(ScalarOp::shr, {-1, 8}) == -1);
  CHECK(i8(ScalarOp::shl, {1, 8}) == 0);
  CHECK(scalar<std::int64_t>(ScalarOp::div, std::vector<std::int64_t>{INT64_MIN, -1}, DType::i64,
                             DType::i64) == INT64_MIN);
  CHECK(scalar<std::uint64_t>(ScalarOp::div, std::vector<std::uint64_t>{UINT64_MAX, 2}, DType::u64,
                              DType::u64) == UINT64_MAX / 2);
}

TEST_CASE("eval: casts truncate, saturate and wrap") {
  auto to_i8 = [](float x) {
    return scalar<std::int8_t>(ScalarOp::cast, std::vector<float>{x}, DType::f32, DType::i8);
  };
  auto to_i64 = [](float x) {
    return scalar<std::int64_t>(ScalarOp::cast, std::vector<float>{x}, DType::f32, DType::i64);
  };
  auto to_u64 = [](float x) {
    return scalar<std::uint64_t>(ScalarOp::cast, std::vector<float>{x}, DType::f32, DType::u64);
  };
  CHECK(to_i8(-1.9f) == -1);
  CHECK(to_i8(127.9f) == 127);
  CHECK(to_i8(1e9f) == 127);
  CHECK(to_i8(-inf) == -128);
  CHECK(to_i8(NAN) == 0);
  CHECK(to_i64(inf) == INT64_MAX);
  CHECK(to_i64(-1e30f) == INT64_MIN);
  CHECK(to_u64(-5) == 0);
  CHECK(to_u64(0x1p63f) == 0x8000000000000000u);
  CHECK(to_u64(inf) == UINT64_MAX);
  CHECK(scalar<std::int8_t>(ScalarOp::cast, std::vector<std::int32_t>{300}, DType::i32,
                            DType::i8) == 44);
  CHECK(scalar<std::uint8_t>(ScalarOp::cast, std::vector<float>{NAN}, DType::f32, DType::boolean) ==
        1);
  CHECK(scalar<std::uint8_t>(ScalarOp::cast, std::vector<std::int32_t>{256}, DType::i32,
                             DType::boolean) == 1);
  CHECK(scalar<float>(ScalarOp::bitcast, std::vector<std::int32_t>{0x3f800000}, DType::i32,
                      DType::f32) == 1.0f);
}

TEST_CASE("eval: casts of floats to four bits saturate at four bits, casts of integers wrap") {
  const auto cast = [](const Tensor& x, DType to) {
    Builder b({x.type});
    const Shape shape = x.type.shape();
    T narrow = b.stage("n", shape, [&](auto i) { return b.cast(b.input(0)(i), to); });
    b.output(b.stage("w", shape, [&](auto i) { return b.cast(narrow(i), DType::i32); }));
    const Tensor out = test::run(b.get(), {x})[0];
    return std::vector<std::int32_t>(out.as<std::int32_t>().begin(), out.as<std::int32_t>().end());
  };
  const Tensor f = test::tensor<float>({9}, {7.9f, 8, 100, -8.9f, -9, 300, NAN, inf, -inf});
  CHECK(cast(f, DType::i4) == std::vector<std::int32_t>{7, 7, 7, -8, -8, 7, 0, 7, -8});
  CHECK(cast(f, DType::u4) == std::vector<std::int32_t>{7, 8, 15, 0, 0, 15, 0, 15, 0});
  const Tensor i = test::tensor<std::int32_t>({4}, {8, 17, -9, 100}, DType::i32);
  CHECK(cast(i, DType::i4) == std::vector<std::int32_t>{-8, 1, 7, 4});
  CHECK(cast(i, DType::u4) == std::vector<std::int32_t>{8, 1, 7, 4});
}

TEST_CASE("eval: f16, bf16 and four-bit types round and wrap after each operation") {
  auto round_trip = [](DType t, float x) {
    Builder b({TensorType(DType::f32, Shape{1})});
    T narrow = b.stage("n", {1}, [&](auto i) { return b.cast(b.input(0)(i), t); });
    b.output(b.stage("w", {1}, [&](auto i) { return b.cast(narrow(i), DType::f32); }));
    b.output(narrow);
    return test::run(b.get(), {test::tensor<float>({1}, {x})});
  };
  auto bits_of = [&](DType t, float x) {
    std::uint16_t h;
    std::memcpy(&h, round_trip(t, x)[1].bytes.data(), 2);
    return h;
  };
  CHECK(bits_of(DType::f16, 1.0f) == 0x3c00);
  CHECK(bits_of(DType::f16, 65504.0f) == 0x7bff);
  CHECK(bits_of(DType::f16, 65520.0f) == 0x7c00);
  CHECK(bits_of(DType::f16, 65519.0f) == 0x7bff);
  CHECK(bits_of(DType::f16, 0x1p-24f) == 0x0001);
  CHECK(bits_of(DType::f16, 0x1p-25f) == 0x0000);  // halfway to the smallest, to even
  CHECK(bits_of(DType::f16, 1 + 0x1p-11f) == 0x3c00);
  CHECK(bits_of(DType::f16, 1 + 3 * 0x1p-11f) == 0x3c02);
  CHECK(bits_of(DType::bf16, 1 + 0x1p-8f) == 0x3f80);
  CHECK(bits_of(DType::bf16, 1 + 3 * 0x1p-8f) == 0x3f82);
  CHECK(std::isnan(round_trip(DType::f16, NAN)[0].as<float>()[0]));
  CHECK(std::isnan(round_trip(DType::bf16, NAN)[0].as<float>()[0]));

  // 2048 + 1 in f16 stays 2048, however often.
  Builder b({TensorType(DType::f16, Shape{4})});
  b.output(b.stage("sum", {}, [&](auto) {
    return b.reduce(Fold::sum, {{"r", 4}}, [&](auto r) { return b.input(0)({r[0]}); });
  }));
  auto sum = test::run(
      b.get(), {test::tensor<std::uint16_t>({4}, {0x6800, 0x3c00, 0x3c00, 0x3c00}, DType::f16)});
  CHECK(static_cast<int>(sum[0].bytes[1]) == 0x68);
  CHECK(static_cast<int>(sum[0].bytes[0]) == 0);

  // Four-bit elements are packed, the first in the low half.
  Builder p({TensorType(DType::i4, Shape{3})});
  p.output(p.stage("neg", {3}, [&](auto i) { return unary(ScalarOp::neg, p.input(0)(i)); }));
  auto packed =
      test::run(p.get(), {{TensorType(DType::i4, Shape{3}), {std::byte{0xf1}, std::byte{0x08}}}});
  CHECK(packed[0].bytes ==
        std::vector<std::byte>{std::byte{0x1f}, std::byte{0x08}});  // -1, 1, and -(-8) wraps
}

TEST_CASE("eval: nothing to compute: rank 0, extents of 0, empty reductions") {
  Builder b({TensorType(DType::f32, Shape{3, 0}), TensorType(DType::i32, Shape{3, 0})});
  auto fold = [&](Fold kind, std::uint32_t input) {
    b.output(b.stage("f", {3}, [&](auto i) {
      return b.reduce(kind, {{"r", 0}}, [&](auto r) { return b.input(input)({i[0], r[0]}); });
    }));
  };
  fold(Fold::sum, 0);
  fold(Fold::max, 0);
  fold(Fold::min, 1);
  fold(Fold::prod, 1);
  b.output(b.stage("none", {0, 4}, [&](auto i) { return b.input(0)({i[1], i[0]}); }));
  b.output(b.stage("one", {}, [&](auto) { return b.imm(DType::f64, 2.5); }));
  REQUIRE(check(b.get()) == "");
  auto r =
      test::run(b.get(), {test::tensor<float>({3, 0}, {}), test::tensor<std::int32_t>({3, 0}, {})});
  CHECK(values<float>(r[0]) == std::vector<float>{0, 0, 0});
  CHECK(values<float>(r[1]) == std::vector<float>{-inf, -inf, -inf});
  CHECK(values<std::int32_t>(r[2]) == std::vector<std::int32_t>(3, INT32_MAX));
  CHECK(values<std::int32_t>(r[3]) == std::vector<std::int32_t>{1, 1, 1});
  CHECK(r[4].bytes.empty());
  CHECK(values<double>(r[5]) == std::vector<double>{2.5});
}

TEST_CASE("eval: a long reduction into one element folds in order, whatever the blocks") {
  const std::int64_t n = 5000;
  std::mt19937 rng(3);
  std::vector<float> x(static_cast<std::size_t>(n));
  for (float& v : x) v = static_cast<float>(rng()) / 1e9f;
  Builder b({TensorType(DType::f32, Shape{n})});
  b.output(b.stage("s", {}, [&](auto) {
    return b.reduce(Fold::sum, {{"r", n}},
                    [&](auto r) { return b.input(0)({r[0]}) * b.input(0)({r[0]}); });
  }));
  float want = 0;
  for (float v : x) want += v * v;
  CHECK(test::run(b.get(), {test::tensor<float>({n}, x)})[0].as<float>()[0] == want);
}

TEST_CASE("eval: an output in place of an input of the same index") {
  Builder b({TensorType(DType::f32, Shape{3000})});
  b.output(b.stage("s", {3000}, [&](auto i) { return b.input(0)(i) + b.imm(DType::f32, 1); }));
  std::vector<float> x(3000, 4.0f);
  const std::byte* in[] = {reinterpret_cast<const std::byte*>(x.data())};
  std::byte* out[] = {reinterpret_cast<std::byte*>(x.data())};
  evaluate(b.get(), in, out);
  CHECK(x == std::vector<float>(3000, 5.0f));
}

TEST_CASE(
    "eval: blocks that lie side by side in an operand and blocks that straddle its rows, in turn") {
  constexpr std::int64_t rows = 7, columns = 2999, depth = 3;
  Builder b(
      {TensorType(DType::f32, Shape{rows, depth}), TensorType(DType::f32, Shape{depth, columns})});
  const T w = b.input(0), x = b.input(1);
  b.output(b.stage("out", {rows, columns}, [&](auto i) {
    return b.reduce(Fold::sum, {{"k", depth}}, [&](auto r) {
      return w({i[0], r[0]}) * x({r[0], i[1]});
    });
  }));
  std::vector<float> wv(rows * depth), xv(depth * columns), got(rows * columns);
  for (std::size_t k = 0; k < wv.size(); ++k) wv[k] = static_cast<float>(k % 5) - 2;
  for (std::size_t k = 0; k < xv.size(); ++k) xv[k] = static_cast<float>(k % 11) - 5;
  const std::byte* in[] = {reinterpret_cast<const std::byte*>(wv.data()),
                           reinterpret_cast<const std::byte*>(xv.data())};
  std::byte* out[] = {reinterpret_cast<std::byte*>(got.data())};
  evaluate(b.get(), in, out);
  bool same = true;
  for (std::size_t i = 0; i < rows; ++i)
    for (std::size_t p = 0; p < columns; ++p) {
      float sum = 0;
      for (std::size_t k = 0; k < depth; ++k) sum += wv[i * depth + k] * xv[k * columns + p];
      same = same && got[i * columns + p] == sum;
    }
  CHECK(same);
}
