#include "tenon/type.h"

#include <array>

namespace tenon {
namespace {

struct DTypeRow {
  std::string_view name;
  unsigned bits;
  char sort;  // f: float, s: signed integer, u: unsigned integer, b: boolean
};

constexpr std::array<DTypeRow, 15> rows{{{"f32", 32, 'f'},
                                         {"f64", 64, 'f'},
                                         {"f16", 16, 'f'},
                                         {"bf16", 16, 'f'},
                                         {"i8", 8, 's'},
                                         {"i16", 16, 's'},
                                         {"i32", 32, 's'},
                                         {"i64", 64, 's'},
                                         {"u8", 8, 'u'},
                                         {"u16", 16, 'u'},
                                         {"u32", 32, 'u'},
                                         {"u64", 64, 'u'},
                                         {"bool", 8, 'b'},
                                         {"i4", 4, 's'},
                                         {"u4", 4, 'u'}}};

const DTypeRow& row(DType t) { return rows[static_cast<std::size_t>(t)]; }

}  // namespace

unsigned bits(DType t) { return row(t).bits; }
std::string_view name(DType t) { return row(t).name; }

std::optional<DType> dtype_of(std::string_view name) {
  for (std::size_t i = 0; i < rows.size(); ++i)
    if (rows[i].name == name) return static_cast<DType>(i);
  return std::nullopt;
}

bool is_float(DType t) { return row(t).sort == 'f'; }
bool is_int(DType t) { return row(t).sort == 's' || row(t).sort == 'u'; }
bool is_signed(DType t) { return row(t).sort == 's' || row(t).sort == 'f'; }

bool TensorType::is_static() const {
  for (const Dim& d : dims)
    if (!d.is_static()) return false;
  return true;
}

Shape TensorType::shape() const {
  Shape s;
  s.reserve(dims.size());
  for (const Dim& d : dims) s.push_back(d.value());
  return s;
}

std::optional<std::uint64_t> elements(const TensorType& t) {
  bool zero = false;
  for (const Dim& d : t.dims) {
    if (!d.is_static()) return std::nullopt;
    zero = zero || d.value() == 0;
  }
  if (zero) return 0;  // whatever the other dims are
  std::uint64_t n = 1;
  for (const Dim& d : t.dims) {
    auto next = checked_mul(n, static_cast<std::uint64_t>(d.value()));
    if (!next || *next > INT64_MAX) return std::nullopt;
    n = *next;
  }
  return n;
}

std::optional<std::uint64_t> byte_size(const TensorType& t) {
  auto n = elements(t);
  if (n) n = checked_mul(*n, t.lanes);
  if (n) n = checked_mul(*n, bits(t.dtype));
  if (!n) return std::nullopt;
  const std::uint64_t bytes = *n / 8 + (*n % 8 != 0);
  return bytes > INT64_MAX ? std::nullopt : std::optional(bytes);
}

std::string to_string(const TensorType& t, const std::vector<std::string>* symbols) {
  std::string s(name(t.dtype));
  if (t.lanes != 1) s += "x" + std::to_string(t.lanes);
  s += "[";
  for (std::size_t i = 0; i < t.dims.size(); ++i) {
    if (i) s += ", ";
    const Dim d = t.dims[i];
    if (d.is_static())
      s += std::to_string(d.value());
    else if (symbols && d.symbol_index() < symbols->size())
      s += (*symbols)[d.symbol_index()];
    else
      s += "s" + std::to_string(d.symbol_index());
  }
  return s + "]";
}

}  // namespace tenon
