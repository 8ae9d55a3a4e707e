// What the printers of computes and kernels share: expressions over the scalar operations.
#ifndef TENON_CORE_TEXT_WRITE_EXPR_H
#define TENON_CORE_TEXT_WRITE_EXPR_H

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "core/text/layout.h"
#include "tenon/kernel.h"
#include "tenon/scalar.h"

namespace tenon::text {

/// Words that may not name an axis, a variable or a buffer in expressions.
bool is_reserved(std::string_view word);
/// Which of `names` can stand bare in expressions: plain, short, used once.
std::vector<bool> bare_names(const std::vector<std::string>& names);

/// Infix spelling and strength of an operation; an empty spelling means that it is written as a
/// call.
struct Infix {
  std::string_view spelling;
  int strength = 0;
};
Infix infix_of(ScalarOp op);

class ExprWriter {
 public:
  ExprWriter(std::string& out, std::vector<Shape> shapes, std::vector<ExprId> roots)
      : out_(out), shapes_(std::move(shapes)), layout_(shapes_, roots) {}
  virtual ~ExprWriter() = default;

 protected:
  /// Lines for what must stand before a place of text that uses `roots` in this order.
  void lines_before(std::vector<ExprId> roots, std::string_view indent);
  /// Lines for what nothing used.
  void rest(std::string_view indent);
  /// A use from outside, announced to lines_before.
  void slot(ExprId id);
  /// An operand.
  void operand(ExprId id, int strength = 0);

  void immediate(const tir::Type& t, double f, std::int64_t i);
  /// `op` of `args`, and the type when it is not what the reader takes it to be.
  void scalar(ScalarOp op, const std::vector<ExprId>& args, const tir::Type& t, int strength);
  void call(std::string_view name, const std::vector<ExprId>& args);
  void suffix(const tir::Type& t, bool needed);

  /// Writes the expression itself, whatever it is.
  virtual void expr(ExprId id, int strength) = 0;
  /// Type of an expression; any when there is none of that id.
  virtual tir::Type type_of(ExprId id) const = 0;

  std::string& out_;

 private:
  void line(ExprId id, std::string_view indent);
  std::vector<Shape> shapes_;
  Layout layout_;
};

}  // namespace tenon::text

#endif
