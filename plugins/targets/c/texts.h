// C as it is printed: what every file of kernels begins with, and the longer helpers. In the
// helpers `$` stands for the name, words in capitals for names of functions that they call: TO and
// OF (or FROM) between a float and its bits.
#ifndef TENON_PLUGINS_TARGETS_C_TEXTS_H
#define TENON_PLUGINS_TARGETS_C_TEXTS_H

#include <string_view>

namespace tenon::c_target {

inline constexpr std::string_view root_text =
    R"(TNC_INLINE uint64_t $(uint64_t m, int extra, uint64_t* rest) {
  uint64_t q = 0, r = 0;
  for (int i = 31 + extra; i >= 0; i--) {
    r = (r << 2) | (i >= extra ? (m >> (2 * (i - extra))) & 3u : 0u);
    const uint64_t t = (q << 2) | 1u;
    q <<= 1;
    if (r >= t) {
      r -= t;
      q |= 1u;
    }
  }
  *rest = r;
  return q;
}
)";

// A double is m * 2^e with bit 52 of m set.
inline constexpr std::string_view split_text = R"(TNC_INLINE uint64_t $(double x, int* e) {
  const uint64_t raw = TO(x) & UINT64_C(0x7fffffffffffffff);
  uint64_t m = raw & UINT64_C(0xfffffffffffff);
  *e = (int)(raw >> 52);
  if (*e == 0)
    for (*e = 1; !(m >> 52); --*e) m <<= 1;
  else
    m |= UINT64_C(1) << 52;
  *e -= 1075;
  return m;
}
)";

// hi:lo shifted to the right; its last bit says whether ones were lost.
inline constexpr std::string_view shift_text =
    R"(TNC_INLINE void $(uint64_t* hi, uint64_t* lo, int n) {
  uint64_t lost = 0;
  if (n >= 128) {
    lost = *hi | *lo;
    *hi = *lo = 0;
  }
  if (n >= 64 && n < 128) {
    lost = *lo;
    *lo = *hi;
    *hi = 0;
    n -= 64;
  }
  if (n > 0 && n < 64) {
    lost |= *lo << (64 - n);
    *lo = *lo >> n | *hi << (64 - n);
    *hi >>= n;
  }
  *lo |= lost != 0;
}
)";

// Product and addend with their top bits near bit 125 of 128, brought to one exponent, added,
// rounded once. Where bits are lost on the way, the other one is so much larger that only "there
// was more" counts.
inline constexpr std::string_view fma_f64_text =
    R"(  if (a == 0.0 || b == 0.0 || a - a != 0.0 || b - b != 0.0 || c - c != 0.0) return a * b + c;
  if (c == 0.0) return a * b;
  int ea, eb, ec;
  const uint64_t x = SPLIT(a, &ea), y = SPLIT(b, &eb), z = SPLIT(c, &ec);
  const uint64_t low = (x & 0xffffffffu) * (y & 0xffffffffu), mid = (x >> 32) * (y & 0xffffffffu) + (low >> 32);
  const uint64_t mid2 = (x & 0xffffffffu) * (y >> 32) + (mid & 0xffffffffu);
  uint64_t hi = (x >> 32) * (y >> 32) + (mid >> 32) + (mid2 >> 32), lo = mid2 << 32 | (low & 0xffffffffu);
  hi = hi << 20 | lo >> 44;
  lo <<= 20;
  uint64_t ch = z << 9, cl = 0;
  int e = ea + eb - 20;
  ec -= 73;
  if (e >= ec) {
    SHIFT(&ch, &cl, e - ec);
  } else {
    SHIFT(&hi, &lo, ec - e);
    e = ec;
  }
  uint64_t sign = (TO(a) ^ TO(b)) >> 63;
  if (sign == TO(c) >> 63) {
    lo += cl;
    hi += ch + (lo < cl);
  } else {
    if (hi < ch || (hi == ch && lo < cl)) {
      const uint64_t h = hi, l = lo;
      hi = ch, lo = cl, ch = h, cl = l;
      sign ^= 1u;
    }
    hi -= ch + (lo < cl);
    lo -= cl;
    if ((hi | lo) == 0) return 0.0;
  }
  for (; !(hi >> 62); e--) {
    hi = hi << 1 | lo >> 63;
    lo <<= 1;
  }
  const int drop = e + 74 < -1074 ? -1074 - e : 74;
  SHIFT(&hi, &lo, drop - 2);
  e += drop;
  const uint64_t q = (lo >> 2) + ((lo & 3u) == 3u || (lo & 7u) == 6u);
  const double r = (double)q * OF((uint64_t)(e / 2 + 1023) << 52) * OF((uint64_t)(e - e / 2 + 1023) << 52);
  return sign ? -r : r;
