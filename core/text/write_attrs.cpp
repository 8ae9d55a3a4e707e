#include <fmt/format.h>

#include "core/text/number.h"
#include "core/text/token.h"
#include "core/text/write.h"

namespace tenon::text {
namespace {

template <class T, class Fn>
std::string list(const char* kind, const std::vector<T>& items, Fn one) {
  std::string s = items.empty() ? kind : "";
  s += "[";
  for (std::size_t k = 0; k < items.size(); ++k) (s += k ? ", " : "") += one(items[k]);
  return s + "]";
}

/// Bits of scalar `k` of a constant.
std::uint64_t scalar_at(const ConstantData& c, std::uint64_t k) {
  const unsigned width = bits(c.type.dtype);
  if (width < 8) return static_cast<std::uint64_t>(c.bytes[k / 2] >> (k % 2 * 4) & std::byte{15});
  std::uint64_t v = 0;
  for (unsigned b = 0; b < width / 8; ++b)
    v |= static_cast<std::uint64_t>(c.bytes[k * (width / 8) + b]) << (8 * b);
  return v;
}

void put_constant(std::string& out, const Constant& c, const Symbols& symbols, Blobs* blobs) {
  if (c == nullptr) {
    out += "const nothing";
    return;
  }
  out += "const ";
  put_type(out, c->type, symbols);
  const auto n = elements(c->type), bytes = byte_size(c->type);
  const bool sound = n && bytes && *bytes == c->bytes.size();
  const bool padded = sound && bits(c->type.dtype) < 8 && *n * c->type.lanes % 2 != 0 &&
                      (c->bytes.back() >> 4) != std::byte{0};
  if (sound && !padded && *n <= inline_elements && *n * c->type.lanes <= inline_elements) {
    out += " [";
    for (std::uint64_t k = 0; k < *n * c->type.lanes; ++k)
      (out += k ? ", " : "") += element_text(c->type.dtype, scalar_at(*c, k));
    out += "]";
    return;
  }
  const std::string hash = sha256_of(*c);
  out += fmt::format(" blob sha256:{} bytes:{}", hash, c->bytes.size());
  if (blobs != nullptr) blobs->try_emplace(hash, c);
}

struct AttrWriter {
  std::string& out;
  const Symbols& symbols;
  Blobs* blobs;
  void operator()(bool v) { out += v ? "true" : "false"; }
  void operator()(std::int64_t v) { out += std::to_string(v); }
  void operator()(double v) { out += real_text(v); }
  void operator()(const std::string& v) { out += quoted(v); }
  void operator()(const std::vector<std::int64_t>& v) {
    out += list("ints", v, [](std::int64_t x) { return std::to_string(x); });
  }
  void operator()(const std::vector<double>& v) { out += list("reals", v, real_text); }
  void operator()(const std::vector<std::string>& v) {
    out += list("strings", v, [](const std::string& x) { return quoted(x); });
  }
  void operator()(DType v) { out += name(v); }
  void operator()(const TensorType& v) { put_type(out, v, symbols); }
  void operator()(const Constant& v) { put_constant(out, v, symbols, blobs); }
};

}  // namespace

void put_element(std::string& out, DType t, unsigned lanes) {
  out += name(t);
  if (lanes != 1) out += fmt::format("x{}", lanes);
}

void put_type(std::string& out, const TensorType& t, const Symbols& symbols) {
  put_element(out, t.dtype, t.lanes);
  out += "[";
  for (std::size_t k = 0; k < t.dims.size(); ++k) {
    if (k) out += ", ";
    const Dim d = t.dims[k];
    if (d.is_static())
      out += std::to_string(d.value());
    else if (d.symbol_index() >= symbols.size())
      out += fmt::format("?{}", d.symbol_index());
    else
      out += is_word(symbols[d.symbol_index()].name) ? symbols[d.symbol_index()].name
                                                     : quoted(symbols[d.symbol_index()].name);
  }
  out += "]";
}

void put_attrs(std::string& out, const Attrs& attrs, const Symbols& symbols, Blobs* blobs,
               std::string_view without) {
  out += "{";
  bool first = true;
  for (const auto& [key, value] : attrs) {
    if (!without.empty() && key == without) continue;
    if (!first) out += ", ";
    first = false;
    out += is_word(key) ? key : quoted(key);
    out += " = ";
    std::visit(AttrWriter{out, symbols, blobs}, value);
  }
  out += "}";
}

}  // namespace tenon::text
