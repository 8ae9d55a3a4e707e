// Types whose register differs from their bytes: f16, bf16, i4, u4.
#include <bit>
#include <cmath>
#include <cstring>

#include "core/eval/kernels.h"

namespace tenon::eval {

namespace {

/// Round to nearest even.
std::uint16_t f16_of(float x) {
  const auto u = std::bit_cast<std::uint32_t>(x);
  const auto sign = static_cast<std::uint16_t>((u >> 16) & 0x8000);
  const std::uint32_t a = u & 0x7fffffff;
  if (a > 0x7f800000) return static_cast<std::uint16_t>(sign | 0x7e00);   // NaN
  if (a >= 0x477ff000) return static_cast<std::uint16_t>(sign | 0x7c00);  // rounds to infinity
  if (a < 0x38800000) {  // subnormal or zero: units of 2^-24
    const float units = std::nearbyint(std::bit_cast<float>(a) * 16777216.0f);
    return static_cast<std::uint16_t>(sign | static_cast<std::uint16_t>(units));
  }
  const std::uint32_t rounded = a + 0xfff + ((a >> 13) & 1);
  return static_cast<std::uint16_t>(sign | ((rounded - 0x38000000) >> 13));
}

float f16_to(std::uint16_t h) {
  const std::uint32_t sign = static_cast<std::uint32_t>(h & 0x8000) << 16, e = (h >> 10) & 31,
                      m = h & 1023;
  if (e == 0)
    return std::bit_cast<float>(sign |
                                std::bit_cast<std::uint32_t>(static_cast<float>(m) / 16777216.0f));
  return std::bit_cast<float>(sign | (e == 31 ? 0x7f800000 : (e + 112) << 23) | (m << 13));
}

std::uint16_t bf16_of(float x) {
  const auto u = std::bit_cast<std::uint32_t>(x);
  if ((u & 0x7fffffff) > 0x7f800000) return static_cast<std::uint16_t>((u >> 16) | 0x40);
  return static_cast<std::uint16_t>((u + 0x7fff + ((u >> 16) & 1)) >> 16);
}

float bf16_to(std::uint16_t h) { return std::bit_cast<float>(static_cast<std::uint32_t>(h) << 16); }

}  // namespace

void narrow(DType t, void* x, std::size_t n) {
  auto* f = static_cast<float*>(x);
  auto* b = static_cast<std::uint8_t*>(x);
  for (std::size_t i = 0; i < n; ++i) switch (t) {
      case DType::f16:
        f[i] = f16_to(f16_of(f[i]));
        break;
      case DType::bf16:
        f[i] = bf16_to(bf16_of(f[i]));
        break;
      case DType::u4:
        b[i] &= 15;
        break;
      case DType::i4:
        b[i] = static_cast<std::uint8_t>(static_cast<std::int8_t>(b[i] << 4) >> 4);
        break;
      default:
        return;
    }
}

void unpack(DType t, const std::byte* bytes, void* out, std::size_t n) {
  for (std::size_t i = 0; i < n; ++i) {
    if (bits(t) == 4) {
      const auto pair = static_cast<std::uint8_t>(bytes[i / 2]);
      const auto v = static_cast<std::uint8_t>(i % 2 ? pair >> 4 : pair & 15);
      static_cast<std::uint8_t*>(out)[i] = v;
      narrow(t, static_cast<std::uint8_t*>(out) + i, 1);
    } else if (is_narrow(t)) {
      std::uint16_t h;
      std::memcpy(&h, bytes + 2 * i, 2);
      static_cast<float*>(out)[i] = t == DType::f16 ? f16_to(h) : bf16_to(h);
    } else {
      std::memcpy(static_cast<std::byte*>(out) + i * register_width(t),
                  bytes + i * register_width(t), register_width(t));
    }
  }
}

void pack(DType t, const void* in, std::byte* bytes, std::size_t n) {
  if (bits(t) == 4) std::memset(bytes, 0, (n + 1) / 2);
  for (std::size_t i = 0; i < n; ++i) {
    if (bits(t) == 4) {
      const auto v = static_cast<std::uint8_t>(static_cast<const std::uint8_t*>(in)[i] & 15);
      bytes[i / 2] |= static_cast<std::byte>(i % 2 ? v << 4 : v);
    } else if (is_narrow(t)) {
      const float x = static_cast<const float*>(in)[i];
      const std::uint16_t h = t == DType::f16 ? f16_of(x) : bf16_of(x);
      std::memcpy(bytes + 2 * i, &h, 2);
    } else {
      std::memcpy(bytes + i * register_width(t),
                  static_cast<const std::byte*>(in) + i * register_width(t), register_width(t));
    }
  }
}

}  // namespace tenon::eval
