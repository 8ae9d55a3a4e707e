// Runs kernels as tenon/kernel.h and tenon/scalar.h say, one lane at a time: the judge of targets
// and of lowerings. Obvious rather than quick, and it checks what compiled code only assumes: every
// access lies inside its buffer.
#ifndef TENON_TESTS_SUPPORT_TIR_INTERPRETER_H
#define TENON_TESTS_SUPPORT_TIR_INTERPRETER_H

#include <cstdint>
#include <string>

#include "tenon/kernel.h"

namespace tenon::test {

/// One lane: the bits of an element of its type, upper bits 0 (booleans: 0 or 1).
using Lane = std::uint64_t;

/// `op` of lanes of type `from` (of the last operand: a select's condition is boolean).
Lane interpret_scalar(ScalarOp op, DType from, DType to, Lane a, Lane b, Lane c);

/// Runs the chunk [begin, end) over buf[] (kernel.h) and the worker's scratch. "" or the first
/// breach.
std::string interpret(const tir::Kernel& k, void* const* buf, void* worker, std::int64_t begin,
                      std::int64_t end);

/// Are two elements the same? NaNs are: their payload is nobody's promise.
bool same_element(DType t, Lane a, Lane b);
Lane read_lane(DType t, const void* element);
void write_lane(DType t, void* element, Lane v);

}  // namespace tenon::test

#endif
