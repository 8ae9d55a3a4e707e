#include "core/text/number.h"

#include <fmt/format.h>

#include <bit>
#include <charconv>
#include <cmath>
#include <limits>

namespace tenon::text {
namespace {

template <class F>
std::string digits(F v) {
  char buffer[64];
  const auto [end, ec] = std::to_chars(buffer, buffer + sizeof buffer, v);
  std::string s(buffer, end);
  if (s.find_first_of(".en") == std::string::npos) s += ".0";  // n: inf, nan
  return s;
}

template <class T>
std::optional<T> whole(std::string_view s) {
  T v{};
  const auto [end, ec] = std::from_chars(s.data(), s.data() + s.size(), v);
  return ec == std::errc() && end == s.data() + s.size() ? std::optional(v) : std::nullopt;
}

/// A float type of `exponent` and `mantissa` bits, below a sign.
struct Format {
  int exponent, mantissa;
};
Format format_of(DType t) { return t == DType::f16 ? Format{5, 10} : Format{8, 7}; }

/// Value of a small float.
double widen(Format f, std::uint64_t bits) {
  const int bias = (1 << (f.exponent - 1)) - 1;
  const auto mantissa = static_cast<double>(bits & ((1u << f.mantissa) - 1));
  const int e = static_cast<int>(bits >> f.mantissa) & ((1 << f.exponent) - 1);
  const double v = e == 0 ? std::ldexp(mantissa, 1 - bias - f.mantissa)
                          : std::ldexp(mantissa + (1 << f.mantissa), e - bias - f.mantissa);
  return bits >> (f.exponent + f.mantissa) & 1 ? -v : v;
}

/// Bits of the nearest small float, ties to even; nullopt when it would be infinite.
std::optional<std::uint64_t> narrow(Format f, double v) {
  const int bias = (1 << (f.exponent - 1)) - 1;
  const std::uint64_t sign = std::signbit(v) ? std::uint64_t{1} << (f.exponent + f.mantissa) : 0;
  if (v == 0) return sign;
  int e = 0;
  std::frexp(v, &e);  // 2^(e-1) <= |v| < 2^e
  const int unit = std::max(e - 1, 1 - bias) - f.mantissa;
  const double steps =
      std::nearbyint(std::ldexp(std::fabs(v), -unit));  // exact but for this rounding
  // A mantissa that rounds up to the next power of two carries into the exponent by itself.
  const int e_field = e - 1 < 1 - bias ? 0 : e - 1 + bias;
  const auto field =
      static_cast<std::int64_t>(e_field == 0 ? 0 : e_field - 1) * (std::int64_t{1} << f.mantissa) +
      static_cast<std::int64_t>(steps);
  if (field >= (std::int64_t{(1 << f.exponent) - 1} << f.mantissa)) return std::nullopt;
  return sign | static_cast<std::uint64_t>(field);
}

std::uint64_t infinity(DType t) {
  if (t == DType::f64) return std::bit_cast<std::uint64_t>(std::numeric_limits<double>::infinity());
  if (t == DType::f32) return std::bit_cast<std::uint32_t>(std::numeric_limits<float>::infinity());
  return t == DType::f16 ? 0x7C00 : 0x7F80;
}

std::string float_text(DType t, std::uint64_t bits) {
  const std::uint64_t magnitude = bits & ~(std::uint64_t{1} << (tenon::bits(t) - 1));
  if (magnitude > infinity(t))
    return bits == usual_nan(t) ? "nan" : fmt::format("nan(0x{:x})", bits);
  if (magnitude == infinity(t)) return bits == magnitude ? "inf" : "-inf";
  if (t == DType::f64) return digits(std::bit_cast<double>(bits));
  if (t == DType::f32) return digits(std::bit_cast<float>(static_cast<std::uint32_t>(bits)));
  return digits(static_cast<float>(widen(format_of(t), bits)));
}

std::optional<std::uint64_t> float_of(DType t, std::string_view s) {
  const bool negative = s.starts_with('-');
  const std::uint64_t sign = negative ? std::uint64_t{1} << (bits(t) - 1) : 0;
  const std::string_view rest = s.substr(negative ? 1 : 0);
  if (rest == "inf") return sign | infinity(t);
  if (rest == "nan") return sign | usual_nan(t);
  if (t == DType::f32) {
    const auto v = whole<float>(s);
    return v ? std::optional<std::uint64_t>(std::bit_cast<std::uint32_t>(*v)) : std::nullopt;
  }
  const auto v = whole<double>(s);
  if (!v) return std::nullopt;
  return t == DType::f64 ? std::bit_cast<std::uint64_t>(*v) : narrow(format_of(t), *v);
}

}  // namespace

std::uint64_t usual_nan(DType t) {
  return t == DType::f64   ? 0x7FF8000000000000
         : t == DType::f32 ? 0x7FC00000
         : t == DType::f16 ? 0x7E00
                           : 0x7FC0;
}

std::string real_text(double v) { return float_text(DType::f64, std::bit_cast<std::uint64_t>(v)); }

std::string element_text(DType t, std::uint64_t raw) {
  if (is_float(t)) return float_text(t, raw);
  const unsigned width = bits(t);
  if (!is_signed(t)) return std::to_string(raw);
  return std::to_string(static_cast<std::int64_t>(raw << (64 - width)) >> (64 - width));
}

std::optional<std::uint64_t> element_of(DType t, std::string_view s) {
  if (is_float(t)) return float_of(t, s);
  const unsigned width = bits(t);
  const std::uint64_t mask = width == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << width) - 1;
  if (!is_signed(t)) {
    const auto v = whole<std::uint64_t>(s);
    return v && *v <= mask ? v : std::nullopt;
  }
  const auto v = whole<std::int64_t>(s);
  const auto half = static_cast<std::int64_t>(mask >> 1);
  if (!v || *v > half || *v < -half - 1) return std::nullopt;
  return static_cast<std::uint64_t>(*v) & mask;
}

std::optional<std::uint64_t> hex_of(std::string_view s) {
  std::uint64_t v = 0;
  if (!s.starts_with("0x")) return std::nullopt;
  const auto [end, ec] = std::from_chars(s.data() + 2, s.data() + s.size(), v, 16);
  return ec == std::errc() && end == s.data() + s.size() ? std::optional(v) : std::nullopt;
}

std::optional<double> real_of(std::string_view s) {
  const auto bits = float_of(DType::f64, s);
  return bits ? std::optional(std::bit_cast<double>(*bits)) : std::nullopt;
}
std::optional<std::int64_t> integer_of(std::string_view s) { return whole<std::int64_t>(s); }
std::optional<std::uint64_t> unsigned_of(std::string_view s) { return whole<std::uint64_t>(s); }

}  // namespace tenon::text
