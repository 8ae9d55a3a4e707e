// Folding of scalar expressions over constants: integers and booleans exactly as scalar.h says;
// floats are left alone, except where a condition decides a select.
#ifndef TENON_CORE_TE_FOLD_H
#define TENON_CORE_TE_FOLD_H

#include <cstdint>
#include <optional>
#include <span>

#include "tenon/te.h"

namespace tenon::te {

/// `v` as a value of the integer or boolean type `t`: wrapped to its width.
std::int64_t wrap(DType t, std::int64_t v);
/// The value of `op` on constants of type `t` (the operands' type); nullopt when it is not folded.
std::optional<std::int64_t> fold_int(ScalarOp op, DType t, DType result,
                                     std::span<const std::int64_t> args);

}  // namespace tenon::te

#endif
