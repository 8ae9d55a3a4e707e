#include "core/ops/support/common.h"

namespace tenon::ops {

namespace {

Result<Types> transpose_type(const OpContext& c) {
  const TensorType& x = c.operands[0];
  const auto& perm = c.ints("perm");
  if (Status s = need_length(c, "perm", perm.size(), x.rank(), "axes"); !s) return s.errors();
  std::vector<bool> seen(x.rank(), false);
  std::vector<Dim> dims;
  for (std::int64_t p : perm) {
    if (p < 0 || p >= static_cast<std::int64_t>(x.rank()) || seen[static_cast<std::size_t>(p)])
      return c.error(fmt::format("perm [{}] is not a permutation of {} axes", fmt::join(perm, ", "),
                                 x.rank()));
    seen[static_cast<std::size_t>(p)] = true;
    dims.push_back(x.dims[static_cast<std::size_t>(p)]);
  }
  return Types{TensorType(x.dtype, dims)};
}

Status transpose_compute(const OpContext& c, te::Builder& b) {
  T x = b.input(0);
  const auto& perm = c.ints("perm");
  const Shape from = x.shape();
  Shape shape;
  for (std::int64_t p : perm) shape.push_back(from[static_cast<std::size_t>(p)]);
  b.output(b.stage("out", shape, [&](auto i) {
    std::vector<E> index(i.begin(), i.end());
    for (std::size_t k = 0; k < perm.size(); ++k) index[static_cast<std::size_t>(perm[k])] = i[k];
    return x(index);
  }));
  return {};
}

/// Only axes of extent 1 move: the order of the others stays.
std::optional<ViewFact> transpose_view(const OpContext& c) {
  const TensorType& x = c.operands[0];
  std::int64_t last = -1;
  for (std::int64_t p : c.ints("perm")) {
    if (x.dims[static_cast<std::size_t>(p)] == Dim(1)) continue;
    if (p < last) return std::nullopt;
    last = p;
  }
  return ViewFact{};
}

}  // namespace

OpDef transpose() {
  OpDef d;
  d.name = "transpose";
  d.doc =
      "Axes in another order: out[i[perm[0]], i[perm[1]], ...] = x[i]; axis k of the result is "
      "axis perm[k] of x.";
  d.attrs = {{"perm", AttrKind::ints, "the permutation", {}}};
  d.fusion = FusionKind::injective;
  d.infer = transpose_type;
  d.compute = transpose_compute;
  d.view = transpose_view;
  return d;
}

}  // namespace tenon::ops
