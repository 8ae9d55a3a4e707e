#include "core/text/token.h"

#include <fmt/format.h>

#include <optional>

#include "core/text/codes.h"

namespace tenon::text {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool is_name(char c) { return is_letter(c) || is_digit(c) || c == '.'; }
int hex_value(char c) {
  return is_digit(c)            ? c - '0'
         : c >= 'a' && c <= 'f' ? c - 'a' + 10
         : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                : -1;
}

class Lexer {
 public:
  Lexer(std::string_view text, std::string_view file, Diags& errors,
        std::deque<std::string>& strings)
      : s_(text), file_(file), errors_(errors), strings_(strings) {}

  std::vector<Token> run() {
    std::vector<Token> out;
    out.reserve(s_.size() / 3 + 1);  // many, short
    for (;;) {
      skip();
      Token t;
      t.line = line_;
      t.col = col_;
      const std::size_t from = at_;
      if (at_ == s_.size()) {
        t.end_col = col_ + 1;
        out.push_back(std::move(t));
        return out;
      }
      const bool ok = one(t);
      t.raw = s_.substr(from, at_ - from);
      t.end_col = col_;
      if (ok) out.push_back(std::move(t));
    }
  }

 private:
  char peek(std::size_t ahead = 0) const {
    return at_ + ahead < s_.size() ? s_[at_ + ahead] : '\0';
  }
  void take() {
    const char c = s_[at_++];
    if (c == '\n') {
      ++line_;
      col_ = 1;
    } else if ((static_cast<unsigned char>(c) & 0xC0) !=
               0x80) {  // not a continuation byte of UTF-8
      ++col_;
    }
  }
  void error(const Token& t, std::string what, std::string fix = "") {
    if (errors_.size() < max_errors)
      errors_.push_back({.code = code::syntax,
                         .loc = {std::string(file_), t.line, t.col, col_},
                         .what = std::move(what),
                         .fix = std::move(fix)});
  }

  void skip() {
    while (at_ < s_.size()) {
      const char c = s_[at_];
      if (c == ' ' || c == '\t' || c == '\n' || c == '\r') {
        take();
      } else if (c == '/' && peek(1) == '/') {
        while (at_ < s_.size() && s_[at_] != '\n') take();
      } else {
        return;
      }
    }
  }

  bool one(Token& t) {
    const char c = peek();
    if (is_letter(c)) return word(t);
    if (is_digit(c)) return number(t);
    if (c == '"') {
      t.kind = Tok::string;
      return string(t);
    }
    if (c == '@') return at(t);
    if (c == '%' && (is_digit(peek(1)) || is_letter(peek(1))))
      return prefixed(t, Tok::percent, is_name);
    if (c == '$' && is_digit(peek(1))) return prefixed(t, Tok::dollar, is_digit);
    if (c == '#' && is_digit(peek(1))) return prefixed(t, Tok::hash, is_digit);
    t.kind = Tok::symbol;
    static constexpr std::string_view pairs[] = {"->", "<=", ">=", "==", "!=", "&&", "||"};
    for (std::string_view p : pairs)
      if (s_.substr(at_, 2) == p) return take(), take(), true;
    if (std::string_view("(){}[]<>,:;=+-*/%?").find(c) != std::string_view::npos)
      return take(), true;
    take();
    while (at_ < s_.size() && (static_cast<unsigned char>(s_[at_]) & 0xC0) == 0x80) take();
    const auto byte = static_cast<unsigned char>(c);
    error(t,
          byte >= 0x20 && byte < 0x7F ? fmt::format("`{}` means nothing here", c)
                                      : fmt::format("byte 0x{:02x} means nothing here", byte),
          byte >= 0x80 ? "names with other letters stand in quotes" : "");
    return false;
  }

  bool word(Token& t) {
    t.kind = Tok::word;
    const std::size_t from = at_;
    while (is_name(peek())) take();
    if (s_.substr(from, at_ - from) == "sha256" && peek() == ':') {
      take();
      while (hex_value(peek()) >= 0) take();
    }
    return true;
  }

  bool prefixed(Token& t, Tok kind, bool (*part)(char)) {
    t.kind = kind;
    take();
    const std::size_t from = at_;
    while (at_ < s_.size() && part(s_[at_])) take();
    t.text = s_.substr(from, at_ - from);
    return true;
  }

