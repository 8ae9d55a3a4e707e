#include "core/ops/support/common.h"

namespace tenon::ops {

namespace {

Result<Types> packed_integer_matmul_type(const OpContext& c) {
  const TensorType &x = c.operands[0], &w = c.operands[1];
  if (x.dtype != DType::u8 || w.dtype != DType::i8)
    return c.error(
        fmt::format("operands {} and {}, need elements of u8 and i8", to_string(x), to_string(w)),
        "insert a `cast`");
  if (x.rank() == 0 || w.rank() != 4)
    return c.error(
        fmt::format("operands {} and {}, need ranks 1 or more and 4", to_string(x), to_string(w)));
  if (!w.is_static() || !(w.dims[3] == Dim(byte_group)) || w.dims[2].value() < 1)
    return c.error(
        fmt::format("panels {}, need columns in groups of {} rows", to_string(w), byte_group));
  const auto inner = checked_mul(static_cast<std::uint64_t>(w.dims[1].value()),
                                 static_cast<std::uint64_t>(byte_group)),
             columns = checked_mul(static_cast<std::uint64_t>(w.dims[0].value()),
                                   static_cast<std::uint64_t>(w.dims[2].value()));
  if (!columns || *columns > INT64_MAX || !inner || *inner > INT64_MAX)
    return c.error(fmt::format("panels {} of too many rows or columns", to_string(w)));
  if (!(x.dims.back() == Dim(static_cast<std::int64_t>(*inner))))
    return c.error(fmt::format("inner extents {} and {} of {} and {} differ", text({x.dims.back()}),
                               *inner, to_string(x), to_string(w)));
  TensorType out(DType::i32, x.dims);
  out.dims.back() = Dim(static_cast<std::int64_t>(*columns));
  return Types{out};
}

Status packed_integer_matmul_compute(const OpContext& c, te::Builder& b) {
  auto type = packed_integer_matmul_type(c);
  if (!type) return type.errors();
  T x = b.input(0), w = b.input(1);
  const std::int64_t groups = w.shape()[1], width = w.shape()[2];
  b.output(b.stage("out", (*type)[0].shape(), [&](auto i) {
    return b.reduce(te::Fold::sum, {{"k", groups}, {"q", byte_group}}, [&](auto r) {
      std::vector<E> left(i.begin(), i.end() - 1);
      left.push_back(r[0] * byte_group + r[1]);
      return b.cast(x(left), DType::i32) *
             b.cast(w({i.back() / width, r[0], i.back() % width, r[1]}), DType::i32);
    });
  }));
  return {};
}

}  // namespace

OpDef packed_integer_matmul() {
  OpDef d;
  d.name = "packed_integer_matmul";
  d.doc =
      "Matrix product of u8 and i8 in i32, which wraps, with columns in panels of w and rows in "
      "groups of 4: out[..., n] = sum over k of a[..., k] * b[n / w, k / 4, n % w, k % 4]; b is "
      "[N / w, K / 4, w, 4].";
  d.min_operands = 2;
  d.max_operands = 2;
  d.fusion = FusionKind::anchor;
  d.infer = packed_integer_matmul_type;
  d.compute = packed_integer_matmul_compute;
  return d;
}

}  // namespace tenon::ops
