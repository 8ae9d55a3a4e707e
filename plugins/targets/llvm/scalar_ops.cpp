#include "scalar_ops.h"

#include <llvm/Analysis/VectorUtils.h>
#include <llvm/IR/IntrinsicsX86.h>

#include <array>
#include <cmath>
#include <limits>
#include <numeric>

#include "types.h"

namespace tenon::llvm_target {
namespace {

bool is_small_float(DType t) { return t == DType::f16 || t == DType::bf16; }

/// The value of a constant (or splat of one), when it is one.
const llvm::APInt* constant_int(llvm::Value* v) {
  auto* c = llvm::dyn_cast<llvm::Constant>(v);
  if (!c) return nullptr;
  if (c->getType()->isVectorTy()) c = c->getSplatValue();
  auto* i = llvm::dyn_cast_or_null<llvm::ConstantInt>(c);
  return i ? &i->getValue() : nullptr;
}

}  // namespace

llvm::Type* ScalarOps::like(llvm::Type* element, V v) {
  auto* vec = llvm::dyn_cast<llvm::FixedVectorType>(v->getType());
  return with_lanes(element, vec ? vec->getNumElements() : 1);
}

llvm::Constant* ScalarOps::int_like(V v, std::int64_t i) {
  return llvm::ConstantInt::getSigned(v->getType(), i);
}

llvm::Value* ScalarOps::constant(DType t, double f, std::int64_t i) {
  if (t == DType::bf16) return narrow(t, llvm::ConstantFP::get(b_.getFloatTy(), f));
  if (is_float(t)) {
    llvm::APFloat value(f);
    bool loses = false;
    llvm::Type* type = register_type(b_.getContext(), t);
    value.convert(type->getFltSemantics(), llvm::APFloat::rmNearestTiesToEven, &loses);
    return llvm::ConstantFP::get(type, value);
  }
  if (t == DType::boolean) return b_.getInt1(i != 0);
  return llvm::ConstantInt::getSigned(register_type(b_.getContext(), t), i);
}

llvm::Value* ScalarOps::emit(ScalarOp op, tir::Type from, tir::Type to, std::span<V const> a) {
  if (op == ScalarOp::cast) return cast(from, to, a[0]);
  if (op == ScalarOp::bitcast) {
    llvm::Type* type = register_type(b_.getContext(), to);
    return b_.CreateBitCast(a[0], type);
  }
  if (op == ScalarOp::select) return b_.CreateSelect(a[0], a[1], a[2]);
  if (is_small_float(from.dtype)) {
    std::array<V, 3> wide{};
    for (std::size_t i = 0; i < a.size(); ++i) wide[i] = widen(from.dtype, a[i]);
    const tir::Type f32{DType::f32, from.lanes};
    V r = emit(op, f32, is_float(to.dtype) ? f32 : to, std::span<V const>(wide.data(), a.size()));
    return is_float(to.dtype) ? narrow(to.dtype, r) : r;
  }
  if (arity(op) == 1) return unary(op, from, a[0]);
  if (is_comparison(op)) return compare(op, from.dtype, a[0], a[1]);
  if (op == ScalarOp::fma)
    return is_float(from.dtype) ? fma(a[0], a[1], a[2])
                                : b_.CreateAdd(b_.CreateMul(a[0], a[1]), a[2]);
  if (op == ScalarOp::logical_and) return b_.CreateAnd(a[0], a[1]);
  if (op == ScalarOp::logical_or) return b_.CreateOr(a[0], a[1]);
  if (is_float(from.dtype)) return float_binary(op, a[0], a[1]);
  return int_binary(op, is_signed(from.dtype), a[0], a[1]);
}

llvm::Value* ScalarOps::unary(ScalarOp op, tir::Type t, V a) {
  const bool fp = is_float(t.dtype);
  switch (op) {
    case ScalarOp::neg:
      return fp ? b_.CreateFNeg(a) : b_.CreateNeg(a);
    case ScalarOp::abs:
      if (fp) return b_.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, a);
      return is_signed(t.dtype)
                 ? b_.CreateBinaryIntrinsic(llvm::Intrinsic::abs, a, b_.getInt1(false))
                 : a;
    case ScalarOp::sqrt:
      return b_.CreateUnaryIntrinsic(llvm::Intrinsic::sqrt, a);
    case ScalarOp::floor:
      return fp ? round(llvm::Intrinsic::floor, a) : a;
    case ScalarOp::ceil:
      return fp ? round(llvm::Intrinsic::ceil, a) : a;
    case ScalarOp::round_even:
      return fp ? round(llvm::Intrinsic::roundeven, a) : a;
    case ScalarOp::bit_not:
    case ScalarOp::logical_not:
      return b_.CreateNot(a);
    case ScalarOp::is_nan:
      return b_.CreateFCmpUNO(a, a);
    default:
      TENON_BUG("an operation that refuse() should have refused");
  }
}

