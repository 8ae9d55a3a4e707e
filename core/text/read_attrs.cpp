#include <fmt/format.h>

#include "core/text/number.h"
#include "core/text/reader.h"

namespace tenon::text {
namespace {

Dim read_dim(Reader& r, const ReadContext& ctx) {
  const Token& t = r.peek();
  if (t.kind == Tok::integer) {
    const std::uint64_t n = r.natural("a dim");
    if (n > INT64_MAX) r.fail(t, code::number, fmt::format("dim {} passes 2^63 - 1", n));
    return Dim(static_cast<std::int64_t>(n));
  }
  const std::string name = r.word_or_string("a dim: a number or a symbol");
  if (ctx.symbols != nullptr)
    for (std::size_t k = 0; k < ctx.symbols->size(); ++k)
      if ((*ctx.symbols)[k].name == name) return Dim::symbol(static_cast<std::uint32_t>(k));
  r.fail(t, code::unknown, fmt::format("there is no symbol \"{}\"", name),
         "declare it before its use: symbol \"n\" [1, 8]");
}

void append_bits(std::vector<std::byte>& bytes, DType t, std::uint64_t k, std::uint64_t element) {
  const unsigned width = bits(t);
  if (width < 8) {
    if (k % 2 == 0)
      bytes.push_back(static_cast<std::byte>(element));
    else
      bytes.back() |= static_cast<std::byte>(element << 4);
    return;
  }
  for (unsigned b = 0; b < width / 8; ++b)
    bytes.push_back(static_cast<std::byte>(element >> (8 * b)));
}

std::uint64_t read_element(Reader& r, DType t) {
  const Token& first = r.peek();
  const bool raw = first.is_word("nan") && r.peek(1).is("(");
  const std::string s = r.number("an element");
  if (raw) {
    const auto v = hex_of(s);
    if (!v || !is_float(t) || (bits(t) < 64 && *v >> bits(t) != 0))
      r.fail(first, code::number, fmt::format("these are not the bits of a NaN of {}", name(t)));
    return *v;
  }
  const auto v = element_of(t, s);
  if (!v) r.fail(first, code::number, fmt::format("{} is not a value of {}", s, name(t)));
  return *v;
}

Constant read_blob(Reader& r, const ReadContext& ctx, const TensorType& type, const Token& first) {
  const std::string_view raw = r.peek().kind == Tok::word ? r.peek().raw : std::string_view();
  if (!raw.starts_with("sha256:")) r.unexpected("`sha256:` and the hash of the bytes");
  const std::string hash(raw.substr(7));
  r.take();
  r.expect_word("bytes", "after the hash");
  r.expect(":", "after `bytes`");
  const std::uint64_t bytes = r.natural("the number of bytes");
  const Constant* found = nullptr;
  if (ctx.blobs != nullptr)
    if (auto it = ctx.blobs->find(hash); it != ctx.blobs->end()) found = &it->second;
  if (found == nullptr || *found == nullptr)
    r.fail(first, code::blob, fmt::format("there are no bytes for the constant with hash {}", hash),
           "give the side file that was written with the text");
  if ((*found)->bytes.size() != bytes)
    r.fail(
        first, code::blob,
        fmt::format("the text says {} bytes, the side file has {}", bytes, (*found)->bytes.size()));
  if ((*found)->type == type) return *found;
  if (byte_size(type) != bytes)
    r.fail(first, code::blob, fmt::format("{} bytes are not a constant of this type", bytes));
  return make_constant(type, (*found)->bytes, *found);
}

Constant read_constant(Reader& r, const ReadContext& ctx) {
  const Token& first = r.take();  // const
  const TensorType type = read_type(r, ctx);
  const auto n = elements(type), bytes = byte_size(type);
  if (!n || !bytes)
    r.fail(first, code::number, "a constant needs a static type of less than 2^63 bytes");
  if (r.accept_word("blob")) return read_blob(r, ctx, type, first);
  r.expect("[", "and the elements, or `blob`");
  std::vector<std::byte> data;
  std::uint64_t count = 0;
  if (!r.accept("]")) {
    do append_bits(data, type.dtype, count++, read_element(r, type.dtype));
    while (r.more("]"));
  }
  if (count != *n * type.lanes)
    r.fail(first, code::number,
           fmt::format("the type has {} elements, the list {}", *n * type.lanes, count));
  return make_constant(type, std::move(data));
}

/// From `[` on. `kind` is the word before it, or "" when the items decide.
AttrValue read_list(Reader& r, std::string_view kind) {
  const Token& first = r.peek();
  r.expect("[", "of a list");
  std::vector<std::int64_t> ints;
  std::vector<double> reals;
  std::vector<std::string> strings;
  if (!r.accept("]")) {
    do {
      const Token& t = r.peek();
      if (t.kind == Tok::string) {
        strings.push_back(r.string("an item"));
        continue;
      }
      const Token& digits = t.is("-") ? r.peek(1) : t;
      if (digits.kind == Tok::integer)
        ints.push_back(r.integer("an item"));
      else {
        const std::uint64_t raw = read_element(r, DType::f64);
        reals.push_back(std::bit_cast<double>(raw));
      }
    } while (r.more("]"));
  }
  const int kinds = !ints.empty() + !reals.empty() + !strings.empty();
  if (kinds > 1)
    r.fail(first, code::syntax, "the items of a list are of different kinds",
           "write reals with a point: 1.0");
  if (!reals.empty() || kind == "reals") return reals;
  if (!strings.empty() || kind == "strings") return strings;
  return ints;
}

}  // namespace

std::optional<std::pair<DType, std::uint16_t>> element_type(std::string_view word) {
  if (auto t = dtype_of(word)) return std::pair{*t, std::uint16_t{1}};
  const std::size_t x = word.rfind('x');
  if (x == std::string_view::npos) return std::nullopt;
  const auto t = dtype_of(word.substr(0, x));
  const auto lanes = unsigned_of(word.substr(x + 1));
  if (!t || !lanes || *lanes > UINT16_MAX) return std::nullopt;
  return std::pair{*t, static_cast<std::uint16_t>(*lanes)};
}

TensorType read_type(Reader& r, const ReadContext& ctx) {
  const auto element = r.peek().kind == Tok::word ? element_type(r.peek().raw) : std::nullopt;
  if (!element) r.unexpected("a type, like f32[2, 3]");
  r.take();
  TensorType t;
  t.dtype = element->first;
  t.lanes = element->second;
  r.expect("[", "and the dims of the type");
  if (r.accept("]")) return t;
  do t.dims.push_back(read_dim(r, ctx));
  while (r.more("]"));
  return t;
}

AttrValue read_attr(Reader& r, const ReadContext& ctx) {
  const Token& t = r.peek();
  if (t.kind == Tok::string) return r.string("a value");
  if (t.is("[")) return read_list(r, "");
  if (t.is_word("true")) return r.take(), true;
  if (t.is_word("false")) return r.take(), false;
  if (t.is_word("const")) return read_constant(r, ctx);
  if ((t.is_word("ints") || t.is_word("reals") || t.is_word("strings")) && r.peek(1).is("[")) {
    const std::string_view kind = r.take().raw;
    return read_list(r, kind);
  }
  if (t.kind == Tok::word && element_type(t.raw)) {
    if (r.peek(1).is("[")) return read_type(r, ctx);
    if (auto d = dtype_of(t.raw)) return r.take(), *d;
  }
  const Token& digits = t.is("-") ? r.peek(1) : t;
  if (digits.kind == Tok::integer) return r.integer("a value");
  if (digits.kind == Tok::real || digits.is_word("inf") || digits.is_word("nan"))
    return std::bit_cast<double>(read_element(r, DType::f64));
  r.unexpected("the value of an attribute");
}

Attrs read_attrs(Reader& r, const ReadContext& ctx) {
  Attrs attrs;
  r.expect("{", "of attributes");
  if (r.accept("}")) return attrs;
  do {
    const Token& t = r.peek();
    std::string key = r.word_or_string("the name of an attribute");
    r.expect("=", "after the name of an attribute");
    AttrValue v = read_attr(r, ctx);
    if (attrs.find(key) != nullptr)
      r.error(t, code::twice, fmt::format("attribute `{}` is given twice", key));
    attrs.set(std::move(key), std::move(v));
  } while (r.more("}"));
  return attrs;
}

Loc read_loc(Reader& r) {
  Loc loc;
  r.expect("(", "after `loc`");
  loc.file = r.string("a file");
  for (int* part : {&loc.line, &loc.col, &loc.end_col}) {
    r.expect(",", "and line, column, end column");
    const Token& t = r.peek();
    const std::uint64_t v = r.natural("a line or column");
    if (v > INT32_MAX) r.fail(t, code::number, "the line or column is out of range");
    *part = static_cast<int>(v);
  }
  r.expect(")", "after a place");
  return loc;
}

}  // namespace tenon::text
