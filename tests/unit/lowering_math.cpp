// The polynomials of the lowering against libm in double, over the whole domain of f32: every
// exponent, both signs, denormals, both sides of the edges of range reductions, infinities, NaN.
// The bounds are those of the table in plugins/lowerings/te/README.md.
//
// With TENON_EXHAUSTIVE=1 in the environment, functions of one argument are tried on all 2^32
// values (minutes each), and the largest error of each is printed.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <limits>
#include <random>
#include <sstream>

#include "tenon/eval.h"
#include "tests/support/lowering_kit.h"
#include "tests/support/te_cases.h"

using namespace tenon;
using namespace tenon::test;

namespace {

constexpr float inf = std::numeric_limits<float>::infinity();

/// A row of the table: the bound, and that of fast math where there is one.
struct Bounds {
  double ulp = 0, fast = 0;
  bool absolute = false;
  float from = -inf, to = inf;
};

Bounds bounds_of(ScalarOp op) {
  std::ifstream file(TENON_SOURCE_DIR "/plugins/lowerings/te/README.md");
  const std::string start = fmt::format("| {} | ", name(op));
  for (std::string line; std::getline(file, line);) {
    if (!line.starts_with(start)) continue;
    std::istringstream row(line.substr(start.size()));
    std::vector<std::string> cells;
    for (std::string cell; std::getline(row, cell, '|');) {
      cell.erase(0, cell.find_first_not_of(' '));
      cell.erase(cell.find_last_not_of(' ') + 1);
      cells.push_back(cell);
    }
    REQUIRE(cells.size() >= 5);
    Bounds b{.ulp = std::stod(cells[0])};
    if (cells[1].empty()) return b;
    b.fast = std::stod(cells[1]);
    REQUIRE((cells[2] == "ulp" || cells[2] == "absolute"));
    b.absolute = cells[2] == "absolute";
    b.from = std::stof(cells[3]);
    b.to = std::stof(cells[4]);
    return b;
  }
  FAIL("the table of bounds has no row `", start, "`");
  return {};
}

/// Values beside x, in both directions.
void add_around(std::vector<float>& r, double x, int steps) {
  float low = static_cast<float>(x), high = low;
  for (int k = 0; k <= steps; ++k) {
    for (float v : {low, high, -low, -high}) r.push_back(v);
    low = std::nextafter(low, -inf);
    high = std::nextafter(high, inf);
  }
}

std::vector<float> samples(int per_exponent) {
  std::mt19937 rng(7);
  std::vector<float> r;
  const auto both_signs = [&](std::uint32_t bits) {
    r.push_back(std::bit_cast<float>(bits));
    r.push_back(std::bit_cast<float>(bits | 0x80000000u));
  };
  for (std::uint32_t e = 0; e < 255; ++e) {
    for (int k = 0; k < per_exponent; ++k) both_signs((e << 23) | (rng() & 0x7fffff));
    for (std::uint32_t mantissa : {0u, 1u, 0x400000u, 0x7fffffu}) both_signs((e << 23) | mantissa);
  }
  std::uniform_real_distribution<float> usual(-110, 110), near(-3, 3);
  for (int k = 0; k < 40 * per_exponent; ++k) r.push_back(usual(rng)), r.push_back(near(rng));
  // Where exponentials change their power of two, logarithms theirs, circular functions their
  // quarter.
  for (int n = -152; n <= 130; ++n) add_around(r, (n + 0.5) * 0.69314718055994531, 2);
  for (int n = -149; n < 128; ++n) add_around(r, std::ldexp(0.70710678118654752, n), 2);
  for (int n = 1; n < 200; ++n) add_around(r, n * 0.78539816339744831, 2);
  for (int e = 8; e < 128; ++e) {  // near multiples of pi / 2 of any size
    const double quarters = std::floor(std::ldexp(1.0, e) / 1.5707963267948966);
    add_around(r, quarters * 1.5707963267948966, 2);
  }
  for (double x : {0.0, 0.625, 1.0, 2.46, 3.92, 80.0, 87.336544, 88.7228317, 89.0, 103.972, 104.0,
                   1.17549435e-38, 16777216.0, 3.4028235e38})
    add_around(r, x, 4);
  for (float x : {1.0f, 2.0f, -2.0f, 0.5f, -0.5f, 3.0f, -3.0f, 0.0f, -0.0f, inf, -inf,
                  std::nanf(""), -std::nanf(""), 1e-45f, -1e-45f})
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
  if (want == 0) return have == 0 && std::signbit(have) == std::signbit(want) ? 0 : 1e9;
  int e = 0;
  std::frexp(want, &e);
  return std::abs(have - want) / std::ldexp(1.0, std::max(e - 1, -126) - 23);
}

struct Worst {
  double ulp = 0;
  float at = 0;
  void take(double u, float x) {
    if (u > ulp) ulp = u, at = x;
  }
};

te::Compute one_op(ScalarOp op, std::int64_t n) {
  return elementwise({n}, {{n}}, DType::f32,
                     [op](te::Builder&, std::vector<E> a) { return te::unary(op, a[0]); });
}

/// Every `stride`th value of f32, by blocks; the kernel is compiled once.
Worst exhaustive(ScalarOp op, double (*truth)(double), std::uint64_t stride) {
  constexpr std::uint64_t block = 1 << 20;
  const te::Compute c = one_op(op, block);
  const NativeKernel kernel(c);
  Worst worst;
  std::vector<float> x(block);
  for (std::uint64_t first = 0; first < std::uint64_t{1} << 32; first += block * stride) {
    for (std::uint64_t i = 0; i < block; ++i)
      x[i] = std::bit_cast<float>(static_cast<std::uint32_t>(first + i * stride));
    const std::vector<float> y = floats(kernel.run({bytes(x)})[0]);
    for (std::uint64_t i = 0; i < block; ++i) worst.take(ulps(y[i], truth(x[i])), x[i]);
  }
  return worst;
}

/// The compiled kernel, the same kernel interpreted (equal to the last bit), and the evaluator.
void check_samples(ScalarOp op, double (*truth)(double), double bound) {
  const std::vector<float> x = samples(60);
  const te::Compute c = one_op(op, static_cast<std::int64_t>(x.size()));
  const NativeKernel kernel(c);
  const std::vector<float> y = floats(kernel.run({bytes(x)})[0]);
  const std::vector<float> interpreted = floats(kernel.interpret({bytes(x)})[0]);
  std::vector<std::byte> evaluated(x.size() * 4);
  const std::vector<std::byte> input = bytes(x);
  const std::byte* in[] = {input.data()};
  std::byte* out[] = {evaluated.data()};
  evaluate(c, in, out);
  const std::vector<float> e = floats(evaluated);
  Worst worst, reference;
  std::size_t differ = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    worst.take(ulps(y[i], truth(x[i])), x[i]);
    reference.take(ulps(e[i], truth(x[i])), x[i]);
    differ += std::bit_cast<std::uint32_t>(y[i]) != std::bit_cast<std::uint32_t>(interpreted[i]) &&
              !(std::isnan(y[i]) && std::isnan(interpreted[i]));
  }
  CAPTURE(name(op));
  INFO("kernel at ", worst.at, ": ", worst.ulp, " ulp; evaluator at ", reference.at, ": ",
       reference.ulp, " ulp");
  CHECK(worst.ulp <= bound);
  CHECK(reference.ulp <= bound);
  CHECK(differ == 0);
}