llvm::Value* ScalarOps::float_binary(ScalarOp op, V a, V b) {
  switch (op) {
    case ScalarOp::add:
      return b_.CreateFAdd(a, b);
    case ScalarOp::sub:
      return b_.CreateFSub(a, b);
    case ScalarOp::mul:
      return b_.CreateFMul(a, b);
    case ScalarOp::div:
      return b_.CreateFDiv(a, b);
    // These two shapes are minps and maxps, NaN and signed zero included.
    case ScalarOp::min:
      return b_.CreateSelect(b_.CreateFCmpOLT(a, b), a, b);
    case ScalarOp::max:
      return b_.CreateSelect(b_.CreateFCmpOGT(a, b), a, b);
    case ScalarOp::ldexp:
      return ldexp(a, b);
    default:
      TENON_BUG("an operation that refuse() should have refused");
  }
}

/// The instruction, over sixteen lanes at a time.
llvm::Value* ScalarOps::ldexp(V a, V b) {
  if (!cpu_.wide) return ldexp_by_doubles(a, b);
  constexpr int wide = 16;
  auto* given = llvm::dyn_cast<llvm::FixedVectorType>(a->getType());
  const int lanes = given ? static_cast<int>(given->getNumElements()) : 1;
  llvm::Type* vector = llvm::FixedVectorType::get(b_.getFloatTy(), wide);
  const auto part = [&](V v, int first) -> V {
    if (!given) return b_.CreateInsertElement(llvm::PoisonValue::get(vector), v, std::uint64_t{0});
    if (lanes == wide) return v;
    llvm::SmallVector<int, wide> which(wide, llvm::PoisonMaskElem);
    for (int i = 0; i < wide && first + i < lanes; ++i) which[static_cast<unsigned>(i)] = first + i;
    return b_.CreateShuffleVector(v, which);
  };
  constexpr unsigned rounding_in_force = 4;
  llvm::SmallVector<V, 4> parts;
  for (int first = 0; first < lanes; first += wide)
    parts.push_back(
        b_.CreateIntrinsic(llvm::Intrinsic::x86_avx512_mask_scalef_ps_512, {},
                           {part(a, first), part(b, first), llvm::Constant::getNullValue(vector),
                            b_.getInt16(0xffff), b_.getInt32(rounding_in_force)}));
  if (!given) return b_.CreateExtractElement(parts[0], std::uint64_t{0});
  V all = llvm::concatenateVectors(b_, parts);
  if (lanes % wide == 0) return all;
  llvm::SmallVector<int, 64> which(static_cast<unsigned>(lanes));
  std::iota(which.begin(), which.end(), 0);
  return b_.CreateShuffleVector(all, which);
}

