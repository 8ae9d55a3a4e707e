#include "core/ops/support/common.h"

namespace tenon::ops {

namespace {

std::vector<std::int64_t> steps_of(const OpContext& c) {
  std::vector<std::int64_t> steps = c.ints("steps");
  if (steps.empty()) steps.assign(c.operands[0].rank(), 1);
  return steps;
}

Result<Types> slice_type(const OpContext& c) {
  if (Status s = need_static(c); !s) return s.errors();
  const TensorType& x = c.operands[0];
  const auto &starts = c.ints("starts"), &sizes = c.ints("sizes");
  const auto steps = steps_of(c);
  if (Status s = need_length(c, "starts", starts.size(), x.rank(), "axes"); !s) return s.errors();
  if (Status s = need_length(c, "sizes", sizes.size(), x.rank(), "axes"); !s) return s.errors();
  if (Status s = need_length(c, "steps", steps.size(), x.rank(), "axes"); !s) return s.errors();
  std::vector<Dim> dims;
  for (std::size_t k = 0; k < x.rank(); ++k) {
    const std::int64_t extent = x.dims[k].value();
    std::int64_t last = starts[k];
    if (sizes[k] < 0) return c.error(fmt::format("size {} on axis {}", sizes[k], k));
    bool ok = sizes[k] == 0 || (!__builtin_mul_overflow(sizes[k] - 1, steps[k], &last) &&
                                !__builtin_add_overflow(last, starts[k], &last));
    ok = ok &&
         (sizes[k] == 0 || (starts[k] >= 0 && starts[k] < extent && last >= 0 && last < extent));
    if (!ok)
      return c.error(fmt::format("{} elements from {} in steps of {} leave axis {} of extent {}",
                                 sizes[k], starts[k], steps[k], k, extent));
    dims.push_back(Dim(sizes[k]));
  }
  return Types{TensorType(x.dtype, dims)};
}

Status slice_compute(const OpContext& c, te::Builder& b) {
  T x = b.input(0);
  const auto& starts = c.ints("starts");
  const auto steps = steps_of(c);
  b.output(b.stage("out", c.ints("sizes"), [&](auto i) {
    std::vector<E> index;
    for (std::size_t k = 0; k < i.size(); ++k) index.push_back(i[k] * steps[k] + starts[k]);
    return x(index);
  }));
  return {};
}

/// One run of bytes: extents of 1, then one axis cut without gaps, then whole axes.
std::optional<ViewFact> slice_view(const OpContext& c) {
  const TensorType& x = c.operands[0];
  if (!x.is_static() || elements(x).value_or(0) == 0) return std::nullopt;
  const auto &starts = c.ints("starts"), &sizes = c.ints("sizes");
  const auto steps = steps_of(c);
  bool whole_from_here = false;
  std::uint64_t offset = 0;
  for (std::size_t k = 0; k < x.rank(); ++k) {
    const std::int64_t extent = x.dims[k].value();
    if (sizes[k] == 0 || (sizes[k] > 1 && steps[k] != 1)) return std::nullopt;
    if (whole_from_here && sizes[k] != extent) return std::nullopt;
    whole_from_here = whole_from_here || sizes[k] != 1;
    offset = offset * static_cast<std::uint64_t>(extent) + static_cast<std::uint64_t>(starts[k]);
  }
  const std::uint64_t offset_bits = offset * bits(x.dtype) * x.lanes;
  if (offset_bits % 8 != 0) return std::nullopt;
  return ViewFact{.offset = offset_bits / 8};
}

}  // namespace

OpDef slice() {
  OpDef d;
  d.name = "slice";
  d.doc = "A regular part: out[i] = x[starts + i * steps], axis by axis.";
  d.attrs = {{"starts", AttrKind::ints, "first element per axis", {}},
             {"sizes", AttrKind::ints, "elements taken per axis", {}},
             {"steps", AttrKind::ints, "distance per axis, may be negative; none = 1",
              std::vector<std::int64_t>{}}};
  d.fusion = FusionKind::injective;
  d.infer = slice_type;
  d.compute = slice_compute;
  d.view = slice_view;
  return d;
}

}  // namespace tenon::ops
