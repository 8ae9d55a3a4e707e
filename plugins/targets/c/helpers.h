// The C functions that kernels call for what C's operators do not do as tenon/scalar.h says:
// wrapping and flooring integers, saturating casts, fused multiply-add, square roots, half floats.
// Only those that are used are printed.
#ifndef TENON_PLUGINS_TARGETS_C_HELPERS_H
#define TENON_PLUGINS_TARGETS_C_HELPERS_H

#include <map>
#include <string>
#include <string_view>

#include "tenon/scalar.h"
#include "tenon/type.h"

namespace tenon::c_target {

/// The C type that holds one element in a register: f16 and bf16 by their bits, boolean as bool.
std::string_view c_type(DType t);
/// The C type of one element in memory: it may alias others, for bytes of a pool hold one type
/// after another.
std::string memory_type(DType t);

class Helpers {
 public:
  /// The name of the function for `op` on operands of type `t`; it is printed by text(), with what
  /// it calls.
  std::string operation(ScalarOp op, DType t);
  /// Float to integer: truncates, saturates, NaN gives 0.
  std::string saturate(DType from, DType to);
  /// f16 or bf16 to f32, and back.
  std::string widen(DType from);
  std::string narrow(DType to);
  /// The float with these bits, and the bits of a float: f32 or f64.
  std::string from_bits(DType t);
  std::string to_bits(DType t);

  /// All of them, each after those that it calls.
  const std::string& text() const { return text_; }

 private:
  /// Prints `body` unless the function is there already; `$` in it stands for the name.
  std::string add(std::string name, std::string body);
  std::string integer_body(ScalarOp op, DType t) const;
  std::string float_body(ScalarOp op, DType t);
  std::string rounding_body(ScalarOp op, DType t);
  std::string root_body(DType t);
  std::string fma_body(DType t);

  std::map<std::string, bool, std::less<>> done_;
  std::string text_;
};

/// What every file of kernels begins with: includes, types in memory, the settings that the numbers
/// depend on.
std::string_view prelude();

}  // namespace tenon::c_target

#endif