/// The product with a power of two is exact in f64; the conversion is the only rounding.
llvm::Value* ScalarOps::ldexp_by_doubles(V a, V b) {
  const auto real = [&](double v) { return llvm::ConstantFP::get(b->getType(), v); };
  V n = b_.CreateSelect(b_.CreateFCmpOGT(b, real(-600)), round(llvm::Intrinsic::floor, b),
                        real(-600));
  n = b_.CreateSelect(b_.CreateFCmpOLT(n, real(600)), n, real(600));
  V bits = b_.CreateFPToSI(n, like(b_.getInt64Ty(), b));
  bits = b_.CreateShl(b_.CreateAdd(bits, int_like(bits, 1023)), int_like(bits, 52));
  V product = b_.CreateFMul(b_.CreateFPExt(a, like(b_.getDoubleTy(), a)),
                            b_.CreateBitCast(bits, like(b_.getDoubleTy(), a)));
  V r = b_.CreateFPTrunc(product, a->getType());
  const double inf = std::numeric_limits<double>::infinity();
  V number = b_.CreateSelect(b_.CreateFCmpUNO(a, a), real(1), a);
  r = b_.CreateSelect(b_.CreateFCmpOEQ(b, real(inf)), b_.CreateFMul(number, b), r);
  r = b_.CreateSelect(b_.CreateFCmpOEQ(b, real(-inf)), b_.CreateFMul(number, real(0)), r);
  return b_.CreateSelect(b_.CreateFCmpUNO(b, b), b, r);
}

llvm::Value* ScalarOps::dot(V a, V b, V sum) {
  auto* given = llvm::dyn_cast<llvm::FixedVectorType>(sum->getType());
  const unsigned lanes = given ? given->getNumElements() : 1;
  llvm::Intrinsic::ID instruction = llvm::Intrinsic::not_intrinsic;
  if (lanes == 16) instruction = llvm::Intrinsic::x86_avx512_vpdpbusd_512;
  if (lanes == 8) instruction = llvm::Intrinsic::x86_avx512_vpdpbusd_256;
  if (lanes == 4) instruction = llvm::Intrinsic::x86_avx512_vpdpbusd_128;
  if (cpu_.vnni && instruction != llvm::Intrinsic::not_intrinsic)
    return b_.CreateIntrinsic(
        instruction, {},
        {sum, b_.CreateBitCast(a, sum->getType()), b_.CreateBitCast(b, sum->getType())});
  for (int j = 0; j < 4; ++j) {
    const auto part = [&](V v) -> V {
      if (!given) return b_.CreateExtractElement(v, static_cast<std::uint64_t>(j));
      llvm::SmallVector<int, 16> which(lanes);
      for (unsigned l = 0; l < lanes; ++l) which[l] = static_cast<int>(4 * l) + j;
      return b_.CreateShuffleVector(v, which);
    };
    V product = b_.CreateMul(b_.CreateZExt(part(a), sum->getType()),
                             b_.CreateSExt(part(b), sum->getType()));
    sum = b_.CreateAdd(sum, product);
  }
  return sum;
}

llvm::Value* ScalarOps::int_binary(ScalarOp op, bool is_signed, V a, V b) {
  const auto pick = [&](llvm::CmpInst::Predicate p) {
    return b_.CreateSelect(b_.CreateICmp(p, a, b), a, b);
  };
  switch (op) {
    case ScalarOp::add:
      return b_.CreateAdd(a, b);
    case ScalarOp::sub:
      return b_.CreateSub(a, b);
    case ScalarOp::mul:
      return b_.CreateMul(a, b);
    case ScalarOp::div:
      return divide(false, is_signed, a, b);
    case ScalarOp::mod:
      return divide(true, is_signed, a, b);
    case ScalarOp::min:
      return pick(is_signed ? llvm::CmpInst::ICMP_SLT : llvm::CmpInst::ICMP_ULT);
    case ScalarOp::max:
      return pick(is_signed ? llvm::CmpInst::ICMP_SGT : llvm::CmpInst::ICMP_UGT);
    case ScalarOp::bit_and:
      return b_.CreateAnd(a, b);
    case ScalarOp::bit_or:
      return b_.CreateOr(a, b);
    case ScalarOp::bit_xor:
      return b_.CreateXor(a, b);
    case ScalarOp::shl:
    case ScalarOp::shr:
      return shift(op, is_signed, a, b);
    default:
      TENON_BUG("an operation that refuse() should have refused");
  }
}

