// LLVM module -> object file -> shared object, in memory.
#ifndef TENON_PLUGINS_TARGETS_LLVM_CODEGEN_H
#define TENON_PLUGINS_TARGETS_LLVM_CODEGEN_H

#include <llvm/IR/Module.h>
#include <llvm/Target/TargetMachine.h>

#include <memory>
#include <string>
#include <vector>

#include "tenon/target.h"

namespace tenon::llvm_target {

/// TN6104 when LLVM does not know the triple.
Result<std::unique_ptr<llvm::TargetMachine>> make_machine(const TargetFacts& facts);
/// Runs the four passes and writes the object. `m` was made by emit().
Result<ObjectBytes> compile_module(llvm::Module& m, llvm::TargetMachine& machine);
/// Links the objects, in their order, to one shared object called `soname`. LLD has global state:
/// calls queue.
Result<ObjectBytes> link_shared(std::span<const ObjectBytes> objects, const std::string& soname);

}  // namespace tenon::llvm_target

#endif
