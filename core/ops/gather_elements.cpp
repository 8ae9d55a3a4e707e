#include "core/ops/support/common.h"
#include "core/ops/support/index.h"

namespace tenon::ops {

namespace {

Result<Types> gather_elements_type(const OpContext& c) {
  const TensorType &x = c.operands[0], &at = c.operands[1];
  auto axis = axis_of(c, c.integer("axis"), x.rank());
  if (!axis) return axis.errors();
  if (!is_int(at.dtype))
    return c.error(fmt::format("indices are {}, need an integer type", to_string(at)),
                   "insert a `cast`");
  if (at.rank() != x.rank())
    return c.error(
        fmt::format("indices {} into {}: the ranks differ", to_string(at), to_string(x)));
  for (std::size_t k = 0; k < x.rank(); ++k) {
    const bool fits = at.dims[k] == x.dims[k] || (at.dims[k].is_static() && x.dims[k].is_static() &&
                                                  at.dims[k].value() <= x.dims[k].value());
    if (k != *axis && !fits)
      return c.error(
          fmt::format("indices {} reach beyond {} on axis {}", to_string(at), to_string(x), k));
  }
  if (x.dims[*axis] == Dim(0) && elements(at).value_or(1) != 0)
    return c.error(fmt::format("indices {} into axis {} of extent 0", to_string(at), *axis));
  return Types{TensorType(x.dtype, at.dims)};
}

Status gather_elements_compute(const OpContext& c, te::Builder& b) {
  T x = b.input(0), at = b.input(1);
  const std::size_t axis = *axis_of(c, c.integer("axis"), c.operands[0].rank());
  const std::int64_t extent = x.shape()[axis];
  b.output(b.stage("out", at.shape(), [&](auto i) {
    std::vector<E> index(i.begin(), i.end());
    index[axis] = index_from_data(at(i), extent);
    return x(index);
  }));
  return {};
}

}  // namespace

OpDef gather_elements() {
  OpDef d;
  d.name = "gather_elements";
  d.doc =
      "Elements at places of an axis that data give one by one: out[i, j, k] = x[i, at[i, j, k], "
      "k]; a negative index counts from the end, one that is still outside is clamped to the "
      "nearest element.";
  d.min_operands = 2;
  d.max_operands = 2;
  d.attrs = {{"axis", AttrKind::integer, "axis of x that is indexed", std::int64_t{0}}};
  d.fusion = FusionKind::injective;
  d.infer = gather_elements_type;
  d.compute = gather_elements_compute;
  return d;
}

}  // namespace tenon::ops
