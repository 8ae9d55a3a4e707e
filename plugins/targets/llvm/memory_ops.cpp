#include "memory_ops.h"

#include <algorithm>

#include "types.h"

namespace tenon::llvm_target {
namespace {

constexpr std::int64_t widest_shuffled_stride = 4;  // beyond it a gather is as good

/// Index as i64 (or lanes of it), extended by its own sign.
llvm::Value* as_i64(llvm::IRBuilder<>& b, llvm::Value* index, DType t) {
  auto* vec = llvm::dyn_cast<llvm::FixedVectorType>(index->getType());
  return b.CreateIntCast(index, with_lanes(b.getInt64Ty(), vec ? vec->getNumElements() : 1),
                         is_signed(t));
}

}  // namespace

llvm::Value* MemoryOps::address(DType t, V base, V index) {
  return b_.CreateGEP(memory_type(b_.getContext(), t), base, index);
}

llvm::Value* MemoryOps::address_lanes(tir::Type t, V base, V index, std::int64_t stride) {
  if (index->getType()->isVectorTy()) return address(t.dtype, base, index);
  llvm::SmallVector<llvm::Constant*, 16> steps;
  for (unsigned l = 0; l < t.lanes; ++l)
    steps.push_back(b_.getInt64(l * static_cast<std::uint64_t>(stride)));
  return address(t.dtype, address(t.dtype, base, index), llvm::ConstantVector::get(steps));
}

llvm::Value* MemoryOps::all_on(unsigned lanes) {
  return llvm::ConstantInt::getTrue(with_lanes(b_.getInt1Ty(), lanes));
}

// Full-width loads that together cover elements 0, stride, 2*stride, ... and end exactly with the
// last one (the last load overlaps the one before), then shuffles.
llvm::Value* MemoryOps::load_strided(llvm::Type* element, unsigned lanes, V first,
                                     std::int64_t stride) {
  llvm::Type* type = with_lanes(element, lanes);
  const llvm::Align align(element->getScalarSizeInBits() / 8);
  const std::int64_t last_start = (lanes - 1) * stride + 1 - lanes;
  V result = nullptr;
  unsigned lane = 0;
  while (lane < lanes) {
    const std::int64_t start = std::min(lane * stride, last_start);
    V part = b_.CreateAlignedLoad(
        type, b_.CreateConstGEP1_64(element, first, static_cast<std::uint64_t>(start)), align);
    llvm::SmallVector<int, 64> pick(lanes);
    for (unsigned l = 0; l < lane; ++l) pick[l] = static_cast<int>(l);
    const int from = result ? static_cast<int>(lanes) : 0;
    unsigned next = lane;
    for (; next < lanes && next * stride - start < lanes; ++next)
      pick[next] = from + static_cast<int>(next * stride - start);
    for (unsigned l = next; l < lanes; ++l) pick[l] = llvm::PoisonMaskElem;
    result =
        result ? b_.CreateShuffleVector(result, part, pick) : b_.CreateShuffleVector(part, pick);
    lane = next;
  }
  return result;
}

llvm::Value* MemoryOps::load(tir::Type t, V base, V index, DType index_type, std::int64_t stride,
                             V mask) {
  llvm::Type* element = memory_type(b_.getContext(), t.dtype);
  llvm::Type* type = with_lanes(element, t.lanes);
  const llvm::Align align(element_bytes(t.dtype));
  index = as_i64(b_, index, index_type);
  V r = nullptr;
  if (t.lanes == 1) {
    V at = address(t.dtype, base, index);
    if (mask) {  // as one lane of a vector: LLVM turns it into a branch
      llvm::Type* one = llvm::FixedVectorType::get(element, 1);
      V on = b_.CreateInsertElement(
          llvm::PoisonValue::get(llvm::FixedVectorType::get(b_.getInt1Ty(), 1)), mask,
          b_.getInt64(0));
      r = b_.CreateExtractElement(
          b_.CreateMaskedLoad(one, at, align, on, llvm::Constant::getNullValue(one)),
          b_.getInt64(0));
    } else {
      r = b_.CreateAlignedLoad(element, at, align);
    }
  } else if (index->getType()->isVectorTy() ||
             (stride > 1 && (mask || stride > widest_shuffled_stride))) {
    V at = address_lanes(t, base, index, stride);
    r = b_.CreateMaskedGather(type, at, align, mask ? mask : all_on(t.lanes),
                              llvm::Constant::getNullValue(type));
  } else if (stride > 1) {
    r = load_strided(element, t.lanes, address(t.dtype, base, index), stride);
  } else if (mask) {
    r = b_.CreateMaskedLoad(type, address(t.dtype, base, index), align, mask,
                            llvm::Constant::getNullValue(type));
  } else {
    r = b_.CreateAlignedLoad(type, address(t.dtype, base, index), align);
  }
  return t.dtype == DType::boolean ? b_.CreateICmpNE(r, llvm::Constant::getNullValue(type)) : r;
}

void MemoryOps::store(tir::Type t, V base, V index, DType index_type, std::int64_t stride, V value,
                      V mask) {
  llvm::Type* element = memory_type(b_.getContext(), t.dtype);
  if (t.dtype == DType::boolean) value = b_.CreateZExt(value, with_lanes(element, t.lanes));
  const llvm::Align align(element_bytes(t.dtype));
  index = as_i64(b_, index, index_type);
  if (t.lanes == 1) {
    V at = address(t.dtype, base, index);
    if (!mask) {
      b_.CreateAlignedStore(value, at, align);
      return;
    }
    V none = llvm::PoisonValue::get(llvm::FixedVectorType::get(element, 1));
    V off = llvm::PoisonValue::get(llvm::FixedVectorType::get(b_.getInt1Ty(), 1));
    b_.CreateMaskedStore(b_.CreateInsertElement(none, value, b_.getInt64(0)), at, align,
                         b_.CreateInsertElement(off, mask, b_.getInt64(0)));
  } else if (index->getType()->isVectorTy() || stride > 1) {
    b_.CreateMaskedScatter(value, address_lanes(t, base, index, stride), align,
                           mask ? mask : all_on(t.lanes));
  } else if (mask) {
    b_.CreateMaskedStore(value, address(t.dtype, base, index), align, mask);
  } else {
    b_.CreateAlignedStore(value, address(t.dtype, base, index), align);
  }
}

}  // namespace tenon::llvm_target
