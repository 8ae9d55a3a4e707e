#include "core/ops/support/common.h"
#include "core/ops/support/index.h"

namespace tenon::ops {

namespace {

Result<Types> gather_type(const OpContext& c) {
  const TensorType &x = c.operands[0], &at = c.operands[1];
  auto axis = axis_of(c, c.integer("axis"), x.rank());
  if (!axis) return axis.errors();
  if (!is_int(at.dtype))
    return c.error(fmt::format("indices are {}, need an integer type", to_string(at)),
                   "insert a `cast`");
  if (x.dims[*axis] == Dim(0) && elements(at).value_or(1) != 0)
    return c.error(fmt::format("indices {} into axis {} of extent 0", to_string(at), *axis));
  std::vector<Dim> dims(x.dims.begin(), x.dims.begin() + static_cast<std::ptrdiff_t>(*axis));
  dims.insert(dims.end(), at.dims.begin(), at.dims.end());
  dims.insert(dims.end(), x.dims.begin() + static_cast<std::ptrdiff_t>(*axis) + 1, x.dims.end());
  return Types{TensorType(x.dtype, dims)};
}

Status gather_compute(const OpContext& c, te::Builder& b) {
  auto type = gather_type(c);
  if (!type) return type.errors();
  T x = b.input(0), at = b.input(1);
  const std::size_t axis = *axis_of(c, c.integer("axis"), c.operands[0].rank()),
                    n = at.shape().size();
  const std::int64_t extent = x.shape()[axis];
  b.output(b.stage("out", (*type)[0].shape(), [&](auto i) {
    E k = index_from_data(at(i.subspan(axis, n)), extent);
    std::vector<E> index(i.begin(), i.begin() + static_cast<std::ptrdiff_t>(axis));
    index.push_back(k);
    index.insert(index.end(), i.begin() + static_cast<std::ptrdiff_t>(axis + n), i.end());
    return x(index);
  }));
  return {};
}

}  // namespace

OpDef gather() {
  OpDef d;
  d.name = "gather";
  d.doc =
      "Elements at data-dependent places of an axis: out[i, j, k] = x[i, at[j], k]; a negative "
      "index counts from the end, "
      "one that is still outside is clamped to the nearest element.";
  d.min_operands = 2;
  d.max_operands = 2;
  d.attrs = {{"axis", AttrKind::integer, "axis of x that is indexed", std::int64_t{0}}};
  d.fusion = FusionKind::injective;
  d.infer = gather_type;
  d.compute = gather_compute;
  return d;
}

}  // namespace tenon::ops
