// Loads and stores of kernels. None touches a byte outside the elements that it names: a buffer may
// end at an unmapped page, and lanes that a mask switches off may lie anywhere.
#ifndef TENON_PLUGINS_TARGETS_LLVM_MEMORY_OPS_H
#define TENON_PLUGINS_TARGETS_LLVM_MEMORY_OPS_H

#include <llvm/IR/IRBuilder.h>

#include "tenon/kernel.h"

namespace tenon::llvm_target {

class MemoryOps {
 public:
  explicit MemoryOps(llvm::IRBuilder<>& b) : b_(b) {}

  /// `index` counts elements from `base`, a scalar or one per lane; `stride` in elements; `mask`
  /// may be null.
  llvm::Value* load(tir::Type t, llvm::Value* base, llvm::Value* index, DType index_type,
                    std::int64_t stride, llvm::Value* mask);
  void store(tir::Type t, llvm::Value* base, llvm::Value* index, DType index_type,
             std::int64_t stride, llvm::Value* value, llvm::Value* mask);

 private:
  using V = llvm::Value*;
  V address(DType t, V base, V index);
  V address_lanes(tir::Type t, V base, V index, std::int64_t stride);
  V load_strided(llvm::Type* element, unsigned lanes, V first, std::int64_t stride);
  V all_on(unsigned lanes);

  llvm::IRBuilder<>& b_;
};

}  // namespace tenon::llvm_target

#endif
