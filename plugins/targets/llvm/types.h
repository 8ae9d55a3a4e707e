// How the types of kernels stand in LLVM: a boolean is i1 in a register and i8 in memory; bf16 is
// its bits, i16.
#ifndef TENON_PLUGINS_TARGETS_LLVM_TYPES_H
#define TENON_PLUGINS_TARGETS_LLVM_TYPES_H

#include <llvm/IR/DerivedTypes.h>
#include <llvm/IR/LLVMContext.h>

#include "tenon/kernel.h"

namespace tenon::llvm_target {

llvm::Type* register_type(llvm::LLVMContext& c, DType t);
llvm::Type* memory_type(llvm::LLVMContext& c, DType t);
/// `t` itself for one lane, else a vector of it.
llvm::Type* with_lanes(llvm::Type* t, unsigned lanes);
inline llvm::Type* register_type(llvm::LLVMContext& c, tir::Type t) {
  return with_lanes(register_type(c, t.dtype), t.lanes);
}
/// Bytes of one element in memory.
std::uint64_t element_bytes(DType t);

}  // namespace tenon::llvm_target

#endif
