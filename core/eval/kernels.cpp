// Compiled with -O3 and without contraction (see core/CMakeLists.txt): the loops vectorise,
// products and sums round apart.
#include "core/eval/kernels.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>

#include "core/eval/scalars.h"

namespace tenon::eval {

namespace {

template <class F, class T, class R>
void map1(void* out, const void* const* args, std::size_t n) {
  R* __restrict r = static_cast<R*>(out);
  const T* __restrict x = static_cast<const T*>(args[0]);
  for (std::size_t i = 0; i < n; ++i) r[i] = static_cast<R>(F{}(x[i]));
}
template <class F, class T, class R>
void map2(void* out, const void* const* args, std::size_t n) {
  R* __restrict r = static_cast<R*>(out);
  const T* __restrict x = static_cast<const T*>(args[0]), * __restrict y =
                                                              static_cast<const T*>(args[1]);
  for (std::size_t i = 0; i < n; ++i) r[i] = static_cast<R>(F{}(x[i], y[i]));
}
template <class T>
void map_select(void* out, const void* const* args, std::size_t n) {
  T* __restrict r = static_cast<T*>(out);
  const auto* __restrict c = static_cast<const std::uint8_t*>(args[0]);
  const T* __restrict x = static_cast<const T*>(args[1]), * __restrict y =
                                                              static_cast<const T*>(args[2]);
  for (std::size_t i = 0; i < n; ++i) r[i] = c[i] ? x[i] : y[i];
}
template <class T>
void map_fma(void* out, const void* const* args, std::size_t n) {
  T* r = static_cast<T*>(out);
  const T *x = static_cast<const T*>(args[0]), *y = static_cast<const T*>(args[1]),
          *z = static_cast<const T*>(args[2]);
  for (std::size_t i = 0; i < n; ++i) r[i] = std::fma(x[i], y[i], z[i]);
}
template <class From, class To>
void map_cast(void* out, const void* const* args, std::size_t n) {
  To* __restrict r = static_cast<To*>(out);
  const From* __restrict x = static_cast<const From*>(args[0]);
  for (std::size_t i = 0; i < n; ++i) r[i] = convert<To>(x[i]);
}
/// To i4 or u4, whose register is wider: floats saturate at its own ends (integers wrap: narrow()).
template <class From, class To, int low, int high>
void map_cast_4(void* out, const void* const* args, std::size_t n) {
  map_cast<From, To>(out, args, n);
  auto* r = static_cast<To*>(out);
  for (std::size_t i = 0; is_real<From> && i < n; ++i) r[i] = std::clamp<To>(r[i], low, high);
}
template <class From>
void map_truth(void* out, const void* const* args, std::size_t n) {
  auto* __restrict r = static_cast<std::uint8_t*>(out);
  const From* __restrict x = static_cast<const From*>(args[0]);
  for (std::size_t i = 0; i < n; ++i) r[i] = x[i] != From(0);
}
template <class T>
void multiply_add(void* out, const void* const* args, std::size_t n) {
  T* __restrict r = static_cast<T*>(out);
  const T* __restrict x = static_cast<const T*>(args[0]), * __restrict y =
                                                              static_cast<const T*>(args[1]);
  for (std::size_t i = 0; i < n; ++i) r[i] += x[i] * y[i];
}
template <class F, class T>
void fold_lanes(void* acc, const void* in, std::size_t n) {
  T* __restrict r = static_cast<T*>(acc);
  const T* __restrict x = static_cast<const T*>(in);
  for (std::size_t i = 0; i < n; ++i) r[i] = F{}(r[i], x[i]);
}
template <class F, class T>
void fold_across(void* acc, const void* in, std::size_t n) {
  T r = *static_cast<const T*>(acc);
  const T* x = static_cast<const T*>(in);
  for (std::size_t i = 0; i < n; ++i) r = F{}(r, x[i]);
  *static_cast<T*>(acc) = r;
}

template <class T>
struct Tag {
  using type = T;
};

/// Calls f with the C++ type of a register type.
template <class F>
auto with_type(DType t, F f) {
  switch (register_type(t)) {
    case DType::f64:
      return f(Tag<double>{});
    case DType::i8:
      return f(Tag<std::int8_t>{});
    case DType::i16:
      return f(Tag<std::int16_t>{});
    case DType::i32:
      return f(Tag<std::int32_t>{});
    case DType::i64:
      return f(Tag<std::int64_t>{});
    case DType::u8:
      return f(Tag<std::uint8_t>{});
    case DType::u16:
      return f(Tag<std::uint16_t>{});
    case DType::u32:
      return f(Tag<std::uint32_t>{});
    case DType::u64:
      return f(Tag<std::uint64_t>{});
    default:
      return f(Tag<float>{});
  }
}

enum class On { any, reals, ints, booleans };

template <class F, On on>
Map unary_of(DType t) {
  return with_type(t, [](auto tag) -> Map {
    using T = typename decltype(tag)::type;
    if constexpr ((on == On::reals && !is_real<T>) || (on == On::ints && is_real<T>))
      return nullptr;
    else if constexpr (std::is_same_v<decltype(F{}(T{})), bool>)
      return &map1<F, T, std::uint8_t>;
    else
      return &map1<F, T, T>;
  });
}
template <class F, On on>
Map binary_of(DType t) {
  return with_type(t, [](auto tag) -> Map {
    using T = typename decltype(tag)::type;
    if constexpr ((on == On::booleans && !std::is_same_v<T, std::uint8_t>) ||
                  (on == On::ints && is_real<T>) || (on == On::reals && !is_real<T>))
      return nullptr;
    else if constexpr (std::is_same_v<decltype(F{}(T{}, T{})), bool>)
      return &map2<F, T, std::uint8_t>;
    else
      return &map2<F, T, T>;
  });
}

Map cast_of(DType from, DType to) {
  return with_type(from, [to](auto source) -> Map {
    using From = typename decltype(source)::type;
    if (to == DType::boolean) return &map_truth<From>;
    if (to == DType::i4) return &map_cast_4<From, std::int8_t, -8, 7>;
    if (to == DType::u4) return &map_cast_4<From, std::uint8_t, 0, 15>;
    return with_type(
        to, [](auto target) -> Map { return &map_cast<From, typename decltype(target)::type>; });
  });
}

/// Copies bits; f16 <-> bf16 <-> i16 differ in their registers and go through packed bytes.
template <DType from, DType to>
void map_bits(void* out, const void* const* args, std::size_t n) {
  std::byte packed[2];
  for (std::size_t i = 0; i < n; ++i) {
    pack(from, static_cast<const std::byte*>(args[0]) + i * register_width(from), packed, 1);
    unpack(to, packed, static_cast<std::byte*>(out) + i * register_width(to), 1);
  }
}
template <std::size_t width>
void map_copy(void* out, const void* const* args, std::size_t n) {
  std::memcpy(out, args[0], n * width);
}

Map bitcast_of(DType from, DType to) {
  using D = DType;
  const bool half_from = from == D::f16 || from == D::bf16, half_to = to == D::f16 || to == D::bf16;
  if (from == to || (!half_from && !half_to && bits(from) != 4)) {
    switch (register_width(to)) {
      case 1:
        return &map_copy<1>;
      case 2:
        return &map_copy<2>;
      case 4:
        return &map_copy<4>;
      default:
        return &map_copy<8>;
    }
  }
  if (from == D::f16) return to == D::bf16 ? &map_bits<D::f16, D::bf16> : &map_bits<D::f16, D::i16>;
  if (from == D::bf16)
    return to == D::f16 ? &map_bits<D::bf16, D::f16> : &map_bits<D::bf16, D::i16>;
  if (bits(from) == 4) return to == D::u4 ? &map_bits<D::i4, D::u4> : &map_bits<D::u4, D::i4>;
  return to == D::f16 ? &map_bits<D::i16, D::f16> : &map_bits<D::i16, D::bf16>;
}

template <bool across>
FoldLanes fold_of(te::Fold fold, DType t) {
  return with_type(t, [fold](auto tag) -> FoldLanes {
    using T = typename decltype(tag)::type;
    switch (fold) {
      case te::Fold::sum:
        return across ? &fold_across<Add, T> : &fold_lanes<Add, T>;
      case te::Fold::prod:
        return across ? &fold_across<Mul, T> : &fold_lanes<Mul, T>;
      case te::Fold::max:
        return across ? &fold_across<Max, T> : &fold_lanes<Max, T>;
      case te::Fold::min:
        return across ? &fold_across<Min, T> : &fold_lanes<Min, T>;
    }
    return nullptr;
  });
}

}  // namespace

DType register_type(DType t) {
  switch (t) {
    case DType::f16:
    case DType::bf16:
      return DType::f32;
    case DType::i4:
      return DType::i8;
    case DType::u4:
    case DType::boolean:
      return DType::u8;
    default:
      return t;
  }
}
std::size_t register_width(DType t) { return bits(register_type(t)) / 8; }

Map map_kernel(ScalarOp op, DType t, DType result) {
  using O = ScalarOp;
  switch (op) {
    case O::neg:
      return unary_of<Neg, On::any>(t);
    case O::abs:
      return unary_of<Abs, On::any>(t);
    case O::exp:
      return unary_of<Exp, On::reals>(t);
    case O::log:
      return unary_of<Log, On::reals>(t);
    case O::sqrt:
      return unary_of<Sqrt, On::reals>(t);
    case O::tanh:
      return unary_of<Tanh, On::reals>(t);
    case O::erf:
      return unary_of<Erf, On::reals>(t);
    case O::sigmoid:
      return unary_of<Sigmoid, On::reals>(t);
    case O::sin:
      return unary_of<Sin, On::reals>(t);
    case O::cos:
      return unary_of<Cos, On::reals>(t);
    case O::floor:
      return unary_of<Floor, On::reals>(t);
    case O::ceil:
      return unary_of<Ceil, On::reals>(t);
    case O::round_even:
      return unary_of<RoundEven, On::reals>(t);
    case O::bit_not:
      return t == DType::boolean ? unary_of<Not, On::any>(t) : unary_of<BitNot, On::ints>(t);
    case O::logical_not:
      return unary_of<Not, On::any>(t);
    case O::is_nan:
      return unary_of<IsNan, On::reals>(t);
    case O::cast:
      return cast_of(t, result);
    case O::bitcast:
      return bitcast_of(t, result);
    case O::add:
      return binary_of<Add, On::any>(t);
    case O::sub:
      return binary_of<Sub, On::any>(t);
    case O::mul:
      return binary_of<Mul, On::any>(t);
    case O::div:
      return binary_of<Div, On::any>(t);
    case O::mod:
      return binary_of<Mod, On::any>(t);
    case O::min:
      return binary_of<Min, On::any>(t);
    case O::max:
      return binary_of<Max, On::any>(t);
    case O::pow:
      return binary_of<Pow, On::any>(t);
    case O::ldexp:
      return t == DType::f64 ? nullptr : binary_of<Ldexp, On::reals>(t);
    case O::bit_and:
      return binary_of<And, On::ints>(t);
    case O::bit_or:
      return binary_of<Or, On::ints>(t);
    case O::bit_xor:
      return binary_of<Xor, On::ints>(t);
    case O::shl:
      return binary_of<Shl, On::ints>(t);
    case O::shr:
      return binary_of<Shr, On::ints>(t);
    case O::eq:
      return binary_of<Eq, On::any>(t);
    case O::ne:
      return binary_of<Ne, On::any>(t);
    case O::lt:
      return binary_of<Lt, On::any>(t);
    case O::le:
      return binary_of<Le, On::any>(t);
    case O::gt:
      return binary_of<Gt, On::any>(t);
    case O::ge:
      return binary_of<Ge, On::any>(t);
    case O::logical_and:
      return binary_of<LogicalAnd, On::booleans>(t);
    case O::logical_or:
      return binary_of<LogicalOr, On::booleans>(t);
    case O::select:
      return with_type(result,
                       [](auto tag) -> Map { return &map_select<typename decltype(tag)::type>; });
    case O::fma:
      return t == DType::f64 ? &map_fma<double> : &map_fma<float>;
  }
  return nullptr;
}

FoldLanes fold_kernel(te::Fold fold, DType t) { return fold_of<false>(fold, t); }
FoldLanes fold_across_kernel(te::Fold fold, DType t) { return fold_of<true>(fold, t); }
Map multiply_add_kernel(DType t) {
  return t == DType::f32 ? &multiply_add<float> : t == DType::f64 ? &multiply_add<double> : nullptr;
}

void fill_imm(const te::Expr& imm, void* out, std::size_t n) {
  with_type(imm.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    T v = is_float(imm.dtype) ? static_cast<T>(imm.f) : static_cast<T>(imm.i);
    std::fill_n(static_cast<T*>(out), n, v);
  });
  narrow(imm.dtype, out, n);
}

