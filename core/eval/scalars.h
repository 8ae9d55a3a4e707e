// What each scalar operation does to one element, in register types: tenon/scalar.h as code.
#ifndef TENON_CORE_EVAL_SCALARS_H
#define TENON_CORE_EVAL_SCALARS_H

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>

namespace tenon::eval {

template <class T>
constexpr bool is_real = std::is_floating_point_v<T>;
/// Wrapping arithmetic happens in an unsigned type at least as wide as int, so that nothing is
/// promoted to it.
template <class T>
using Wide = std::conditional_t<(sizeof(T) < 8), std::uint32_t, std::uint64_t>;

template <class T>
T power(T base, T exponent) {
  if constexpr (std::is_signed_v<T>)
    if (exponent < 0)
      return base == 1 ? T(1) : base == T(-1) ? (exponent % 2 ? T(-1) : T(1)) : T(0);
  Wide<T> r = 1, b = static_cast<Wide<T>>(base);
  for (auto e = static_cast<std::make_unsigned_t<T>>(exponent); e;
       e = static_cast<decltype(e)>(e >> 1)) {
    if (e & 1) r *= b;
    b *= b;
  }
  return static_cast<T>(r);
}

struct Neg {
  template <class T>
  T operator()(T x) const {
    if constexpr (is_real<T>)
      return -x;
    else
      return static_cast<T>(Wide<T>{0} - static_cast<Wide<T>>(x));
  }
};
struct Abs {
  template <class T>
  T operator()(T x) const {
    if constexpr (is_real<T>)
      return std::fabs(x);
    else if constexpr (std::is_signed_v<T>)
      return x < 0 ? Neg{}(x) : x;
    else
      return x;
  }
};
struct Exp {
  template <class T>
  T operator()(T x) const {
    return std::exp(x);
  }
};
struct Log {
  template <class T>
  T operator()(T x) const {
    return std::log(x);
  }
};
struct Sqrt {
  template <class T>
  T operator()(T x) const {
    return std::sqrt(x);
  }
};
struct Tanh {
  template <class T>
  T operator()(T x) const {
    return std::tanh(x);
  }
};
struct Erf {
  template <class T>
  T operator()(T x) const {
    return std::erf(x);
  }
};
struct Sigmoid {
  template <class T>
  T operator()(T x) const {  // small results keep their digits: nothing overflows
    const T e = std::exp(-std::abs(x));
    return (x < T(0) ? e : T(1)) / (T(1) + e);
  }
};
struct Sin {
  template <class T>
  T operator()(T x) const {
    return std::sin(x);
  }
};
struct Cos {
  template <class T>
  T operator()(T x) const {
    return std::cos(x);
  }
};
struct Floor {
  template <class T>
  T operator()(T x) const {
    return std::floor(x);
  }
};
struct Ceil {
  template <class T>
  T operator()(T x) const {
    return std::ceil(x);
  }
};
struct RoundEven {
  template <class T>
  T operator()(T x) const {
    return std::nearbyint(x);
  }
};
struct BitNot {
  template <class T>
  T operator()(T x) const {
    return static_cast<T>(~x);
  }
};
struct Not {
  template <class T>
  bool operator()(T x) const {
    return !x;
  }
};
struct IsNan {
  template <class T>
  bool operator()(T x) const {
    return x != x;
  }
};

struct Add {
  template <class T>
  T operator()(T a, T b) const {
    if constexpr (is_real<T>)
      return a + b;
    else
      return static_cast<T>(static_cast<Wide<T>>(a) + static_cast<Wide<T>>(b));
  }
};
struct Sub {
  template <class T>
  T operator()(T a, T b) const {
    if constexpr (is_real<T>)
      return a - b;
    else
      return static_cast<T>(static_cast<Wide<T>>(a) - static_cast<Wide<T>>(b));
  }
};
struct Mul {
  template <class T>
  T operator()(T a, T b) const {
    if constexpr (is_real<T>)
      return a * b;
    else
      return static_cast<T>(static_cast<Wide<T>>(a) * static_cast<Wide<T>>(b));
  }
};
struct Div {
  template <class T>
  T operator()(T a, T b) const {
    if constexpr (is_real<T>) {
      return a / b;
    } else {
      if (b == T(0)) return T(0);
      if constexpr (std::is_signed_v<T>)
        if (b == T(-1)) return Neg{}(a);
      T q = static_cast<T>(a / b);
      return a % b != 0 && (a < 0) != (b < 0) ? static_cast<T>(q - 1) : q;
    }
  }
};
struct Mod {
  template <class T>
  T operator()(T a, T b) const {
    if constexpr (is_real<T>) {
      T r = std::fmod(a, b);
      return r != T(0) && (r < T(0)) != (b < T(0)) ? r + b : r;
    } else {
      if (b == T(0) || (std::is_signed_v<T> && b == static_cast<T>(-1))) return T(0);
      T r = static_cast<T>(a % b);
      return r != 0 && (r < 0) != (b < 0) ? static_cast<T>(r + b) : r;
    }
  }
};
struct Min {
  template <class T>
  T operator()(T a, T b) const {
    return a < b ? a : b;
  }
};
struct Max {
  template <class T>
  T operator()(T a, T b) const {
    return a > b ? a : b;
  }
};
struct Pow {
  template <class T>
  T operator()(T a, T b) const {
    if constexpr (is_real<T>)
      return std::pow(a, b);
    else
      return power(a, b);
  }
};
struct Ldexp {
  template <class T>
  T operator()(T a, T b) const {
    if (b != b) return b;
    if (std::isinf(b)) {
      const T power = b > T(0) ? b : T(0);
      return a != a ? power : a * power;
    }
    // Exact in f64; the conversion is the only rounding.
    const double n = std::clamp(std::floor(static_cast<double>(b)), -600.0, 600.0);
    return static_cast<T>(std::ldexp(static_cast<double>(a), static_cast<int>(n)));
  }
};
struct And {
  template <class T>
  T operator()(T a, T b) const {
    return static_cast<T>(a & b);
  }
};
struct Or {
  template <class T>
  T operator()(T a, T b) const {
    return static_cast<T>(a | b);
  }
};
struct Xor {
  template <class T>
  T operator()(T a, T b) const {
    return static_cast<T>(a ^ b);
  }
};
struct Shl {
  template <class T>
  T operator()(T a, T b) const {
    return static_cast<std::uint64_t>(b) >= sizeof(T) * 8
               ? T(0)
               : static_cast<T>(static_cast<Wide<T>>(a) << b);
  }
};
struct Shr {
  template <class T>
  T operator()(T a, T b) const {
    return static_cast<std::uint64_t>(b) >= sizeof(T) * 8 ? static_cast<T>(a < 0 ? -1 : 0)
                                                          : static_cast<T>(a >> b);
  }
};
struct Eq {
  template <class T>
  bool operator()(T a, T b) const {
    return a == b;
  }
};
struct Ne {
  template <class T>
  bool operator()(T a, T b) const {
    return a != b;
  }
};
struct Lt {
  template <class T>
  bool operator()(T a, T b) const {
    return a < b;
  }
};
struct Le {
  template <class T>
  bool operator()(T a, T b) const {
    return a <= b;
  }
};
struct Gt {
  template <class T>
  bool operator()(T a, T b) const {
    return a > b;
  }
};
struct Ge {
  template <class T>
  bool operator()(T a, T b) const {
    return a >= b;
  }
};
struct LogicalAnd {
  template <class T>
  bool operator()(T a, T b) const {
    return a && b;
  }
};
struct LogicalOr {
  template <class T>
  bool operator()(T a, T b) const {
    return a || b;
  }
};

template <class To, class From>
To convert(From x) {
  if constexpr (is_real<From> && !is_real<To>) {
    if (x != x) return To(0);
    // The first power of two above the range is exact in either float type.
    constexpr From top = static_cast<From>(std::numeric_limits<To>::max() / 2 + 1) * From(2);
    if (x >= top) return std::numeric_limits<To>::max();
    if (x <= static_cast<From>(std::numeric_limits<To>::min()))
      return std::numeric_limits<To>::min();
  }
  return static_cast<To>(x);
}

}  // namespace tenon::eval

#endif
