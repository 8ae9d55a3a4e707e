// Scalar operations, lane by lane, exactly as tenon/scalar.h says: no fast-math flag is ever set.
#ifndef TENON_PLUGINS_TARGETS_LLVM_SCALAR_OPS_H
#define TENON_PLUGINS_TARGETS_LLVM_SCALAR_OPS_H

#include <llvm/IR/IRBuilder.h>

#include <span>

#include "tenon/diag.h"
#include "tenon/kernel.h"

namespace tenon::llvm_target {

/// Features that change which instructions are emitted, never what is computed.
struct CpuTraits {
  bool sse41 = false, fma = false, f16c = false;
  bool wide = false;  ///< AVX-512, and vectors of 64 bytes may be used
  bool vnni = false;  ///< AVX-512 VNNI, likewise
};

class ScalarOps {
 public:
  ScalarOps(llvm::IRBuilder<>& b, CpuTraits cpu) : b_(b), cpu_(cpu) {}

  /// `op` of `args`, whose types are `from` (the type of the last operand: a select's condition
  /// comes first).
  llvm::Value* emit(ScalarOp op, tir::Type from, tir::Type to, std::span<llvm::Value* const> args);
  /// `sum` and the products of `a` (u8) and `b` (i8) in groups of four, as tir::Kind::dot.
  llvm::Value* dot(llvm::Value* a, llvm::Value* b, llvm::Value* sum);
  /// A scalar constant.
  llvm::Value* constant(DType t, double f, std::int64_t i);

 private:
  using V = llvm::Value*;
  V unary(ScalarOp op, tir::Type t, V a);
  V float_binary(ScalarOp op, V a, V b);
  V int_binary(ScalarOp op, bool is_signed, V a, V b);
  V compare(ScalarOp op, DType t, V a, V b);
  V divide(bool want_mod, bool is_signed, V a, V b);
  V shift(ScalarOp op, bool is_signed, V a, V b);
  V cast(tir::Type from, tir::Type to, V a);
  V to_narrow_int(DType to, llvm::Type* type, V a);
  V to_float(tir::Type from, DType to, V a);
  V to_int(tir::Type from, tir::Type to, V a);
  V round(llvm::Intrinsic::ID id, V a);
  V fma(V a, V b, V c);
  V fma_by_doubles(V a, V b, V c);
  V ldexp(V a, V b);
  V ldexp_by_doubles(V a, V b);
  V widen(DType from, V a);                    // f16, bf16 -> f32
  V narrow(DType to, V a);                     // f32 -> f16, bf16
  llvm::Type* like(llvm::Type* element, V v);  // `element` with the lanes of v
  llvm::Constant* int_like(V v, std::int64_t i);

  llvm::IRBuilder<>& b_;
  CpuTraits cpu_;
};

}  // namespace tenon::llvm_target

#endif
