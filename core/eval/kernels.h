// Loops over blocks of elements: what the instructions of the evaluator do. One element means
// exactly what scalar.h says.
//
// In registers f16 and bf16 are held as f32 and i4, u4 as one byte each; `narrow` rounds or wraps a
// register to what its type can hold, after each instruction that may leave it. Booleans are bytes
// 0 and 1.
#ifndef TENON_CORE_EVAL_KERNELS_H
#define TENON_CORE_EVAL_KERNELS_H

#include <cstddef>
#include <cstdint>

#include "tenon/te.h"

namespace tenon::eval {

/// The type of a register element.
DType register_type(DType t);
/// Bytes of a register element.
std::size_t register_width(DType t);
inline bool is_narrow(DType t) { return register_type(t) != t && t != DType::boolean; }

/// out[i] = op(args[0][i], ...), i < n. `out` overlaps no argument.
using Map = void (*)(void* out, const void* const* args, std::size_t n);
/// acc[i] = fold(acc[i], x[i]).
using FoldLanes = void (*)(void* acc, const void* x, std::size_t n);

/// Null when the operation does not exist on these types (te::check refuses such expressions).
Map map_kernel(ScalarOp op, DType operand, DType result);
FoldLanes fold_kernel(te::Fold fold, DType t);
/// acc[0] = fold over x in order.
FoldLanes fold_across_kernel(te::Fold fold, DType t);
/// acc[i] += a[i] * b[i], both rounded; null for types other than f32 and f64.
Map multiply_add_kernel(DType t);

/// Rounds (f16, bf16) or wraps (i4, u4) the register elements.
void narrow(DType t, void* x, std::size_t n);
void fill_imm(const te::Expr& imm, void* out, std::size_t n);
void fill_identity(te::Fold fold, DType t, void* out, std::size_t n);

/// Tensor bytes <-> register elements, for the types of which the two differ.
void unpack(DType t, const std::byte* bytes, void* out, std::size_t n);
void pack(DType t, const void* in, std::byte* bytes, std::size_t n);

/// out[i] = in[i * stride], elements of `width` bytes (1, 2, 4, 8).
void copy_strided(std::size_t width, void* out, const void* in, std::int64_t stride, std::size_t n);
/// out[i] = in[offsets[i]].
void copy_gather(std::size_t width, void* out, const void* in, const std::int64_t* offsets,
                 std::size_t n);

}  // namespace tenon::eval

#endif