void fill_identity(te::Fold fold, DType t, void* out, std::size_t n) {
  with_type(t, [&](auto tag) {
    using T = typename decltype(tag)::type;
    using L = std::numeric_limits<T>;
    T low = L::has_infinity ? static_cast<T>(-L::infinity()) : L::lowest(),
      high = L::has_infinity ? L::infinity() : L::max();
    if (t == DType::boolean) low = T(0), high = T(1);
    if (bits(t) == 4)
      low = t == DType::i4 ? static_cast<T>(-8) : T(0), high = t == DType::i4 ? T(7) : T(15);
    T v = fold == te::Fold::sum    ? T(0)
          : fold == te::Fold::prod ? T(1)
          : fold == te::Fold::max  ? low
                                   : high;
    std::fill_n(static_cast<T*>(out), n, v);
  });
}

namespace {
template <std::size_t width>
using Word = std::conditional_t<
    width == 1, std::uint8_t,
    std::conditional_t<width == 2, std::uint16_t,
                       std::conditional_t<width == 4, std::uint32_t, std::uint64_t>>>;

template <class F>
void with_word(std::size_t width, F f) {
  switch (width) {
    case 1:
      return f(Tag<Word<1>>{});
    case 2:
      return f(Tag<Word<2>>{});
    case 4:
      return f(Tag<Word<4>>{});
    default:
      return f(Tag<Word<8>>{});
  }
}
}  // namespace

