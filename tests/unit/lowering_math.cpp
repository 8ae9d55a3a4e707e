// The polynomials of the lowering against libm in double, over the whole domain of f32: every
// exponent, both signs, denormals, values near the thresholds, infinities, NaN.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>

#include "tests/support/lowering_kit.h"
#include "tests/support/te_cases.h"

using namespace tenon;
using namespace tenon::test;

namespace {

std::vector<float> samples(int per_exponent) {
  std::mt19937 rng(7);
  std::vector<float> r;
  for (std::uint32_t e = 0; e < 255; ++e)
    for (int k = 0; k < per_exponent; ++k) {
      const std::uint32_t bits = (e << 23) | (rng() & 0x7fffff);
      r.push_back(std::bit_cast<float>(bits));
      r.push_back(std::bit_cast<float>(bits | 0x80000000u));
    }
  std::uniform_real_distribution<float> usual(-110, 110), near(-3, 3);
  for (int k = 0; k < 40 * per_exponent; ++k) r.push_back(usual(rng)), r.push_back(near(rng));
  const float inf = std::numeric_limits<float>::infinity();
  for (float x :
       {0.0f,          -0.0f,          1.0f,        -1.0f,      2.0f,          0.5f,     -0.5f,
        3.0f,          -3.0f,          inf,         -inf,       std::nanf(""), 88.7228f, 88.73f,
        -87.3f,        -103.9f,        -104.1f,     0.625f,     0.927734375f,  4.0f,     1e-45f,
        3.4028235e38f, -3.4028235e38f, 16777216.0f, 16777215.0f})
    r.push_back(x);
  return r;
}

std::vector<std::byte> bytes(const std::vector<float>& v) {
  std::vector<std::byte> r(v.size() * 4);
  std::memcpy(r.data(), v.data(), r.size());
  return r;
}

std::vector<float> floats(const std::vector<std::byte>& v) {
  std::vector<float> r(v.size() / 4);
  std::memcpy(r.data(), v.data(), v.size());
  return r;
}

double ulps(float have, double want) {
  const float rounded = static_cast<float>(want);
  if (std::isnan(want) || std::isnan(have)) return std::isnan(want) && std::isnan(have) ? 0 : 1e9;
  if (std::isinf(rounded) || std::isinf(have)) return rounded == have ? 0 : 1e9;
  int e = 0;
  std::frexp(want, &e);
  return std::abs(have - want) / std::ldexp(1.0, std::max(e - 1, -126) - 23);
}

void check_unary(ScalarOp op, double (*truth)(double), double bound) {
  const std::vector<float> x = samples(60);
  const auto n = static_cast<std::int64_t>(x.size());
  const te::Compute c = elementwise(
      {n}, {{n}}, DType::f32, [op](te::Builder&, std::vector<E> a) { return te::unary(op, a[0]); });
  const std::vector<float> y = floats(run_native(c, {bytes(x)})[0]);
  double worst = 0;
  float at = 0;
  for (std::size_t i = 0; i < x.size(); ++i)
    if (const double u = ulps(y[i], truth(x[i])); u > worst) worst = u, at = x[i];
  INFO(name(op), " at ", at, ": ", worst, " ulp");
  CHECK(worst <= bound);
}

void check_binary(ScalarOp op, double (*truth)(double, double), double bound) {
  const std::vector<float> some = samples(2);
  std::vector<float> x, y;
  std::mt19937 rng(5);
  for (std::size_t i = 0; i < 60000; ++i) {
    x.push_back(some[rng() % some.size()]);
    y.push_back(i % 3 ? some[rng() % some.size()]
                      : static_cast<float>(static_cast<int>(rng() % 41) - 20));
  }
  for (std::size_t i = some.size() - 25; i < some.size(); ++i)
    for (std::size_t j = some.size() - 25; j < some.size(); ++j)
      x.push_back(some[i]), y.push_back(some[j]);
  const auto n = static_cast<std::int64_t>(x.size());
  const te::Compute c =
      elementwise({n}, {{n}, {n}}, DType::f32,
                  [op](te::Builder&, std::vector<E> a) { return te::binary(op, a[0], a[1]); });
  const std::vector<float> r = floats(run_native(c, {bytes(x), bytes(y)})[0]);
  double worst = 0;
  std::size_t at = 0;
  for (std::size_t i = 0; i < x.size(); ++i)
    if (const double u = ulps(r[i], truth(x[i], y[i])); u > worst) worst = u, at = i;
  INFO(name(op), " at ", x[at], ", ", y[at], ": have ", r[at], ", ", worst, " ulp");
  CHECK(worst <= bound);
}

double sigmoid(double x) {
  return x < 0 ? std::exp(x) / (1 + std::exp(x)) : 1 / (1 + std::exp(-x));
}
double floor_mod(double x, double y) {
  const double r = std::fmod(x, y);
  return r != 0 && (r < 0) != (y < 0) ? r + y : r;
}

}  // namespace

