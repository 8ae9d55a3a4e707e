// Scalar operations of the interpreter. f16 and bf16 are rounded by arithmetic on exact values,
// integers go through 64 bits; nothing here is shared with a target.
#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "tenon/diag.h"
#include "tests/support/tir_interpreter.h"

namespace tenon::test {
namespace {

/// A binary float format: `p` bits of precision, exponents emin..emax.
struct Format {
  int p, emin, emax;
};
Format format_of(DType t) { return t == DType::f16 ? Format{11, -14, 15} : Format{8, -126, 127}; }

Lane encode_small(DType t, float x) {
  const Format f = format_of(t);
  const unsigned width = 16, mantissa = static_cast<unsigned>(f.p - 1);
  const Lane sign = std::signbit(x) ? Lane{1} << (width - 1) : 0;
  const Lane infinity = ((Lane{1} << (width - 1 - mantissa)) - 1) << mantissa;
  if (std::isnan(x)) return infinity | (Lane{1} << (mantissa - 1));
  if (std::isinf(x)) return sign | infinity;
  if (x == 0) return sign;
  const int e = std::max(std::ilogb(x), f.emin);
  const double units =
      std::nearbyint(std::ldexp(std::fabs(static_cast<double>(x)), f.p - 1 - e));  // ties to even
  // The encoding is linear in units: a carry moves into the exponent by itself.
  const Lane raw = (static_cast<Lane>(e - f.emin) << mantissa) + static_cast<Lane>(units);
  return sign | std::min(raw, infinity);
}

double decode(DType t, Lane v) {
  if (t == DType::f64) return std::bit_cast<double>(v);
  if (t == DType::f32) return std::bit_cast<float>(static_cast<std::uint32_t>(v));
  const Format f = format_of(t);
  const unsigned mantissa = static_cast<unsigned>(f.p - 1);
  const Lane m = v & ((Lane{1} << mantissa) - 1), e = (v & 0x7fff) >> mantissa;
  const double sign = v & 0x8000 ? -1 : 1;
  if (static_cast<int>(e) == f.emax - f.emin + 2) return m ? std::nan("") : sign * HUGE_VAL;
  if (e == 0) return sign * std::ldexp(static_cast<double>(m), f.emin - f.p + 1);
  return sign * std::ldexp(static_cast<double>(m | (Lane{1} << mantissa)),
                           f.emin - f.p + static_cast<int>(e));
}

Lane encode(DType t, double x) {
  if (t == DType::f64) return std::bit_cast<Lane>(x);
  if (t == DType::f32) return std::bit_cast<std::uint32_t>(static_cast<float>(x));
  return encode_small(t, static_cast<float>(x));
}

Lane float_op(ScalarOp op, DType t, Lane a, Lane b, Lane c) {
  const double x = decode(t, a), y = decode(t, b), z = decode(t, c);
  const Lane sign = Lane{1} << (bits(t) - 1);
  switch (op) {
    case ScalarOp::neg:
      return a ^ sign;
    case ScalarOp::abs:
      return a & ~sign;
    case ScalarOp::sqrt:
      return t == DType::f32 ? encode(t, std::sqrt(static_cast<float>(x)))
                             : encode(t, std::sqrt(x));
    case ScalarOp::floor:
      return encode(t, std::floor(x));
    case ScalarOp::ceil:
      return encode(t, std::ceil(x));
    case ScalarOp::round_even:
      return encode(t, std::nearbyint(x));
    case ScalarOp::is_nan:
      return std::isnan(x);
    // Computed in double and rounded to f32: for up to 24 bits the second rounding of these four is
    // harmless.
    case ScalarOp::add:
      return encode(t, x + y);
    case ScalarOp::sub:
      return encode(t, x - y);
    case ScalarOp::mul:
      return encode(t, x * y);
    case ScalarOp::div:
      return encode(t, x / y);
    case ScalarOp::min:
      return x < y ? a : b;
    case ScalarOp::max:
      return x > y ? a : b;
    case ScalarOp::ldexp:  // exact in double
      if (std::isnan(y)) return b;
      if (std::isinf(y)) return encode(t, (std::isnan(x) ? 1 : x) * (y > 0 ? y : 0));
      return encode(t, std::scalbn(x, static_cast<int>(std::clamp(std::floor(y), -600.0, 600.0))));
    case ScalarOp::eq:
      return x == y;
    case ScalarOp::ne:
      return x != y;
    case ScalarOp::lt:
      return x < y;
    case ScalarOp::le:
      return x <= y;
    case ScalarOp::gt:
      return x > y;
    case ScalarOp::ge:
      return x >= y;
    case ScalarOp::fma:
      if (t == DType::f64) return encode(t, std::fma(x, y, z));
      return encode(t,
                    std::fma(static_cast<float>(x), static_cast<float>(y), static_cast<float>(z)));
    default:
      TENON_BUG("operation that kernels do not have for floats");
  }
}

Lane cut(DType t, Lane v) { return bits(t) == 64 ? v : v & ((Lane{1} << bits(t)) - 1); }

std::int64_t extend(DType t, Lane v) {
  const unsigned shift = 64 - bits(t);
  return is_signed(t) ? static_cast<std::int64_t>(v << shift) >> shift
                      : static_cast<std::int64_t>(v);
}

struct DivMod {
  Lane div, mod;
};
DivMod floor_div(DType t, Lane a, Lane b) {
  if (cut(t, b) == 0) return {0, 0};
  if (!is_signed(t)) return {a / b, a % b};
  __extension__ using Wide = __int128;
  const Wide x = extend(t, a), y = extend(t, b);
  Wide q = x / y, r = x % y;
  if (r != 0 && (r < 0) != (y < 0)) q -= 1, r += y;
  return {static_cast<Lane>(q), static_cast<Lane>(r)};
}

Lane shift(ScalarOp op, DType t, Lane a, Lane b) {
  const bool out = cut(t, b) >= bits(t);
  if (op == ScalarOp::shl) return out ? 0 : a << b;
  if (!is_signed(t)) return out ? 0 : a >> b;
  return static_cast<Lane>(extend(t, a) >> (out ? 63 : b));
}

Lane int_op(ScalarOp op, DType t, Lane a, Lane b, Lane c) {
  const std::int64_t x = extend(t, a), y = extend(t, b);
  const bool less = is_signed(t) ? x < y : a < b, more = is_signed(t) ? x > y : a > b;
  switch (op) {
    case ScalarOp::neg:
      return 0 - a;
    case ScalarOp::abs:
      return is_signed(t) && x < 0 ? 0 - a : a;
    case ScalarOp::floor:
    case ScalarOp::ceil:
    case ScalarOp::round_even:
      return a;
    case ScalarOp::bit_not:
      return ~a;
    case ScalarOp::logical_not:
      return a == 0;
    case ScalarOp::add:
      return a + b;
    case ScalarOp::sub:
      return a - b;
    case ScalarOp::mul:
      return a * b;
    case ScalarOp::div:
      return floor_div(t, a, b).div;
    case ScalarOp::mod:
      return floor_div(t, a, b).mod;
    case ScalarOp::min:
      return less ? a : b;
    case ScalarOp::max:
      return more ? a : b;
    case ScalarOp::bit_and:
    case ScalarOp::logical_and:
      return a & b;
    case ScalarOp::bit_or:
    case ScalarOp::logical_or:
      return a | b;
    case ScalarOp::bit_xor:
      return a ^ b;
    case ScalarOp::shl:
    case ScalarOp::shr:
      return shift(op, t, a, b);
    case ScalarOp::eq:
      return a == b;
    case ScalarOp::ne:
      return a != b;
    case ScalarOp::lt:
      return less;
    case ScalarOp::le:
      return !more;
    case ScalarOp::gt:
      return more;
    case ScalarOp::ge:
      return !less;
    case ScalarOp::fma:
      return a * b + c;
    default:
      TENON_BUG("operation that kernels do not have for integers");
  }
}

Lane saturate(DType t, double x) {
  if (std::isnan(x)) return 0;
  const unsigned w = bits(t);
  const long double low = is_signed(t) ? -std::ldexp(1.0L, static_cast<int>(w) - 1) : 0;
  const long double high = std::ldexp(1.0L, static_cast<int>(is_signed(t) ? w - 1 : w)) - 1;
  const long double y = std::trunc(static_cast<long double>(x));
  if (y <= low) return cut(t, is_signed(t) ? Lane{1} << (w - 1) : 0);
  if (y >= high) return is_signed(t) ? (Lane{1} << (w - 1)) - 1 : cut(t, ~Lane{0});
  return cut(t, y < 0 ? static_cast<Lane>(static_cast<std::int64_t>(y)) : static_cast<Lane>(y));
}

Lane cast(DType from, DType to, Lane a) {
  if (from == to) return a;
  if (is_float(from)) {
    const double x = decode(from, a);
    if (to == DType::boolean) return x != 0;
    return is_float(to) ? encode(to, x) : saturate(to, x);
  }
  if (to == DType::boolean) return cut(from, a) != 0;
  if (!is_float(to)) return cut(to, static_cast<Lane>(extend(from, a)));
  const long double x =
      is_signed(from) ? static_cast<long double>(extend(from, a)) : static_cast<long double>(a);
  if (to == DType::f64) return encode(to, static_cast<double>(x));
  const auto f = static_cast<float>(x);  // one rounding: a long double holds every 64-bit integer
  return to == DType::f32 ? std::bit_cast<std::uint32_t>(f) : encode_small(to, f);
}

}  // namespace

Lane interpret_scalar(ScalarOp op, DType from, DType to, Lane a, Lane b, Lane c) {
  if (op == ScalarOp::cast) return cast(from, to, a);
  if (op == ScalarOp::bitcast) return a;
  if (op == ScalarOp::select) return a ? b : c;
  if (is_float(from)) return float_op(op, from, a, b, c);
  return cut(to, int_op(op, from, a, b, c));
}

}  // namespace tenon::test
