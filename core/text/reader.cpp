#include "core/text/reader.h"

#include <fmt/format.h>

#include "core/text/number.h"

namespace tenon::text {
namespace {

std::string shown(const Token& t) {
  if (t.kind == Tok::end) return "the end of the text";
  constexpr std::size_t most = 40;
  return "`" + std::string(t.raw.substr(0, most)) + (t.raw.size() > most ? "...`" : "`");
}

}  // namespace

void Reader::error(const Token& t, int code, std::string what, std::string fix) {
  if (!full())
    errors_.push_back(
        {.code = code, .loc = loc(t), .what = std::move(what), .fix = std::move(fix)});
}

void Reader::unexpected(std::string_view wanted) {
  fail(peek(), code::syntax, fmt::format("expected {}, found {}", wanted, shown(peek())));
}

void Reader::expect(std::string_view symbol, std::string_view after) {
  if (!accept(symbol)) unexpected(fmt::format("`{}` {}", symbol, after));
}

void Reader::expect_word(std::string_view w, std::string_view after) {
  if (!accept_word(w)) unexpected(fmt::format("`{}` {}", w, after));
}

bool Reader::more(std::string_view close) {
  if (accept(close)) return false;
  expect(",", fmt::format("or `{}`", close));
  return true;
}

std::string Reader::string(std::string_view what) {
  if (peek().kind != Tok::string) unexpected(fmt::format("{} in quotes", what));
  return std::string(take().text);
}

std::string Reader::name_after_at(std::string_view what) {
  if (peek().kind != Tok::at) unexpected(fmt::format("{}, like @name", what));
  return std::string(take().text);
}

std::string Reader::word_or_string(std::string_view what) {
  if (peek().kind == Tok::word) return std::string(take().raw);
  if (peek().kind != Tok::string) unexpected(what);
  return std::string(take().text);
}

std::int64_t Reader::integer(std::string_view what) {
  const Token& first = peek();
  const bool negative = accept("-");
  if (peek().kind != Tok::integer) unexpected(what);
  const auto v = integer_of((negative ? "-" : "") + std::string(take().raw));
  if (!v) fail(first, code::number, fmt::format("{}: the number does not fit 64 bits", what));
  return *v;
}

std::uint64_t Reader::natural(std::string_view what) {
  if (peek().kind != Tok::integer) unexpected(what);
  const Token& t = take();
  const auto v = unsigned_of(t.raw);
  if (!v) fail(t, code::number, fmt::format("{}: the number does not fit 64 bits", what));
  return *v;
}

std::uint32_t Reader::natural32(std::string_view what) {
  const Token& t = peek();
  const std::uint64_t v = natural(what);
  if (v >= UINT32_MAX) fail(t, code::number, fmt::format("{}: {} does not fit 32 bits", what, v));
  return static_cast<std::uint32_t>(v);
}

std::uint32_t Reader::index(Tok kind, std::string_view what) {
  if (peek().kind != kind) unexpected(what);
  const Token& t = take();
  const auto v = unsigned_of(t.text);
  if (!v || *v >= UINT32_MAX)
    fail(t, code::number, fmt::format("{}: {} is not a number below 2^32 - 1", what, shown(t)));
  return static_cast<std::uint32_t>(*v);
}

std::string Reader::number(std::string_view what) {
  std::string s = accept("-") ? "-" : "";
  const Token& t = peek();
  if (t.is_word("nan") && peek(1).is("(") && s.empty()) {
    take(), take();
    if (peek().kind != Tok::integer) unexpected("the bits of a NaN");
    s = take().raw;
    expect(")", "after the bits of a NaN");
    return s;
  }
  if (t.kind != Tok::integer && t.kind != Tok::real && !t.is_word("inf") && !t.is_word("nan"))
    unexpected(what);
  return s + std::string(take().raw);
}

void Reader::resync(std::size_t start) {
  const int line = peek().line;
  int open = 0;
  for (std::size_t k = start; k < tokens_.size(); ++k) {
    const Token& t = tokens_[k];
    if (t.kind == Tok::end || (k >= at_ && open <= 0 && (t.line > line || t.is("}")))) {
      at_ = std::max(at_, k);
      return;
    }
    if (t.is("{")) ++open;
    if (t.is("}")) --open;
  }
}

void Reader::resync_item() {
  static constexpr std::string_view items[] = {"module",  "symbol", "func",
                                               "compute", "kernel", "plan"};
  while (!at_end()) {
    if (at_ + 1 < tokens_.size()) ++at_;
    if (peek().col != 1) continue;
    for (std::string_view w : items)
      if (peek().is_word(w)) return;
  }
}

}  // namespace tenon::text
