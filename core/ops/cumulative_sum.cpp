#include "core/ops/support/common.h"

namespace tenon::ops {

namespace {

Result<Types> cumulative_sum_type(const OpContext& c) {
  auto axis = axis_of(c, c.integer("axis"), c.operands[0].rank());
  if (!axis) return axis.errors();
  return infer_same(c, number);
}

/// Every element sums its own part of the axis: no order between elements, at a cost of n^2 / 2.
Status cumulative_sum_compute(const OpContext& c, te::Builder& b) {
  T x = b.input(0);
  const Shape shape = x.shape();
  const std::size_t axis = *axis_of(c, c.integer("axis"), shape.size());
  const bool exclusive = *c.attrs->get<bool>("exclusive"), reverse = *c.attrs->get<bool>("reverse");
  b.output(b.stage("out", shape, [&](auto i) {
    return b.reduce(te::Fold::sum, {{"r0", shape[axis]}}, [&](auto r) {
      std::vector<E> index(i.begin(), i.end());
      index[axis] = r[0];
      E first = reverse ? i[axis] : r[0], second = reverse ? r[0] : i[axis];
      return te::select(exclusive ? first < second : first <= second, x(index),
                        b.imm(x.dtype(), 0));
    });
  }));
  return {};
}

}  // namespace

OpDef cumulative_sum() {
  OpDef d =
      unary_op("cumulative_sum",
               "Running sum along an axis: out[i, k] = sum over r <= k of x[i, r]; exclusive: "
               "r < k; reverse: r >= k.",
               cumulative_sum_type, cumulative_sum_compute);
  d.fusion = FusionKind::reduction;
  d.attrs = {{"axis", AttrKind::integer, "axis along which is summed", std::int64_t{-1}},
             {"exclusive", AttrKind::boolean, "the element itself is left out", false},
             {"reverse", AttrKind::boolean, "from the end of the axis", false}};
  return d;
}

}  // namespace tenon::ops
