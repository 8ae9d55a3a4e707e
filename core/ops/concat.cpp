#include "core/ops/support/common.h"

namespace tenon::ops {

namespace {

Result<Types> concat_type(const OpContext& c) {
  const TensorType& x = c.operands[0];
  auto axis = axis_of(c, c.integer("axis"), x.rank());
  if (!axis) return axis.errors();
  std::int64_t sum = 0;
  for (std::size_t n = 0; n < c.operands.size(); ++n) {
    const TensorType& t = c.operands[n];
    if (t.dtype != x.dtype)
      return c.error(
          fmt::format("operands of different element types: {} and {}", to_string(x), to_string(t)),
          "insert a `cast`");
    if (t.rank() != x.rank())
      return c.error(
          fmt::format("operands of different rank: {} and {}", to_string(x), to_string(t)));
    for (std::size_t k = 0; k < x.rank(); ++k)
      if (k != *axis && !(t.dims[k] == x.dims[k]))
        return c.error(fmt::format("operands 0 and {} differ on axis {}: {} and {}", n, k,
                                   to_string(x), to_string(t)));
    if (!t.dims[*axis].is_static())
      return c.error(fmt::format("operand {} is symbolic on axis {}: {}", n, *axis, to_string(t)),
                     "give the input shapes with --shape");
    if (__builtin_add_overflow(sum, t.dims[*axis].value(), &sum))
      return c.error("extents add up to more than 2^63");
  }
  TensorType out = x;
  out.dims[*axis] = Dim(sum);
  return Types{out};
}

/// A chain of choices, last operand innermost. Each load stands under a condition that keeps it
/// inside its operand.
Status concat_compute(const OpContext& c, te::Builder& b) {
  auto type = concat_type(c);
  if (!type) return type.errors();
  const std::size_t axis = *axis_of(c, c.integer("axis"), c.operands[0].rank());
  const Shape shape = (*type)[0].shape();
  b.output(b.stage("out", shape, [&](auto i) {
    E value = b.imm_int(c.operands[0].dtype, 0);
    std::int64_t end = shape[axis];
    for (std::size_t n = c.operands.size(); n-- > 0;) {
      T part = b.input(static_cast<std::uint32_t>(n));
      const std::int64_t extent = part.shape()[axis], begin = end - extent;
      std::vector<E> index(i.begin(), i.end());
      index[axis] = i[axis] - begin;
      E inside = b.imm_int(DType::boolean, 1);
      if (begin > 0) inside = inside && i[axis] >= begin;
      if (end < shape[axis]) inside = inside && i[axis] < end;
      if (extent > 0) value = te::select(inside, part(index), value);
      end = begin;
    }
    return value;
  }));
  return {};
}

}  // namespace

OpDef concat() {
  OpDef d;
  d.name = "concat";
  d.doc =
      "Operands one after the other along an axis: out[..., i, ...] = operand n at [..., i - start "
      "of n, ...] for the n that "
      "holds i.";
  d.min_operands = 1;
  d.max_operands = UINT32_MAX;
  d.attrs = {{"axis", AttrKind::integer, "axis along which they are joined", {}}};
  d.fusion = FusionKind::injective;
  d.infer = concat_type;
  d.compute = concat_compute;
  return d;
}

}  // namespace tenon::ops
