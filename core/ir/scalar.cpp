#include "tenon/scalar.h"

#include <array>

namespace tenon {
namespace {

// In the order of the enum.
constexpr std::array<std::string_view, 42> names{
    "neg",         "abs",     "exp",  "log",         "sqrt",       "tanh",       "erf",
    "sigmoid",     "sin",     "cos",  "floor",       "ceil",       "round_even", "bit_not",
    "logical_not", "is_nan",  "cast", "bitcast",     "add",        "sub",        "mul",
    "div",         "mod",     "min",  "max",         "pow",        "ldexp",      "bit_and",
    "bit_or",      "bit_xor", "shl",  "shr",         "eq",         "ne",         "lt",
    "le",          "gt",      "ge",   "logical_and", "logical_or", "select",     "fma"};
static_assert(names[static_cast<std::size_t>(ScalarOp::fma)] == "fma");

}  // namespace

std::string_view name(ScalarOp op) { return names[static_cast<std::size_t>(op)]; }

std::optional<ScalarOp> scalar_op_of(std::string_view s) {
  for (std::size_t i = 0; i < names.size(); ++i)
    if (names[i] == s) return static_cast<ScalarOp>(i);
  return std::nullopt;
}

}  // namespace tenon