llvm::Value* ScalarOps::compare(ScalarOp op, DType t, V a, V b) {
  using P = llvm::CmpInst::Predicate;
  struct Row {
    ScalarOp op;
    P fp, s, u;
  };
  static constexpr Row rows[] = {{ScalarOp::eq, P::FCMP_OEQ, P::ICMP_EQ, P::ICMP_EQ},
                                 {ScalarOp::ne, P::FCMP_UNE, P::ICMP_NE, P::ICMP_NE},
                                 {ScalarOp::lt, P::FCMP_OLT, P::ICMP_SLT, P::ICMP_ULT},
                                 {ScalarOp::le, P::FCMP_OLE, P::ICMP_SLE, P::ICMP_ULE},
                                 {ScalarOp::gt, P::FCMP_OGT, P::ICMP_SGT, P::ICMP_UGT},
                                 {ScalarOp::ge, P::FCMP_OGE, P::ICMP_SGE, P::ICMP_UGE}};
  for (const Row& r : rows)
    if (r.op == op) return b_.CreateCmp(is_float(t) ? r.fp : is_signed(t) ? r.s : r.u, a, b);
  TENON_BUG("not a comparison");
}

// Rounds towards minus infinity; x / 0 = x mod 0 = 0; INT_MIN / -1 wraps. The divisor that reaches
// LLVM is never 0 or -1, for which its division is undefined.
llvm::Value* ScalarOps::divide(bool want_mod, bool is_signed, V a, V b) {
  V zero = int_like(a, 0), one = int_like(a, 1);
  if (const llvm::APInt* c = constant_int(b);
      c && c->isPowerOf2() && !(is_signed && c->isNegative())) {
    if (want_mod) return b_.CreateAnd(a, b_.CreateSub(b, one));
    V by = int_like(a, c->logBase2());
    return is_signed ? b_.CreateAShr(a, by) : b_.CreateLShr(a, by);
  }
  V is_zero = b_.CreateICmpEQ(b, zero);
  if (!is_signed) {
    V safe = b_.CreateSelect(is_zero, one, b);
    V r = want_mod ? b_.CreateURem(a, safe) : b_.CreateUDiv(a, safe);
    return b_.CreateSelect(is_zero, zero, r);
  }
  V is_minus = b_.CreateICmpEQ(b, int_like(a, -1));
  V safe = b_.CreateSelect(b_.CreateOr(is_zero, is_minus), one, b);
  V rem = b_.CreateSRem(a, safe);
  V off = b_.CreateAnd(b_.CreateICmpNE(rem, zero), b_.CreateICmpSLT(b_.CreateXor(rem, safe), zero));
  if (want_mod)
    return b_.CreateSelect(off, b_.CreateAdd(rem, safe), rem);  // safe = 1 gives 0, as the law says
  V quotient = b_.CreateSub(b_.CreateSDiv(a, safe), b_.CreateZExt(off, a->getType()));
  return b_.CreateSelect(is_zero, zero, b_.CreateSelect(is_minus, b_.CreateNeg(a), quotient));
}

// An amount outside [0, bits) shifts everything out; LLVM leaves that undefined.
llvm::Value* ScalarOps::shift(ScalarOp op, bool is_signed, V a, V b) {
  const std::int64_t width = a->getType()->getScalarSizeInBits();
  V in_range = b_.CreateICmpULT(b, int_like(b, width));
  if (op == ScalarOp::shr && is_signed)
    return b_.CreateAShr(a, b_.CreateSelect(in_range, b, int_like(b, width - 1)));
  V safe = b_.CreateSelect(in_range, b, int_like(b, 0));
  V r = op == ScalarOp::shl ? b_.CreateShl(a, safe) : b_.CreateLShr(a, safe);
  return b_.CreateSelect(in_range, r, int_like(a, 0));
}