namespace {
/// `in` may stand at any address.
template <class T>
T word_at(const void* in, std::int64_t index) {
  T v;
  std::memcpy(&v, static_cast<const std::byte*>(in) + index * static_cast<std::int64_t>(sizeof v),
              sizeof v);
  return v;
}
}  // namespace

void copy_strided(std::size_t width, void* out, const void* in, std::int64_t stride,
                  std::size_t n) {
  if (stride == 1) {
    std::memcpy(out, in, n * width);
    return;
  }
  with_word(width, [&](auto tag) {
    using T = typename decltype(tag)::type;
    T* __restrict r = static_cast<T*>(out);
    if (stride == 0)
      std::fill_n(r, n, word_at<T>(in, 0));
    else
      for (std::size_t i = 0; i < n; ++i)
        r[i] = word_at<T>(in, static_cast<std::int64_t>(i) * stride);
  });
}

void copy_gather(std::size_t width, void* out, const void* in, const std::int64_t* offsets,
                 std::size_t n) {
  with_word(width, [&](auto tag) {
    using T = typename decltype(tag)::type;
    T* __restrict r = static_cast<T*>(out);
    for (std::size_t i = 0; i < n; ++i) r[i] = word_at<T>(in, offsets[i]);
  });
}

}  // namespace tenon::eval
