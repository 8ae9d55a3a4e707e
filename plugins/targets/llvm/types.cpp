#include "types.h"

namespace tenon::llvm_target {

llvm::Type* memory_type(llvm::LLVMContext& c, DType t) {
  switch (t) {
    case DType::f32:
      return llvm::Type::getFloatTy(c);
    case DType::f64:
      return llvm::Type::getDoubleTy(c);
    case DType::f16:
      return llvm::Type::getHalfTy(c);
    case DType::bf16:
      return llvm::Type::getInt16Ty(c);
    default:
      return llvm::Type::getIntNTy(c, bits(t));
  }
}

llvm::Type* register_type(llvm::LLVMContext& c, DType t) {
  return t == DType::boolean ? llvm::Type::getInt1Ty(c) : memory_type(c, t);
}

llvm::Type* with_lanes(llvm::Type* t, unsigned lanes) {
  return lanes == 1 ? t : llvm::FixedVectorType::get(t, lanes);
}

std::uint64_t element_bytes(DType t) { return bits(t) / 8; }

}  // namespace tenon::llvm_target