llvm::Value* ScalarOps::cast(tir::Type from, tir::Type to, V a) {
  if (from.dtype == to.dtype) return a;
  if (to.dtype == DType::boolean) {
    if (is_small_float(from.dtype)) a = widen(from.dtype, a);
    return is_float(from.dtype) ? b_.CreateFCmpUNE(a, llvm::ConstantFP::get(a->getType(), 0.0))
                                : b_.CreateICmpNE(a, int_like(a, 0));
  }
  return is_float(to.dtype) ? to_float(from, to.dtype, a) : to_int(from, to, a);
}

llvm::Value* ScalarOps::to_int(tir::Type from, tir::Type to, V a) {
  llvm::Type* type = register_type(b_.getContext(), to);
  if (from.dtype == DType::boolean) return b_.CreateZExt(a, type);
  if (!is_float(from.dtype)) return b_.CreateIntCast(a, type, is_signed(from.dtype));
  if (is_small_float(from.dtype)) a = widen(from.dtype, a);
  if (bits(to.dtype) == 8 || bits(to.dtype) == 16) return to_narrow_int(to.dtype, type, a);
  const auto id = is_signed(to.dtype) ? llvm::Intrinsic::fptosi_sat : llvm::Intrinsic::fptoui_sat;
  return b_.CreateIntrinsic(id, {type, a->getType()}, {a});
}

// LLVM's saturating conversions to types narrower than a vector unit converts to go lane by lane.
// The ends of such a type are floats: clamped to them, a value converts as a 32-bit integer.
llvm::Value* ScalarOps::to_narrow_int(DType to, llvm::Type* type, V a) {
  const double top = std::ldexp(1.0, static_cast<int>(bits(to)) - (is_signed(to) ? 1 : 0));
  V low = llvm::ConstantFP::get(a->getType(), is_signed(to) ? -top : 0.0);
  V high = llvm::ConstantFP::get(a->getType(), top - 1);
  V within = b_.CreateSelect(b_.CreateFCmpOLT(a, high), a, high);
  within = b_.CreateSelect(b_.CreateFCmpOGT(within, low), within, low);
  V wide = b_.CreateFPToSI(within, like(b_.getInt32Ty(), a));
  wide = b_.CreateSelect(b_.CreateFCmpUNO(a, a), int_like(wide, 0), wide);
  return b_.CreateTrunc(wide, type);
}

llvm::Value* ScalarOps::to_float(tir::Type from, DType to, V a) {
  if (is_small_float(to)) return narrow(to, to_float(from, DType::f32, a));
  llvm::Type* type = like(register_type(b_.getContext(), to), a);
  if (is_small_float(from.dtype)) {
    a = widen(from.dtype, a);
    return to == DType::f32 ? a : b_.CreateFPExt(a, type);
  }
  if (is_float(from.dtype)) return from.dtype == to ? a : b_.CreateFPCast(a, type);
  return is_signed(from.dtype) ? b_.CreateSIToFP(a, type) : b_.CreateUIToFP(a, type);
}

// Without SSE4.1 there is no rounding instruction and LLVM would call libm. Adding and taking away
// 2^23 (2^52) rounds to even; floor and ceil correct that by one; the sign is the operand's, so
// that -0 stays.
llvm::Value* ScalarOps::round(llvm::Intrinsic::ID id, V a) {
  if (cpu_.sse41) return b_.CreateUnaryIntrinsic(id, a);
  const bool f64 = a->getType()->getScalarType()->isDoubleTy();
  V big = llvm::ConstantFP::get(a->getType(), f64 ? 4503599627370496.0 : 8388608.0);
  V one = llvm::ConstantFP::get(a->getType(), 1.0), zero = llvm::ConstantFP::get(a->getType(), 0.0);
  V magnitude = b_.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, a);
  V sum = b_.CreateBinaryIntrinsic(llvm::Intrinsic::copysign, big, a);
  V even = b_.CreateFSub(b_.CreateFAdd(a, sum), sum);
  if (id == llvm::Intrinsic::floor)
    even = b_.CreateFSub(even, b_.CreateSelect(b_.CreateFCmpOGT(even, a), one, zero));
  if (id == llvm::Intrinsic::ceil)
    even = b_.CreateFAdd(even, b_.CreateSelect(b_.CreateFCmpOLT(even, a), one, zero));
  V rounded = b_.CreateBinaryIntrinsic(llvm::Intrinsic::copysign, even, a);
  return b_.CreateSelect(b_.CreateFCmpOLT(magnitude, big), rounded, a);
}

