#include <limits>

#include "core/ops/support/common.h"

namespace tenon::ops {

namespace {

/// All axes but the last two.
std::vector<Dim> batch_of(const TensorType& t) { return {t.dims.begin(), t.dims.end() - 2}; }

/// The axes that the batches of the operands broadcast to.
Result<std::vector<Dim>> attention_batch(const OpContext& c) {
  auto batch = broadcast(c, batch_of(c.operands[0]), batch_of(c.operands[1]));
  return batch ? broadcast(c, *batch, batch_of(c.operands[2])) : std::move(batch);
}

Result<Types> attention_type(const OpContext& c) {
  if (Status s = accept(c, float_type); !s) return s.errors();
  const DType t = c.operands[0].dtype;
  for (std::size_t k = 0; k < 3; ++k) {
    if (c.operands[k].rank() < 2)
      return c.error(
          fmt::format("operand {} is {}, needs rank 2 or more", k, to_string(c.operands[k])));
    if (c.operands[k].dtype != t)
      return c.error(fmt::format("operands of different element types: {} and {}",
                                 to_string(c.operands[0]), to_string(c.operands[k])),
                     "insert a `cast`");
  }
  const auto row = [&](std::size_t k) { return c.operands[k].dims[c.operands[k].rank() - 2]; };
  const auto column = [&](std::size_t k) { return c.operands[k].dims.back(); };
  const auto differ = [&](std::size_t a, std::size_t b, Dim x, Dim y, const char* what) {
    constexpr char names[] = {'q', 'k', 'v'};
    return c.error(fmt::format("{} {} and {} of {} {} and {} {} differ", what, text({x}), text({y}),
                               names[a], to_string(c.operands[a]), names[b],
                               to_string(c.operands[b])));
  };
  if (!(column(0) == column(1))) return differ(0, 1, column(0), column(1), "last extents");
  if (!(row(1) == row(2))) return differ(1, 2, row(1), row(2), "row counts");
  auto dims = attention_batch(c);
  if (!dims) return dims.errors();
  if (c.operands.size() > 3) {
    const TensorType& mask = c.operands[3];
    if (mask.dtype != t && mask.dtype != DType::boolean)
      return c.error(fmt::format("the mask is {}, needs elements of type {} or bool",
                                 to_string(mask), name(t)));
    std::vector<Dim> scores = *dims;
    scores.push_back(row(0));
    scores.push_back(row(1));
    auto together = broadcast(c, scores, mask.dims);
    if (!together) return together.errors();
    if (*together != scores)
      return c.error(
          fmt::format("the mask {} is larger than the scores {}", to_string(mask), text(scores)));
  }
  dims->push_back(row(0));
  dims->push_back(column(2));
  return Types{TensorType(t, *dims)};
}

Status attention_compute(const OpContext& c, te::Builder& b) {
  auto type = attention_type(c);
  if (!type) return type.errors();
  const Shape out = (*type)[0].shape();
  const std::size_t batch = out.size() - 2;
  T q = b.input(0), k = b.input(1), v = b.input(2);
  const DType t = q.dtype();
  Shape rows(out.begin(), out.end() - 1), scores = rows;
  scores.push_back(k.shape()[k.shape().size() - 2]);
  // The element [row, column] of an operand, for a point whose first axes are the batch.
  const auto at = [&](T x, std::span<const E> point, E row, E column) {
    const Shape own = x.shape();
    const std::size_t n = own.size() - 2;
    std::vector<E> index;
    for (std::size_t a = 0; a < n; ++a)
      index.push_back(own[a] == 1 ? b.i64(0) : point[batch - n + a]);
    index.push_back(row);
    index.push_back(column);
    return x(index);
  };
  const auto followed_by = [](std::span<const E> row, E column) {
    std::vector<E> index(row.begin(), row.end());
    index.push_back(column);
    return index;
  };
  T score = b.stage("score", scores, [&](auto i) {
    E s = b.reduce(te::Fold::sum, {{"d", q.shape().back()}},
                   [&](auto r) { return at(q, i, i[batch], r[0]) * at(k, i, i[batch + 1], r[0]); });
    if (c.real("scale") != 1) s = s * b.imm(t, c.real("scale"));
    if (b.n_inputs() < 4) return s;
    E m = load_broadcast(b.input(3), i);
    return m.dtype() == DType::boolean ? te::select(m, s, b.imm(t, c.real("masked"))) : s + m;
  });
  const std::vector<te::Axis> along{{"n", scores.back()}};
  T top = b.stage("max", rows, [&](auto i) {
    return b.reduce(te::Fold::max, along, [&](auto r) { return score(followed_by(i, r[0])); });
  });
  T e = b.stage("exp", scores, [&](auto i) {
    return te::unary(ScalarOp::exp, score(i) - top(i.first(batch + 1)));
  });
  T scale = b.stage("scale", rows, [&](auto i) {
    return b.imm(t, 1) /
           b.reduce(te::Fold::sum, along, [&](auto r) { return e(followed_by(i, r[0])); });
  });
  b.output(b.stage("out", out, [&](auto i) {
    const auto row = i.first(batch + 1);
    return b.reduce(te::Fold::sum, along, [&](auto r) {
      return e(followed_by(row, r[0])) * at(v, i, r[0], i[batch + 1]);
    }) * scale(row);
  }));
  return {};
}

}  // namespace

OpDef attention() {
  OpDef d;
  d.name = "attention";
  d.doc =
      "Attention of operands q, k, v and, if there is one, a mask: out[..., m, e] = sum over n of "
      "p[..., m, n] * v[..., n, e], p the softmax along n of s[..., m, n] = scale * sum over d of "
      "q[..., m, d] * k[..., n, d]; a float mask is added to s, where a boolean one is false s is "
      "`masked`; leading axes broadcast.";
  d.min_operands = 3;
  d.max_operands = 4;
  d.attrs = {{"scale", AttrKind::real, "factor of the scores", 1.0},
             {"masked", AttrKind::real, "score where a boolean mask is false",
              -std::numeric_limits<double>::infinity()}};
  d.fusion = FusionKind::anchor;
  d.infer = attention_type;
  d.compute = attention_compute;
  return d;
}

}  // namespace tenon::ops
