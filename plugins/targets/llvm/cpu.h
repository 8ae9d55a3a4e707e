// What the target may assume of the CPU. Free of LLVM: the thin plugin uses it to answer facts() at
// once.
#ifndef TENON_PLUGINS_TARGETS_LLVM_CPU_H
#define TENON_PLUGINS_TARGETS_LLVM_CPU_H

#include <string>
#include <string_view>
#include <vector>

#include "tenon/target.h"

namespace tenon::llvm_target {

/// Names that `cpu` may take besides `native`, in the order of the documentation.
std::vector<std::string> cpu_names();
/// Fills triple, cpu, features, vector_bytes and vector_registers. `native` becomes the name of the
/// widest level that this machine has, with exactly the features it has; an unknown name is TN6102.
Status resolve_cpu(std::string_view cpu, TargetFacts& facts);
}  // namespace tenon::llvm_target

#endif
