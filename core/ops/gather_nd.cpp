#include "core/ops/support/common.h"
#include "core/ops/support/index.h"

namespace tenon::ops {

namespace {

Result<Types> gather_nd_type(const OpContext& c) {
  const TensorType &x = c.operands[0], &at = c.operands[1];
  const std::int64_t batch = c.integer("batch_dims");
  if (!is_int(at.dtype))
    return c.error(fmt::format("indices are {}, need an integer type", to_string(at)),
                   "insert a `cast`");
  const auto rank = static_cast<std::int64_t>(x.rank()),
             at_rank = static_cast<std::int64_t>(at.rank());
  if (batch < 0 || at_rank < 1 || batch >= std::min(rank, at_rank))
    return c.error(
        fmt::format("batch_dims {} with {} and indices {}", batch, to_string(x), to_string(at)));
  if (!at.dims.back().is_static() || at.dims.back().value() < 1 ||
      at.dims.back().value() > rank - batch)
    return c.error(fmt::format("indices {} name {} of the {} axes of {} behind batch_dims {}",
                               to_string(at), text({at.dims.back()}), rank - batch, to_string(x),
                               batch));
  std::vector<Dim> dims(at.dims.begin(), at.dims.end() - 1);
  for (std::int64_t k = 0; k < batch; ++k)
    if (!(x.dims[static_cast<std::size_t>(k)] == at.dims[static_cast<std::size_t>(k)]))
      return c.error(
          fmt::format("{} and indices {} differ on batch axis {}", to_string(x), to_string(at), k));
  for (std::int64_t k = batch; k < batch + at.dims.back().value(); ++k)
    if (x.dims[static_cast<std::size_t>(k)] == Dim(0) && elements(at).value_or(1) != 0)
      return c.error(fmt::format("indices {} into axis {} of extent 0", to_string(at), k));
  dims.insert(dims.end(), x.dims.begin() + batch + at.dims.back().value(), x.dims.end());
  return Types{TensorType(x.dtype, dims)};
}

Status gather_nd_compute(const OpContext& c, te::Builder& b) {
  auto type = gather_nd_type(c);
  if (!type) return type.errors();
  T x = b.input(0), at = b.input(1);
  const auto batch = static_cast<std::size_t>(c.integer("batch_dims"));
  const std::size_t places = at.shape().size() - 1;
  const std::int64_t named = at.shape().back();
  b.output(b.stage("out", (*type)[0].shape(), [&](auto i) {
    std::vector<E> index(i.begin(), i.begin() + static_cast<std::ptrdiff_t>(batch));
    for (std::int64_t k = 0; k < named; ++k) {
      std::vector<E> place(i.begin(), i.begin() + static_cast<std::ptrdiff_t>(places));
      place.push_back(b.i64(k));
      index.push_back(index_from_data(at(place), x.shape()[index.size()]));
    }
    index.insert(index.end(), i.begin() + static_cast<std::ptrdiff_t>(places), i.end());
    return x(index);
  }));
  return {};
}

}  // namespace

OpDef gather_nd() {
  OpDef d;
  d.name = "gather_nd";
  d.doc =
      "Slices at places that data give by several axes at once: out[b, i, k] = x[b, at[b, i, 0], "
      "at[b, i, 1], ..., k], with batch_dims axes b; negative indices count from the end, those "
      "that are still outside are clamped to the nearest element.";
  d.min_operands = 2;
  d.max_operands = 2;
  d.attrs = {{"batch_dims", AttrKind::integer, "leading axes that both share", std::int64_t{0}}};
  d.fusion = FusionKind::injective;
  d.infer = gather_nd_type;
  d.compute = gather_nd_compute;
  return d;
}

}  // namespace tenon::ops