void check_unary(ScalarOp op, double (*truth)(double)) {
  const double bound = bounds_of(op).ulp;
  check_samples(op, truth, bound);  // one kernel is loaded at a time
  const char* stride = std::getenv("TENON_EXHAUSTIVE");
  if (!stride) return;
  const Worst all = exhaustive(op, truth, std::max<std::uint64_t>(1, std::stoull(stride)));
  MESSAGE(name(op), ", every ", std::string(stride), "th value of f32: ", all.ulp, " ulp at ",
          all.at);
  CHECK(all.ulp <= bound);
}

/// The kernel with fast math: within its bounds where they hold, and no NaN or infinity elsewhere.
void check_fast(ScalarOp op, double (*truth)(double)) {
  const Bounds bounds = bounds_of(op);
  REQUIRE(bounds.fast > 0);
  const std::vector<float> x = samples(60);
  const NativeKernel kernel(one_op(op, static_cast<std::int64_t>(x.size())), true);
  const std::vector<float> y = floats(kernel.run({bytes(x)})[0]);
  Worst worst;
  std::size_t strange = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    strange += std::isnan(truth(x[i])) ? !std::isnan(y[i]) : !std::isfinite(y[i]);
    if (!(x[i] >= bounds.from && x[i] <= bounds.to)) continue;
    const double want = truth(x[i]);
    worst.take(bounds.absolute ? std::abs(y[i] - want) : ulps(y[i], want), x[i]);
  }
  INFO(name(op), " at ", worst.at, ": ", worst.ulp);
  CHECK(worst.ulp <= bounds.fast);
  CHECK(strange == 0);
}

