// One kernel -> one C function, statement by statement; a vector is its lanes, one scalar after
// another.
#ifndef TENON_PLUGINS_TARGETS_C_EMIT_H
#define TENON_PLUGINS_TARGETS_C_EMIT_H

#include <string>

#include "helpers.h"
#include "tenon/kernel.h"

namespace tenon::c_target {

/// Why this kernel cannot be printed, or "".
std::string refuse(const tir::Kernel& k);
/// The function; what it calls goes to `helpers`. Only for kernels that refuse() does not refuse.
std::string emit(const tir::Kernel& k, Helpers& helpers);

}  // namespace tenon::c_target

#endif
