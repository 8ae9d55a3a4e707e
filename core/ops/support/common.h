// What the ops share: type rules of whole families, and computes that differ in one scalar
// expression.
#ifndef TENON_CORE_OPS_SUPPORT_COMMON_H
#define TENON_CORE_OPS_SUPPORT_COMMON_H

#include <fmt/format.h>

#include <string>
#include <vector>

#include "tenon/op.h"
#include "tenon/te.h"

namespace tenon::ops {

using Types = std::vector<TensorType>;
using te::E;
using te::T;
using Infer = Result<Types> (*)(const OpContext&);
using Compute = Status (*)(const OpContext&, te::Builder&);

// ---- element types ----
using TypeSet = bool (*)(DType);
bool any_type(DType t);
bool number(DType t);  ///< floats and integers
bool signed_number(DType t);
bool float_type(DType t);
bool boolean_type(DType t);
/// An error unless the element type of operand k is in the set.
Status accept(const OpContext& c, TypeSet set, std::size_t k = 0);

/// Bytes of the inner axis of integer products that lie side by side in a packed weight: what
/// instructions take at once (tir::Kind::dot).
inline constexpr std::int64_t byte_group = 4;

// ---- shapes ----
std::string text(const std::vector<Dim>& dims);
/// `axis` in [-rank, rank) as an axis in [0, rank).
Result<std::size_t> axis_of(const OpContext& c, std::int64_t axis, std::size_t rank);
/// Distinct axes, ascending; an empty list means all.
Result<std::vector<std::size_t>> axes_of(const OpContext& c, const std::vector<std::int64_t>& axes,
                                         std::size_t rank);
/// NumPy broadcasting: aligned at the last axis, extents equal or 1.
Result<std::vector<Dim>> broadcast(const OpContext& c, const std::vector<Dim>& a,
                                   const std::vector<Dim>& b);
/// An error unless all dims of all operands are numbers.
Status need_static(const OpContext& c);
/// An error unless the attribute has one entry per `n` things.
Status need_length(const OpContext& c, std::string_view attr, std::size_t length, std::size_t n,
                   std::string_view things);

/// The element of `t` that belongs to the point `i` of a shape that it broadcasts to.
E load_broadcast(T t, std::span<const E> i);
/// -infinity, or the lowest integer.
E lowest(te::Builder& b, DType t);
/// All axes of a shape as reduction axes r0, r1, ...
std::vector<te::Axis> reduce_axes(const Shape& extents);

// ---- families ----
/// One operand; the result has its type.
Result<Types> infer_same(const OpContext& c, TypeSet set);
/// Two operands of one element type, broadcast; the result has that element type, or boolean.
Result<Types> infer_broadcast(const OpContext& c, TypeSet set, bool to_boolean);
template <TypeSet set>
Result<Types> same_type(const OpContext& c) {
  return infer_same(c, set);
}
template <TypeSet set>
Result<Types> broadcast_type(const OpContext& c) {
  return infer_broadcast(c, set, false);
}
template <TypeSet set>
Result<Types> comparison_type(const OpContext& c) {
  return infer_broadcast(c, set, true);
}

/// out[i] = f(x[i]).
using UnaryFn = E (*)(const OpContext&, E x);
template <UnaryFn f>
Status elementwise(const OpContext& c, te::Builder& b) {
  T x = b.input(0);
  b.output(b.stage("out", x.shape(), [&](auto i) { return f(c, x(i)); }));
  return {};
}
template <ScalarOp op>
E apply(const OpContext&, E x) {
  return te::unary(op, x);
}

/// out[i] = op(a[i], b[i]), broadcast.
Status binary_compute(te::Builder& b, ScalarOp op);
template <ScalarOp op>
Status broadcast_binary(const OpContext&, te::Builder& b) {
  return binary_compute(b, op);
}

OpDef unary_op(std::string name, std::string doc, Infer infer, Compute compute);
OpDef binary_op(std::string name, std::string doc, Infer infer, Compute compute,
                bool commutative = false);

// ---- reductions over the attributes `axes` and `keepdims` ----
OpDef reduce_op(std::string name, std::string doc, Infer infer, Compute compute);
Result<Types> infer_reduce(const OpContext& c, TypeSet set);
template <TypeSet set>
Result<Types> reduce_type(const OpContext& c) {
  return infer_reduce(c, set);
}
/// The stage `fold of x over the axes`, then `finish(folded, number of elements folded)`.
Status reduce_compute(const OpContext& c, te::Builder& b, te::Fold fold,
                      E (*finish)(E folded, std::int64_t count) = nullptr);
template <te::Fold fold>
Status folded(const OpContext& c, te::Builder& b) {
  return reduce_compute(c, b, fold);
}

// ---- views ----
/// The result is the operand's bytes.
std::optional<ViewFact> same_bytes(const OpContext& c);

}  // namespace tenon::ops

#endif
