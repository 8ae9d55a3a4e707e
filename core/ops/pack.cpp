#include "core/ops/support/common.h"

namespace tenon::ops {

namespace {

Result<Types> pack_type(const OpContext& c) {
  const TensorType& x = c.operands[0];
  auto axis = axis_of(c, c.integer("axis"), x.rank());
  if (!axis) return axis.errors();
  const std::int64_t block = c.integer("block");
  if (block < 1) return c.error(fmt::format("block is {}", block));
  if (!x.dims[*axis].is_static())
    return c.error(fmt::format("axis {} of {} is symbolic", *axis, to_string(x)),
                   "give the input shapes with --shape");
  TensorType out = x;
  const std::int64_t extent = x.dims[*axis].value();
  out.dims[*axis] = Dim(extent / block + (extent % block != 0));
  out.dims.push_back(Dim(block));
  return Types{out};
}

Status pack_compute(const OpContext& c, te::Builder& b) {
  auto type = pack_type(c);
  if (!type) return type.errors();
  T x = b.input(0);
  const std::size_t axis = *axis_of(c, c.integer("axis"), c.operands[0].rank());
  const std::int64_t extent = x.shape()[axis], block = c.integer("block");
  b.output(b.stage("out", (*type)[0].shape(), [&](auto i) {
    std::vector<E> index(i.begin(), i.end() - 1);
    index[axis] = i[axis] * block + i.back();
    if (extent % block == 0) return x(index);
    return te::select(index[axis] < extent, x(index), b.imm(x.dtype(), c.real("pad")));
  }));
  return {};
}

/// Behind the axis stand only axes of one element, and no block is filled.
std::optional<ViewFact> pack_view(const OpContext& c) {
  const TensorType& x = c.operands[0];
  const auto axis = axis_of(c, c.integer("axis"), x.rank());
  if (!axis || !x.is_static() || x.dims[*axis].value() % c.integer("block") != 0)
    return std::nullopt;
  for (std::size_t d = *axis + 1; d < x.rank(); ++d)
    if (x.dims[d].value() != 1) return std::nullopt;
  return ViewFact{};
}

}  // namespace

OpDef pack() {
  OpDef d;
  d.name = "pack";
  d.doc =
      "An axis cut into blocks that become the last axis: out[..., o, ..., j] = x[..., o * block + "
      "j, ...], `pad` beyond the "
      "end of x.";
  d.attrs = {{"axis", AttrKind::integer, "axis that is cut", {}},
             {"block", AttrKind::integer, "elements per block", {}},
             {"pad", AttrKind::real, "fills the last block", 0.0}};
  d.fusion = FusionKind::injective;
  d.infer = pack_type;
  d.compute = pack_compute;
  d.view = pack_view;
  return d;
}

}  // namespace tenon::ops
