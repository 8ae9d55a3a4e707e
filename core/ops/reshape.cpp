#include "core/ops/support/common.h"
#include "core/ops/support/index.h"

namespace tenon::ops {

namespace {

Result<Types> reshape_type(const OpContext& c) {
  if (Status s = need_static(c); !s) return s.errors();
  const TensorType& x = c.operands[0];
  const auto count = elements(x);
  if (!count) return c.error(fmt::format("{} has too many elements", to_string(x)));
  std::vector<Dim> dims;
  std::optional<std::size_t> open;
  std::uint64_t known = 1;
  for (std::int64_t d : c.ints("shape")) {
    if (d < -1) return c.error(fmt::format("shape has the extent {}", d));
    if (d == -1 && open) return c.error("shape has -1 twice");
    if (d == -1) open = dims.size();
    dims.push_back(Dim(d == -1 ? 1 : d));
    if (d == -1) continue;
    auto product = checked_mul(known, static_cast<std::uint64_t>(d));
    if (!product) return c.error("shape has too many elements");
    known = *product;
  }
  if (open && (known == 0 || *count % known != 0))
    return c.error(fmt::format("{} elements of {} do not divide by {}, so -1 has no value", *count,
                               to_string(x), known));
  if (open) dims[*open] = Dim(static_cast<std::int64_t>(*count / known));
  if (!open && known != *count)
    return c.error(
        fmt::format("{} has {} elements, {} has {}", to_string(x), *count, text(dims), known));
  return Types{TensorType(x.dtype, dims)};
}

Status reshape_compute(const OpContext& c, te::Builder& b) {
  auto type = reshape_type(c);
  if (!type) return type.errors();
  T x = b.input(0);
  const Shape to = (*type)[0].shape();
  b.output(b.stage("out", to, [&](auto i) { return x(reshape_index(b, i, to, x.shape())); }));
  return {};
}

}  // namespace

OpDef reshape() {
  OpDef d;
  d.name = "reshape";
  d.doc =
      "The same elements in the same row-major order under another shape: out[i] = x[j] where i "
      "and j have one row-major "
      "number; one extent may be -1.";
  d.attrs = {{"shape", AttrKind::ints, "extents of the result; at most one -1", {}}};
  d.fusion = FusionKind::injective;
  d.infer = reshape_type;
  d.compute = reshape_compute;
  d.view = same_bytes;
  return d;
}

}  // namespace tenon::ops
