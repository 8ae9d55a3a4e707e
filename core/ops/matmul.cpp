#include "core/ops/support/common.h"

namespace tenon::ops {

namespace {

/// A vector as first operand is a row, as second a column; the axis that this adds is dropped from
/// the result.
struct Sides {
  std::vector<Dim> a, b;  // with the added axis
  bool row = false, column = false;
};

Sides sides_of(const OpContext& c) {
  Sides s{c.operands[0].dims, c.operands[1].dims};
  s.row = s.a.size() == 1;
  s.column = s.b.size() == 1;
  if (s.row) s.a.insert(s.a.begin(), Dim(1));
  if (s.column) s.b.push_back(Dim(1));
  return s;
}

Result<Types> matmul_type(const OpContext& c) {
  if (Status s = accept(c, number); !s) return s.errors();
  const TensorType &x = c.operands[0], &y = c.operands[1];
  if (x.dtype != y.dtype)
    return c.error(
        fmt::format("operands of different element types: {} and {}", to_string(x), to_string(y)),
        "insert a `cast`");
  if (x.rank() == 0 || y.rank() == 0)
    return c.error(
        fmt::format("operands {} and {}, need rank 1 or more", to_string(x), to_string(y)));
  const Sides s = sides_of(c);
  const Dim inner = s.a.back(), other = s.b[s.b.size() - 2];
  if (!(inner == other))
    return c.error(fmt::format("inner extents {} and {} of {} and {} differ", text({inner}),
                               text({other}), to_string(x), to_string(y)));
  auto dims = broadcast(c, {s.a.begin(), s.a.end() - 2}, {s.b.begin(), s.b.end() - 2});
  if (!dims) return dims.errors();
  if (!s.row) dims->push_back(s.a[s.a.size() - 2]);
  if (!s.column) dims->push_back(s.b.back());
  return Types{TensorType(x.dtype, *dims)};
}

Status matmul_compute(const OpContext& c, te::Builder& b) {
  auto type = matmul_type(c);
  if (!type) return type.errors();
  const Sides s = sides_of(c);
  T x = b.input(0), y = b.input(1);
  const Shape shape = (*type)[0].shape();
  const std::size_t batch = shape.size() - !s.row - !s.column;
  // Index of the batch axes of an operand of shape `own`.
  auto batch_index = [&](std::span<const E> i, const std::vector<Dim>& own) {
    std::vector<E> index;
    const std::size_t n = own.size() - 2;
    for (std::size_t k = 0; k < n; ++k)
      index.push_back(own[k] == Dim(1) ? b.i64(0) : i[batch - n + k]);
    return index;
  };
  b.output(b.stage("out", shape, [&](auto i) {
    return b.reduce(te::Fold::sum, {{"k", s.a.back().value()}}, [&](auto r) {
      std::vector<E> left = batch_index(i, s.a), right = batch_index(i, s.b);
      if (!s.row) left.push_back(i[batch]);
      left.push_back(r[0]);
      right.push_back(r[0]);
      if (!s.column) right.push_back(i[shape.size() - 1]);
      return x(left) * y(right);
    });
  }));
  return {};
}

}  // namespace

OpDef matmul() {
  OpDef d;
  d.name = "matmul";
  d.doc =
      "Matrix product with NumPy rules: out[..., m, n] = sum over k of a[..., m, k] * b[..., k, "
      "n]; leading axes broadcast, "
      "a vector is a row as a and a column as b.";
  d.min_operands = 2;
  d.max_operands = 2;
  d.fusion = FusionKind::anchor;
  d.infer = matmul_type;
  d.compute = matmul_compute;
  return d;
}

}  // namespace tenon::ops
