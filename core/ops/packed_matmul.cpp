#include "core/ops/support/common.h"

namespace tenon::ops {

namespace {

Result<Types> packed_matmul_type(const OpContext& c) {
  if (Status s = accept(c, number); !s) return s.errors();
  const TensorType &x = c.operands[0], &w = c.operands[1];
  if (x.dtype != w.dtype)
    return c.error(
        fmt::format("operands of different element types: {} and {}", to_string(x), to_string(w)),
        "insert a `cast`");
  if (x.rank() == 0 || w.rank() != 3)
    return c.error(
        fmt::format("operands {} and {}, need ranks 1 or more and 3", to_string(x), to_string(w)));
  if (!(x.dims.back() == w.dims[1]))
    return c.error(fmt::format("inner extents {} and {} of {} and {} differ", text({x.dims.back()}),
                               text({w.dims[1]}), to_string(x), to_string(w)));
  if (!w.dims[0].is_static() || !w.dims[2].is_static())
    return c.error(fmt::format("panels {} of unknown number or width", to_string(w)));
  const auto columns = checked_mul(static_cast<std::uint64_t>(w.dims[0].value()),
                                   static_cast<std::uint64_t>(w.dims[2].value()));
  if (!columns || *columns > INT64_MAX || w.dims[2].value() < 1)
    return c.error(fmt::format("{} panels of {} columns", w.dims[0].value(), w.dims[2].value()));
  TensorType out = x;
  out.dims.back() = Dim(static_cast<std::int64_t>(*columns));
  return Types{out};
}

Status packed_matmul_compute(const OpContext& c, te::Builder& b) {
  auto type = packed_matmul_type(c);
  if (!type) return type.errors();
  T x = b.input(0), w = b.input(1);
  const std::int64_t inner = w.shape()[1], width = w.shape()[2];
  b.output(b.stage("out", (*type)[0].shape(), [&](auto i) {
    return b.reduce(te::Fold::sum, {{"k", inner}}, [&](auto r) {
      std::vector<E> left(i.begin(), i.end() - 1);
      left.push_back(r[0]);
      return x(left) * w({i.back() / width, r[0], i.back() % width});
    });
  }));
  return {};
}

}  // namespace

OpDef packed_matmul() {
  OpDef d;
  d.name = "packed_matmul";
  d.doc =
      "Matrix product with columns in panels of w: out[..., n] = sum over k of a[..., k] * "
      "b[n / w, k, n % w]; b is [N / w, K, w].";
  d.min_operands = 2;
  d.max_operands = 2;
  d.fusion = FusionKind::anchor;
  d.infer = packed_matmul_type;
  d.compute = packed_matmul_compute;
  return d;
}

}  // namespace tenon::ops