llvm::Value* ScalarOps::fma(V a, V b, V c) {
  if (cpu_.fma) return b_.CreateIntrinsic(llvm::Intrinsic::fma, {a->getType()}, {a, b, c});
  return fma_by_doubles(a, b, c);  // f32 only: refuse() has refused f64 on such a CPU
}

// a * b is exact in f64. Its sum with c is rounded to odd (the last bit says "there was more"), so
// that the rounding to f32 is the only one.
llvm::Value* ScalarOps::fma_by_doubles(V a, V b, V c) {
  llvm::Type* f64 = like(b_.getDoubleTy(), a);
  V zero = llvm::ConstantFP::get(f64, 0.0);
  V p = b_.CreateFMul(b_.CreateFPExt(a, f64), b_.CreateFPExt(b, f64)), q = b_.CreateFPExt(c, f64);
  V s = b_.CreateFAdd(p, q);
  V t = b_.CreateFSub(s, p);
  V err = b_.CreateFAdd(b_.CreateFSub(p, b_.CreateFSub(s, t)), b_.CreateFSub(q, t));
  V raw = b_.CreateBitCast(s, like(b_.getInt64Ty(), s));
  V even = b_.CreateICmpEQ(b_.CreateAnd(raw, int_like(raw, 1)), int_like(raw, 0));
  V grows = b_.CreateICmpEQ(b_.CreateFCmpOGT(err, zero), b_.CreateFCmpOGT(s, zero));
  V next = b_.CreateSelect(grows, b_.CreateAdd(raw, int_like(raw, 1)),
                           b_.CreateSub(raw, int_like(raw, 1)));
  V move =
      b_.CreateAnd(even, b_.CreateFCmpONE(err, zero));  // false when err is NaN: infinities stay
  V odd = b_.CreateBitCast(b_.CreateSelect(move, next, raw), f64);
  return b_.CreateFPTrunc(odd, like(b_.getFloatTy(), a));
}

llvm::Value* ScalarOps::widen(DType from, V a) {
  llvm::Type* f32 = like(b_.getFloatTy(), a);
  if (from == DType::f16) return b_.CreateFPExt(a, f32);
  V raw = b_.CreateZExt(a, like(b_.getInt32Ty(), a));
  return b_.CreateBitCast(b_.CreateShl(raw, int_like(raw, 16)), f32);
}

// bf16 in integer arithmetic: the instruction of AVX512-BF16 flushes denormals.
llvm::Value* ScalarOps::narrow(DType to, V a) {
  // The fence keeps the middle end from turning selects of widened halves into selects of halves,
  // which the code generator would answer with calls of fmaxf.
  if (to == DType::f16)
    return b_.CreateFPTrunc(b_.CreateArithmeticFence(a, a->getType()), like(b_.getHalfTy(), a));
  V raw = b_.CreateBitCast(a, like(b_.getInt32Ty(), a));
  V last = b_.CreateAnd(b_.CreateLShr(raw, int_like(raw, 16)), int_like(raw, 1));
  V rounded = b_.CreateAdd(raw, b_.CreateAdd(last, int_like(raw, 0x7fff)));
  V quiet = b_.CreateOr(raw, int_like(raw, 0x400000));
  V r = b_.CreateSelect(b_.CreateFCmpUNO(a, a), quiet, rounded);
  return b_.CreateTrunc(b_.CreateLShr(r, int_like(r, 16)), like(b_.getInt16Ty(), a));
}

}  // namespace tenon::llvm_target
