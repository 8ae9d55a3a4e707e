// What a lowered module must look like before its storage is planned.
#ifndef TENON_CORE_PROGRAM_NORMALISE_H
#define TENON_CORE_PROGRAM_NORMALISE_H

#include "tenon/ir.h"

namespace tenon {

/// Inserts `copy` nodes so that liveness and executors stay simple:
///  - each result of `main`, of each arm of an `if` and of the body of a `loop` is all the bytes of
///    a value of its own that a step of that body writes. An input or a constant that is returned,
///    a value returned twice, a part of a larger value, a value from outside an arm: all of these
///    are copied, at the end of the body; but for a value that a loop carries on as it is;
///  - a view that a kernel reads at an offset which breaks the alignment it asks for is copied,
///  before the first such call.
/// Ids and names of existing values stay. Idempotent: a module that needs nothing is left alone,
/// down to the pointers. Returns how many copies it made. Modules that are not lowered are left to
/// liveness to refuse.
std::uint32_t make_outputs_ownable(Module& m);

}  // namespace tenon

#endif