void check_binary(ScalarOp op, double (*truth)(double, double)) {
  const double bound = bounds_of(op).ulp;
  const std::vector<float> some = samples(2);
  std::vector<float> x, y;
  std::mt19937 rng(5);
  for (std::size_t i = 0; i < 60000; ++i) {
    x.push_back(some[rng() % some.size()]);
    y.push_back(i % 3 ? some[rng() % some.size()]
                      : static_cast<float>(static_cast<int>(rng() % 41) - 20));
  }
  for (std::size_t i = some.size() - 40; i < some.size(); ++i)
    for (std::size_t j = some.size() - 40; j < some.size(); ++j)
      x.push_back(some[i]), y.push_back(some[j]);
  // Results of any size from exponents that are no integers.
  std::uniform_real_distribution<double> base(-126, 127), result(-150, 130);
  for (std::size_t i = 0; i < 60000; ++i) {
    const double b = base(rng);
    x.push_back(static_cast<float>(std::exp2(b)));
    y.push_back(static_cast<float>(result(rng) / b));
  }
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

TEST_CASE("lowering: exponentials over all of f32") {
  check_unary(ScalarOp::exp, [](double x) { return std::exp(x); });
  check_unary(ScalarOp::tanh, [](double x) { return std::tanh(x); });
  check_unary(ScalarOp::sigmoid, sigmoid);
}

TEST_CASE("lowering: logarithm and error function over all of f32") {
  check_unary(ScalarOp::log, [](double x) { return std::log(x); });
  check_unary(ScalarOp::erf, [](double x) { return std::erf(x); });
}

TEST_CASE("lowering: circular functions over all of f32") {
  check_unary(ScalarOp::sin, [](double x) { return std::sin(x); });
  check_unary(ScalarOp::cos, [](double x) { return std::cos(x); });
}

TEST_CASE("lowering: fast math keeps its own bounds") {
  check_fast(ScalarOp::exp, [](double x) { return std::exp(x); });
  check_fast(ScalarOp::tanh, [](double x) { return std::tanh(x); });
  check_fast(ScalarOp::sigmoid, sigmoid);
  check_fast(ScalarOp::erf, [](double x) { return std::erf(x); });
  check_fast(ScalarOp::sin, [](double x) { return std::sin(x); });
  check_fast(ScalarOp::cos, [](double x) { return std::cos(x); });
}

TEST_CASE("lowering: power and remainder over all of f32") {
  check_binary(ScalarOp::pow, [](double x, double y) { return std::pow(x, y); });
  check_binary(ScalarOp::mod, floor_mod);
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
