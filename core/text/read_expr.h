// What the parsers of computes and kernels share: expressions over the scalar operations. Ids are
// given in the order in which expressions are finished; a leaf that is written again is the first
// equal one (see layout.h).
#ifndef TENON_CORE_TEXT_READ_EXPR_H
#define TENON_CORE_TEXT_READ_EXPR_H

#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "core/text/reader.h"
#include "tenon/kernel.h"
#include "tenon/scalar.h"

namespace tenon::text {

class ExprReader {
 public:
  explicit ExprReader(Reader& r) : r_(r) {}
  virtual ~ExprReader() = default;

 protected:
  using ExprId = std::uint32_t;

  /// An expression whose operators bind at least as tight as `strength`.
  ExprId expr(int strength = 1);
  /// `%e<id> = expression`
  void line();
  /// The line that starts at token `start` failed: uses of the name that it gives are not errors of
  /// their own.
  void lose_line(std::size_t start);
  bool at_line() const {
    return r_.peek().kind == Tok::percent && r_.peek().text[0] == 'e' && r_.peek(1).is("=");
  }
  /// `(a, b, ...)` up to `close`.
  std::vector<ExprId> args(std::string_view close);
  /// `:type` after an expression, or `otherwise`.
  tir::Type suffix(tir::Type otherwise);
  ExprId leaf(std::uint32_t kind, const tir::Type& t, std::uint32_t n, double f, std::int64_t i);
  std::uint16_t lanes_in_angles();
  std::string word_in_angles(std::string_view what);

  /// Anything but literals, calls of scalar operations and parentheses.
  virtual ExprId special() = 0;
  virtual ExprId add_leaf(std::uint32_t kind, const tir::Type& t, std::uint32_t n, double f,
                          std::int64_t i) = 0;
  virtual ExprId add_scalar(ScalarOp op, const tir::Type& t, std::vector<ExprId> args) = 0;
  virtual tir::Type type_of(ExprId id) const = 0;
  virtual ExprId add_copy(ExprId id) = 0;
  virtual void set_type(ExprId id, const tir::Type& t) = 0;
  virtual ExprId count() const = 0;  ///< expressions so far

  static constexpr std::uint32_t immediate_kind = 0;  // tir::Kind::imm and te::Kind::imm

  Reader& r_;

 private:
  ExprId primary();
  ExprId literal();
  ExprId scalar(ScalarOp op, std::vector<ExprId> args);
  ExprId call(ScalarOp op);

  std::map<std::tuple<std::uint32_t, DType, unsigned, std::uint32_t, std::uint64_t, std::int64_t>,
           ExprId>
      leaves_;
  std::map<std::string, ExprId, std::less<>> names_;
};

}  // namespace tenon::text

#endif