  bool at(Token& t) {
    t.kind = Tok::at;
    if (is_letter(peek(1))) return prefixed(t, Tok::at, is_name);
    take();
    if (peek() == '"') return string(t);
    error(t, "a name must follow `@`");
    return false;
  }

  bool number(Token& t) {
    t.kind = Tok::integer;
    if (peek() == '0' && peek(1) == 'x') {
      take(), take();
      while (hex_value(peek()) >= 0) take();
      return true;
    }
    while (is_digit(peek())) take();
    if (peek() == '.' && is_digit(peek(1))) {
      t.kind = Tok::real;
      take();
      while (is_digit(peek())) take();
    }
    if (peek() == 'e' || peek() == 'E') {
      const std::size_t sign = peek(1) == '+' || peek(1) == '-' ? 1 : 0;
      if (is_digit(peek(1 + sign))) {
        t.kind = Tok::real;
        for (std::size_t k = 0; k < 1 + sign; ++k) take();
        while (is_digit(peek())) take();
      }
    }
    return true;
  }

  bool string(Token& t) {
    take();
    const std::size_t from = at_;
    while (at_ < s_.size() && s_[at_] != '\n' && s_[at_] != '"' && s_[at_] != '\\') take();
    if (peek() == '"') {
      t.text = s_.substr(from, at_ - from);
      return take(), true;
    }
    std::string& out = strings_.emplace_back(s_.substr(from, at_ - from));
    while (at_ < s_.size() && s_[at_] != '\n') {
      const char c = s_[at_];
      if (c == '"') {
        t.text = out;
        return take(), true;
      }
      if (c != '\\') {
        out += c;
        take();
        continue;
      }
      take();
      const char e = peek();
      if (e == 'x') {
        const int hi = hex_value(peek(1)), lo = hi < 0 ? -1 : hex_value(peek(2));
        if (lo < 0) return bad_escape(t);
        out += static_cast<char>(hi * 16 + lo);
        take(), take(), take();
        continue;
      }
      if (e != 'n' && e != 't' && e != '"' && e != '\\') return bad_escape(t);
      out += e == 'n' ? '\n' : e == 't' ? '\t' : e;
      take();
    }
    error(t, "the string has no closing quote on its line",
          "write a line end inside a string as \\n");
    return false;
  }

  bool bad_escape(Token& t) {
    error(t, "unknown escape in a string",
          R"(the escapes are \n \t \" \\ and \x followed by two hex digits)");
    while (at_ < s_.size() && s_[at_] != '\n') take();
    return false;
  }

  std::string_view s_, file_;
  Diags& errors_;
  std::deque<std::string>& strings_;
  std::size_t at_ = 0;
  int line_ = 1, col_ = 1;
};

/// Bytes of the UTF-8 sequence at the start of `s`; 0 when it is not one.
std::size_t utf8_length(std::string_view s) {
  const auto b = static_cast<unsigned char>(s[0]);
  const std::size_t n = b < 0x80                ? 1
                        : b >= 0xC2 && b < 0xE0 ? 2
                        : b >= 0xE0 && b < 0xF0 ? 3
                        : b >= 0xF0 && b < 0xF5 ? 4
                                                : 0;
  if (n == 0 || n > s.size()) return 0;
  for (std::size_t k = 1; k < n; ++k)
    if ((static_cast<unsigned char>(s[k]) & 0xC0) != 0x80) return 0;
  return n;
}

}  // namespace

std::vector<Token> lex(std::string_view text, std::string_view file, Diags& errors,
                       std::deque<std::string>& strings) {
  return Lexer(text, file, errors, strings).run();
}

std::string quoted(std::string_view s) {
  std::string out = "\"";
  while (!s.empty()) {
    const std::size_t n = utf8_length(s);
    const char c = s[0];
    if (c == '\n')
      out += "\\n";
    else if (c == '\t')
      out += "\\t";
    else if (c == '"' || c == '\\')
      (out += '\\') += c;
    else if (n == 0 || static_cast<unsigned char>(c) < 0x20 || c == 0x7F)
      out += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
    else
      out += s.substr(0, n);
    s.remove_prefix(n == 0 ? 1 : n);
  }
  return out + '"';
}

bool is_word(std::string_view s) {
  if (s.empty() || !is_letter(s[0])) return false;
  for (char c : s)
    if (!is_name(c)) return false;
  return true;
}

std::string at_name(std::string_view s) { return "@" + (is_word(s) ? std::string(s) : quoted(s)); }

}  // namespace tenon::text
