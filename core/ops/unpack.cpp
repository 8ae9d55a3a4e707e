#include "core/ops/support/common.h"

namespace tenon::ops {

namespace {

Result<Types> unpack_type(const OpContext& c) {
  const TensorType& x = c.operands[0];
  if (x.rank() < 2) return c.error(fmt::format("operand {} has no block axis", to_string(x)));
  auto axis = axis_of(c, c.integer("axis"), x.rank() - 1);
  if (!axis) return axis.errors();
  if (Status s = need_static(c); !s) return s.errors();
  const std::int64_t size = c.integer("size");
  const auto room = checked_mul(static_cast<std::uint64_t>(x.dims[*axis].value()),
                                static_cast<std::uint64_t>(x.dims.back().value()));
  if (!room || size < 0 || static_cast<std::uint64_t>(size) > *room)
    return c.error(fmt::format("size {} of {} blocks of {}", size, x.dims[*axis].value(),
                               x.dims.back().value()));
  TensorType out = x;
  out.dims.pop_back();
  out.dims[*axis] = Dim(size);
  return Types{out};
}

Status unpack_compute(const OpContext& c, te::Builder& b) {
  auto type = unpack_type(c);
  if (!type) return type.errors();
  T x = b.input(0);
  const std::size_t axis = *axis_of(c, c.integer("axis"), c.operands[0].rank() - 1);
  const std::int64_t block = x.shape().back();
  b.output(b.stage("out", (*type)[0].shape(), [&](auto i) {
    std::vector<E> index(i.begin(), i.end());
    index[axis] = i[axis] / block;
    index.push_back(i[axis] % block);
    return x(index);
  }));
  return {};
}

/// Between the axis and the block stand only axes of one element, and what is left out is at the
/// end.
std::optional<ViewFact> unpack_view(const OpContext& c) {
  const TensorType& x = c.operands[0];
  const auto axis = axis_of(c, c.integer("axis"), x.rank() - 1);
  if (!axis || !x.is_static()) return std::nullopt;
  const bool whole = c.integer("size") == x.dims[*axis].value() * x.dims.back().value();
  for (std::size_t d = 0; d + 1 < x.rank(); ++d)
    if (d != *axis && x.dims[d].value() != 1 && (d > *axis || !whole)) return std::nullopt;
  return ViewFact{};
}

}  // namespace

OpDef unpack() {
  OpDef d;
  d.name = "unpack";
  d.doc =
      "The inverse of pack: out[..., i, ...] = x[..., i / block, ..., i % block] for i < size; "
      "block is the last extent of x.";
  d.attrs = {{"axis", AttrKind::integer, "axis that was cut", {}},
             {"size", AttrKind::integer, "its extent before packing", {}}};
  d.fusion = FusionKind::injective;
  d.infer = unpack_type;
  d.compute = unpack_compute;
  d.view = unpack_view;
  return d;
}

}  // namespace tenon::ops
