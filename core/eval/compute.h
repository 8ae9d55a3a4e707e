// evaluate(Compute) with failures as text: for callers whose computes come from users.
#ifndef TENON_CORE_EVAL_COMPUTE_H
#define TENON_CORE_EVAL_COMPUTE_H

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "tenon/te.h"

namespace tenon::eval {

/// As evaluate(Compute); what went wrong (an index out of bounds), or empty. `c` passes te::check.
/// With several threads, no output is the memory of an input.
std::string run(const te::Compute& c, std::span<const std::byte* const> inputs,
                std::span<std::byte* const> outputs, unsigned threads);

/// Bytes that run() takes besides inputs and outputs, when nothing is freed early. Saturates.
std::uint64_t scratch_bytes(const te::Compute& c);

}  // namespace tenon::eval

#endif