#endif
)";

inline constexpr std::string_view f16_to_f32_text = R"(TNC_INLINE float $(uint16_t h) {
  const uint32_t sign = (uint32_t)(h & 0x8000u) << 16, e = (h >> 10) & 31u, m = h & 0x3ffu;
  if (e == 31u) return FROM(sign | 0x7f800000u | (m << 13));
  if (e == 0u) return FROM(sign | TO((float)m * 0x1p-24f));
  return FROM(sign | ((e + 112u) << 23) | (m << 13));
}
)";

// Below 2^-14 the sum with 0.5 rounds to multiples of 2^-24, which are f16's smallest; above, a
// carry moves into the exponent.
inline constexpr std::string_view f32_to_f16_text = R"(TNC_INLINE uint16_t $(float f) {
  const uint32_t raw = TO(f), sign = (raw >> 16) & 0x8000u;
  uint32_t x = raw & 0x7fffffffu;
  if (x > 0x7f800000u) return (uint16_t)(sign | 0x7e00u);
  if (x >= 0x47800000u) return (uint16_t)(sign | 0x7c00u);
  if (x < 0x38800000u) return (uint16_t)(sign | (TO(FROM(x) + 0.5f) - 0x3f000000u));
  x += 0xfffu + ((x >> 13) & 1u);
  return (uint16_t)(sign | ((x - 0x38000000u) >> 13));
}
)";

inline constexpr std::string_view bf16_to_f32_text =
    R"(TNC_INLINE float $(uint16_t h) { return FROM((uint32_t)h << 16); }
)";

inline constexpr std::string_view f32_to_bf16_text = R"(TNC_INLINE uint16_t $(float f) {
  const uint32_t x = TO(f);
  if (f != f) return (uint16_t)((x >> 16) | 0x40u);
  return (uint16_t)((x + 0x7fffu + ((x >> 16) & 1u)) >> 16);
}
)";

inline constexpr std::string_view prelude_text = R"(#include <stdbool.h>
#include <stdint.h>

/* The numbers depend on IEEE arithmetic without contraction. */
#if defined(__FAST_MATH__)
#error "this file needs IEEE arithmetic: compile it without -ffast-math"
#endif
#if defined(__FLT_EVAL_METHOD__) && __FLT_EVAL_METHOD__ != 0 && __FLT_EVAL_METHOD__ != 16
#error "this file needs float arithmetic in float: on 32-bit x86 compile it with -msse2 -mfpmath=sse"
#endif
#if defined(__clang__)
#pragma STDC FP_CONTRACT OFF
#elif defined(__GNUC__) && !defined(__STRICT_ANSI__)
#pragma GCC optimize("fp-contract=off")
#endif
#ifndef TENON_KERNEL
#define TENON_KERNEL
#endif
#if defined(__GNUC__)
#define TNC_ANY __attribute__((may_alias))
#define TNC_INLINE static inline __attribute__((unused))
#else
#define TNC_ANY
#define TNC_INLINE static inline
#endif
typedef float TNC_ANY tnc_f32;
typedef double TNC_ANY tnc_f64;
typedef uint16_t TNC_ANY tnc_f16;
typedef uint16_t TNC_ANY tnc_bf16;
typedef int8_t TNC_ANY tnc_i8;
typedef int16_t TNC_ANY tnc_i16;
typedef int32_t TNC_ANY tnc_i32;
typedef int64_t TNC_ANY tnc_i64;
typedef uint8_t TNC_ANY tnc_u8;
typedef uint16_t TNC_ANY tnc_u16;
typedef uint32_t TNC_ANY tnc_u32;
typedef uint64_t TNC_ANY tnc_u64;
typedef uint8_t TNC_ANY tnc_bool;
)";

}  // namespace tenon::c_target

#endif