TEST_CASE("lowering: transcendental functions over all of f32") {
  check_unary(
      ScalarOp::exp, [](double x) { return std::exp(x); }, 2);
  check_unary(
      ScalarOp::log, [](double x) { return std::log(x); }, 2);
  check_unary(
      ScalarOp::tanh, [](double x) { return std::tanh(x); }, 3);
  check_unary(ScalarOp::sigmoid, sigmoid, 4);
  check_unary(
      ScalarOp::erf, [](double x) { return std::erf(x); }, 3);
  check_unary(
      ScalarOp::sin, [](double x) { return std::sin(x); }, 1);
  check_unary(
      ScalarOp::cos, [](double x) { return std::cos(x); }, 1);
}

TEST_CASE("lowering: power and remainder over all of f32") {
  check_binary(
      ScalarOp::pow, [](double x, double y) { return std::pow(x, y); }, 1);
  check_binary(ScalarOp::mod, floor_mod, 1);
}

TEST_CASE("lowering: transcendental functions of narrow floats go through f32") {
  std::vector<Case> cases;
  for (DType t : {DType::f16, DType::bf16})
    for (ScalarOp op : {ScalarOp::exp, ScalarOp::tanh, ScalarOp::sigmoid})
      cases.push_back(
          {fmt::format("{} of {}", name(op), name(t)),
           elementwise({33}, {{33}}, t,
                       [op](te::Builder&, std::vector<E> a) { return te::unary(op, a[0]); }),
           1});
  judge(cases);
}

TEST_CASE("lowering: powers of integers wrap") {
  std::vector<Case> cases;
  for (DType t : {DType::i8, DType::u8, DType::i32, DType::i64})
    cases.push_back({std::string(name(t)),
                     elementwise({40}, {{40}, {40}}, t, [](te::Builder&, std::vector<E> a) {
                       return te::binary(ScalarOp::pow, a[0], a[1]);
                     })});
  judge(cases);
}

TEST_CASE("lowering: what it refuses, it names") {
  const auto refusal = [](const te::Compute& c) {
    const auto s = te_lowering().schedule(c, plain_facts(), {});
    REQUIRE(s);
    const auto k = te_lowering().kernel(c, *s, plain_facts(), {});
    REQUIRE_FALSE(k);
    return k.errors()[0].code;
  };
  CHECK(refusal(elementwise({4}, {{4}}, DType::f64, [](te::Builder&, std::vector<E> a) {
          return te::unary(ScalarOp::exp, a[0]);
        })) == 6205);
  CHECK(refusal(elementwise({4}, {{4}}, DType::i4,
                            [](te::Builder&, std::vector<E> a) { return a[0]; })) == 6204);
}

TEST_CASE("lowering: a schedule that does not fit is refused") {
  const te::Compute c = matmul(0, 8, 16, 4);
  const auto code = [&](std::vector<LoopSpec> loops, std::size_t stages = 1) {
    Schedule s{.family = "test",
               .stages = std::vector<StageSchedule>(stages, StageSchedule{.loops = loops})};
    const auto k = te_lowering().kernel(c, s, plain_facts(), {});
    return k ? 0 : k.errors()[0].code;
  };
  using enum LoopKind;
  CHECK(code({{0, 6, parallel}, {2, 1, serial}, {0, 1, unroll}, {1, 16, vector}}) == 0);
  CHECK(code({{0, 1, serial}, {1, 1, serial}, {2, 1, serial}}) == 0);
  CHECK(code({{0, 1, serial}, {1, 1, serial}, {2, 1, serial}}, 2) == 6203);
  CHECK(code({{0, 1, serial}, {1, 1, serial}}) == 6203);
  CHECK(code({{0, 6, serial}, {1, 1, serial}, {2, 1, serial}}) == 6203);
  CHECK(code({{0, 1, serial}, {2, 1, serial}, {1, 1, serial}}) == 6203);
  CHECK(code({{0, 1, serial}, {1, 1, parallel}, {2, 1, serial}}) == 6203);
  CHECK(code({{2, 1, parallel}, {0, 1, serial}, {1, 1, serial}}) == 6203);
  CHECK(code({{0, 0, serial}, {1, 1, serial}, {2, 1, serial}}) == 6203);
  CHECK(code({{0, 1, serial}, {1, 1, serial}, {3, 1, serial}}) == 6203);
}
