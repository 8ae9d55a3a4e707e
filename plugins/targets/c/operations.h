// Scalar operations as C expressions, exactly as tenon/scalar.h says.
#ifndef TENON_PLUGINS_TARGETS_C_OPERATIONS_H
#define TENON_PLUGINS_TARGETS_C_OPERATIONS_H

#include <span>
#include <string>

#include "helpers.h"

namespace tenon::c_target {

/// Every text that goes in or comes out is one operand: a name, a literal, a call, or in
/// parentheses.
class Operations {
 public:
  using Texts = std::span<const std::string>;

  explicit Operations(Helpers& helpers) : h_(helpers) {}

  /// A constant of a type: `f` of floats, `i` of the others.
  std::string constant(DType t, double f, std::int64_t i);
  /// `op` of operands of type `from` (of the last one: a select's condition is boolean), as a value
  /// of c_type(to).
  std::string print(ScalarOp op, DType from, DType to, Texts a);

 private:
  std::string floats(ScalarOp op, DType t, Texts a);
  std::string cast(DType from, DType to, const std::string& a);
  std::string bitcast(DType from, DType to, const std::string& a);
  std::string call(const std::string& function, Texts a) const;

  Helpers& h_;
};

/// The infix operator, or "" where there is none.
std::string_view infix(ScalarOp op);
/// Without parentheses around all of it: some compilers find `if ((a == b))` suspicious.
std::string bare(std::string text);

}  // namespace tenon::c_target

#endif
