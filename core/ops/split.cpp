#include "core/ops/support/common.h"

namespace tenon::ops {

namespace {

Result<Types> split_type(const OpContext& c) {
  const TensorType& x = c.operands[0];
  auto axis = axis_of(c, c.integer("axis"), x.rank());
  if (!axis) return axis.errors();
  const auto& sizes = c.ints("sizes");
  Types types;
  std::int64_t sum = 0;
  for (std::int64_t s : sizes) {
    if (s < 0 || __builtin_add_overflow(sum, s, &sum))
      return c.error(fmt::format("sizes [{}]", fmt::join(sizes, ", ")));
    types.push_back(x);
    types.back().dims[*axis] = Dim(s);
  }
  if (sizes.empty() || !(x.dims[*axis] == Dim(sum)))
    return c.error(fmt::format("sizes [{}] add up to {}, axis {} of {} has another extent",
                               fmt::join(sizes, ", "), sum, *axis, to_string(x)));
  return types;
}

Status split_compute(const OpContext& c, te::Builder& b) {
  auto types = split_type(c);
  if (!types) return types.errors();
  const std::size_t axis = *axis_of(c, c.integer("axis"), c.operands[0].rank());
  T x = b.input(0);
  std::int64_t begin = 0;
  for (std::size_t n = 0; n < types->size(); ++n) {
    const Shape shape = (*types)[n].shape();
    b.output(b.stage("out" + std::to_string(n), shape, [&](auto i) {
      std::vector<E> index(i.begin(), i.end());
      index[axis] = i[axis] + begin;
      return x(index);
    }));
    begin += shape[axis];
  }
  return {};
}

}  // namespace

OpDef split() {
  OpDef d;
  d.name = "split";
  d.doc =
      "Parts along an axis, one result each: result n [..., i, ...] = x[..., i + sizes[0] + ... + "
      "sizes[n-1], ...].";
  d.attrs = {{"axis", AttrKind::integer, "axis that is cut", {}},
             {"sizes", AttrKind::ints, "extents of the results along it", {}}};
  d.fusion = FusionKind::injective;
  d.infer = split_type;
  d.compute = split_compute;
  d.n_results = UINT32_MAX;
  return d;
}

}  // namespace tenon::ops
