// One kernel -> one LLVM module, statement by statement.
#ifndef TENON_PLUGINS_TARGETS_LLVM_EMIT_H
#define TENON_PLUGINS_TARGETS_LLVM_EMIT_H

#include <llvm/IR/Module.h>

#include <memory>
#include <string>

#include "tenon/target.h"

namespace tenon::llvm_target {

/// Why this target cannot compile `k`: a broken law of kernels, an operation that lowering should
/// have expanded, a type that the CPU lacks instructions for. Empty when it can; emit() is then
/// total.
std::string refuse(const tir::Kernel& k, const TargetFacts& facts);

/// Exports k.symbol with the ABI of kernel.h; everything else is internal.
std::unique_ptr<llvm::Module> emit(const tir::Kernel& k, const TargetFacts& facts,
                                   llvm::LLVMContext& context);

}  // namespace tenon::llvm_target

#endif
