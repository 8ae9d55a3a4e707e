// What the lowering may assume of the CPU, and how its compiler is told of it.
#ifndef TENON_PLUGINS_TARGETS_C_CPU_H
#define TENON_PLUGINS_TARGETS_C_CPU_H

#include <string_view>

#include "tenon/target.h"

namespace tenon::c_target {

/// Fills triple, cpu, vector_bytes and vector_registers; an unknown name is TN6102.
Status resolve_cpu(std::string_view cpu, TargetFacts& facts);
/// Options of gcc for a CPU that resolve_cpu() knows, or "".
std::string_view compiler_flags(std::string_view cpu);

}  // namespace tenon::c_target

#endif
