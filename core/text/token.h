// Tokens of the text form, and the lexer. White space and comments (`//` to the end of the line)
// separate tokens.
#ifndef TENON_CORE_TEXT_TOKEN_H
#define TENON_CORE_TEXT_TOKEN_H

#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

#include "tenon/diag.h"

namespace tenon::text {

enum class Tok : std::uint8_t {
  end,
  word,     // [A-Za-z_][A-Za-z0-9_.]* (`a.b` is one word), and `sha256:<hex digits>`
  integer,  // digits, or 0x and hex digits
  real,     // digits with a point or an exponent
  string,   // "..." ; `text` is the unescaped value
  percent,  // %name ; `text` is the name without %
  at,       // @name or @"name" ; `text` is the name
  dollar,   // $digits ; `text` is the digits
  hash,     // #digits ; `text` is the digits
  symbol,   // punctuation, one or two characters
};

struct Token {
  Tok kind = Tok::end;
  int line = 1, col = 1, end_col = 1;  // as in Loc
  std::string_view raw;                // in the file
  std::string_view text;               // see Tok; empty where `raw` says it all
  bool is(std::string_view symbol) const { return kind == Tok::symbol && raw == symbol; }
  bool is_word(std::string_view w) const { return kind == Tok::word && raw == w; }
};

/// All tokens; the last is `end`. What cannot be read is reported in `errors` and skipped. `text`
/// must outlive the tokens, and so must `strings`, which holds those that were written with
/// escapes.
std::vector<Token> lex(std::string_view text, std::string_view file, Diags& errors,
                       std::deque<std::string>& strings);

/// `"..."` with escapes, such that lex() gives back exactly `s`, whatever its bytes.
std::string quoted(std::string_view s);
/// Whether `s` can stand as a word.
bool is_word(std::string_view s);
/// `@name`, quoted when it must be.
std::string at_name(std::string_view s);

}  // namespace tenon::text

#endif
