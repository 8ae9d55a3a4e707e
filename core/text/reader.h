// What every part of the parser stands on: a cursor over the tokens, errors with their place, and
// getting back in step.
//
// A rule that cannot go on calls fail(), which records the error and throws Abandon; the loop over
// lines that called the rule catches it and goes on at the next line. Abandon never leaves the
// parser. Rules nest at most `max_depth` deep.
#ifndef TENON_CORE_TEXT_READER_H
#define TENON_CORE_TEXT_READER_H

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/text/codes.h"
#include "core/text/token.h"
#include "tenon/ir.h"
#include "tenon/text.h"

namespace tenon::text {

struct Abandon {};

class Reader {
 public:
  Reader(std::string_view text, std::string_view file)
      : file_(file), tokens_(lex(text, file, errors_, strings_)) {}

  const Token& peek(std::size_t ahead = 0) const {
    return tokens_[std::min(at_ + ahead, tokens_.size() - 1)];
  }
  const Token& take() {
    const Token& t = peek();
    if (at_ + 1 < tokens_.size()) ++at_;
    return t;
  }
  bool at_end() const { return peek().kind == Tok::end; }
  std::size_t mark() const { return at_; }
  const Token& token(std::size_t mark) const { return tokens_[mark]; }

  bool accept(std::string_view symbol) { return peek().is(symbol) ? (take(), true) : false; }
  bool accept_word(std::string_view w) { return peek().is_word(w) ? (take(), true) : false; }
  void expect(std::string_view symbol, std::string_view after);
  void expect_word(std::string_view w, std::string_view after);
  /// `close` after an item, or `,` and another item.
  bool more(std::string_view close);

  std::string string(std::string_view what);
  std::string name_after_at(std::string_view what);
  std::string word_or_string(std::string_view what);
  std::int64_t integer(std::string_view what);
  std::uint64_t natural(std::string_view what);
  std::uint32_t natural32(std::string_view what);
  /// The number in a token like `%17`.
  std::uint32_t index(Tok kind, std::string_view what);
  /// A number with its sign, as written: `-1.5`, `-inf`. `nan(0x..)` gives the digits.
  std::string number(std::string_view what);

  Loc loc(const Token& t) const { return {file_, t.line, t.col, t.end_col}; }
  void error(const Token& t, int code, std::string what, std::string fix = "");
  [[noreturn]] void fail(const Token& t, int code, std::string what, std::string fix = "") {
    error(t, code, std::move(what), std::move(fix));
    throw Abandon{};
  }
  [[noreturn]] void unexpected(std::string_view wanted);

  /// After an Abandon: goes to the first token of a later line than the failed one, past the braces
  /// that were opened since `start`, and not past a brace that closes what encloses `start`.
  void resync(std::size_t start);
  /// Goes to the next token in the first column that starts an item of a module.
  void resync_item();
  bool full() const { return errors_.size() >= max_errors; }
  Diags& errors() { return errors_; }

  /// Held while a rule calls itself.
  class Deeper {
   public:
    explicit Deeper(Reader& r) : r_(r) {
      if (++r_.depth_ > max_depth) {
        --r_.depth_;
        r_.fail(r_.peek(), code::nesting, "nests deeper than " + std::to_string(max_depth));
      }
    }
    ~Deeper() { --r_.depth_; }
    Deeper(const Deeper&) = delete;
    Deeper& operator=(const Deeper&) = delete;

   private:
    Reader& r_;
  };
  static constexpr int max_depth = 200;

 private:
  SharedText file_;
  Diags errors_;
  std::deque<std::string> strings_;  // of tokens
  std::vector<Token> tokens_;
  std::size_t at_ = 0;
  int depth_ = 0;
};

/// What types and attributes refer to.
struct ReadContext {
  const std::vector<SymbolInfo>* symbols = nullptr;
  const Blobs* blobs = nullptr;
};

/// `f32` or `f32x8`; nullopt when `word` is neither.
std::optional<std::pair<DType, std::uint16_t>> element_type(std::string_view word);
TensorType read_type(Reader& r, const ReadContext& ctx);
AttrValue read_attr(Reader& r, const ReadContext& ctx);
/// From `{` to `}`.
Attrs read_attrs(Reader& r, const ReadContext& ctx);
Loc read_loc(Reader& r);

/// Items of a module, from their keyword on.
void read_function(Reader& r, Module& m, const ReadContext& ctx);
ComputeFunction read_compute(Reader& r);
Schedule read_schedule(Reader& r, const te::Compute& c);
KernelFunction read_kernel(Reader& r);
StoragePlan read_plan(Reader& r);

}  // namespace tenon::text

#endif
