// Types of tensors. Bytes = product of dims x element, always: there is no layout attribute. A
// blocked tensor is a packed tensor of higher rank.
#ifndef TENON_TYPE_H
#define TENON_TYPE_H

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tenon {

enum class DType : std::uint8_t {
  f32,
  f64,
  f16,
  bf16,
  i8,
  i16,
  i32,
  i64,
  u8,
  u16,
  u32,
  u64,
  boolean,
  i4,
  u4
};

/// Bits of one element: 4 for i4 and u4, 8 for boolean.
unsigned bits(DType t);
/// Spelling in the text form: "f32", "bool", "i4".
std::string_view name(DType t);
std::optional<DType> dtype_of(std::string_view name);
bool is_float(DType t);
/// Integers only; boolean is neither.
bool is_int(DType t);
bool is_signed(DType t);

/// A number of elements along an axis, or a symbol of the module (see Module::symbols).
class Dim {
 public:
  constexpr Dim(std::int64_t n = 0) : raw_(n) {}  // n >= 0
  static constexpr Dim symbol(std::uint32_t index) {
    Dim d;
    d.raw_ = -1 - static_cast<std::int64_t>(index);
    return d;
  }
  constexpr bool is_static() const { return raw_ >= 0; }
  /// Elements. Only when is_static().
  constexpr std::int64_t value() const { return raw_; }
  /// Index into Module::symbols. Only when not is_static().
  constexpr std::uint32_t symbol_index() const { return static_cast<std::uint32_t>(-1 - raw_); }
  constexpr bool operator==(const Dim&) const = default;

 private:
  std::int64_t raw_;
};

using Shape =
    std::vector<std::int64_t>;  ///< elements per axis, outermost first; all known, all >= 0

struct TensorType {
  DType dtype = DType::f32;
  std::vector<Dim> dims;    ///< outermost first; empty = rank 0, one element
  std::uint16_t lanes = 1;  ///< vector lanes of an element; counted in bytes

  TensorType() = default;
  TensorType(DType t, std::vector<Dim> d) : dtype(t), dims(std::move(d)) {}
  TensorType(DType t, const Shape& s) : dtype(t), dims(s.begin(), s.end()) {}

  std::size_t rank() const { return dims.size(); }
  bool is_static() const;
  /// The shape; only when is_static().
  Shape shape() const;
  bool operator==(const TensorType&) const = default;
};

/// Elements; nullopt when a dim is symbolic or the product passes 2^63 - 1.
std::optional<std::uint64_t> elements(const TensorType& t);
/// Bytes, sub-byte elements rounded up once for the whole tensor; nullopt as for elements().
std::optional<std::uint64_t> byte_size(const TensorType& t);
/// `f32[1, 3, 224, 224]`; a symbol prints as `s<index>` unless `symbols` names it.
std::string to_string(const TensorType& t, const std::vector<std::string>* symbols = nullptr);

/// a * b and a + b; nullopt on overflow of 64 bits.
inline std::optional<std::uint64_t> checked_mul(std::uint64_t a, std::uint64_t b) {
  std::uint64_t r = 0;
  if (__builtin_mul_overflow(a, b, &r)) return std::nullopt;
  return r;
}
inline std::optional<std::uint64_t> checked_add(std::uint64_t a, std::uint64_t b) {
  std::uint64_t r = 0;
  if (__builtin_add_overflow(a, b, &r)) return std::nullopt;
  return r;
}

}  // namespace tenon

#endif
