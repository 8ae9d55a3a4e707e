// Scalar operations: one enum with one meaning, shared by tensor expressions, the evaluator,
// kernels and targets. Every back end computes exactly this, element by element.
//
// Integers: two's complement, wrap on overflow. `div` rounds towards minus infinity and `mod` has
// the sign of the divisor (so that index arithmetic is simple); division by zero gives 0. A shift
// by an amount outside [0, bits) gives 0, or -1 for `shr` of a negative number. `pow` of integers
// wraps; a negative exponent gives 0 unless the base is 1 or -1. Floats: IEEE 754, round to nearest
// even, no reassociation, no fast-math; `div` and `sqrt` are correctly rounded; `mod` is fmod, plus
// the divisor when the signs differ. f16 and bf16 compute in f32 and round after each operation; a
// cast to them is a cast to f32, then rounded. min(a,b) = a < b ? a : b and max(a,b) = a > b ? a :
// b, exactly: the second operand wins for NaN and for +0/-0. Comparisons with NaN are false, except
// `ne`. Comparisons and logic give boolean 0 or 1. floor, ceil and round_even of an integer are the
// integer; fma of integers is a * b + c, wrapped. The bits of a NaN are nobody's promise.
// Transcendentals (exp, log, tanh, erf, sigmoid, sin, cos, pow) may differ between implementations
// by the bound stated in the docs; all others are bitwise equal everywhere.
#ifndef TENON_SCALAR_H
#define TENON_SCALAR_H

#include <cstdint>
#include <optional>
#include <string_view>

namespace tenon {

enum class ScalarOp : std::uint8_t {
  // unary, same type as the operand
  neg,
  abs,
  exp,
  log,
  sqrt,
  tanh,
  erf,
  sigmoid,
  sin,
  cos,
  floor,
  ceil,
  round_even,
  bit_not,
  logical_not,  // boolean -> boolean
  is_nan,       // float -> boolean
  // To the type of the expression. float -> int truncates, saturates at the ends, NaN gives 0;
  // int -> int wraps; -> boolean is `!= 0` (NaN is true).
  cast,
  bitcast,  // same width
  // binary, both operands of one type
  add,
  sub,
  mul,
  div,
  mod,
  min,
  max,
  pow,
  // a * 2^floor(b) rounded once, of floats of at most 32 bits. 2^inf is inf, 2^-inf is 0; times a
  // NaN,
  // those are what they are (as in the instruction that there is).
  ldexp,
  bit_and,
  bit_or,
  bit_xor,
  shl,
  shr,  // shr: arithmetic when signed
  eq,
  ne,
  lt,
  le,
  gt,
  ge,  // -> boolean
  logical_and,
  logical_or,  // boolean
  // ternary
  select,  // (boolean, T, T); both sides are evaluated, so both must be safe to evaluate
  fma,     // a * b + c rounded once
};

constexpr unsigned arity(ScalarOp op) {
  return op <= ScalarOp::bitcast ? 1 : op <= ScalarOp::logical_or ? 2 : 3;
}
constexpr bool is_comparison(ScalarOp op) { return op >= ScalarOp::eq && op <= ScalarOp::ge; }
constexpr bool is_transcendental(ScalarOp op) {
  switch (op) {
    case ScalarOp::exp:
    case ScalarOp::log:
    case ScalarOp::tanh:
    case ScalarOp::erf:
    case ScalarOp::sigmoid:
    case ScalarOp::sin:
    case ScalarOp::cos:
    case ScalarOp::pow:
      return true;
    default:
      return false;
  }
}
/// Spelling in the text form: the enumerator's name ("add", "round_even").
std::string_view name(ScalarOp op);
std::optional<ScalarOp> scalar_op_of(std::string_view name);

}  // namespace tenon

#endif
