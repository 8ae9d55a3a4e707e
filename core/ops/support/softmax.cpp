#include "core/ops/support/softmax.h"

namespace tenon::ops {

Result<Types> infer_axis(const OpContext& c) {
  auto axis = axis_of(c, c.integer("axis"), c.operands[0].rank());
  if (!axis) return axis.errors();
  return infer_same(c, float_type);
}

Status normalise(const OpContext& c, te::Builder& b, bool logarithm) {
  T x = b.input(0);
  Shape shape = x.shape(), rest = shape;
  auto axis = axis_of(c, c.integer("axis"), shape.size());
  if (!axis) return axis.errors();
  const auto k = static_cast<std::ptrdiff_t>(*axis);
  rest.erase(rest.begin() + k);
  auto with = [&](std::span<const E> i, E at) {
    std::vector<E> index(i.begin(), i.end());
    index.insert(index.begin() + k, at);
    return index;
  };
  auto without = [&](std::span<const E> i) {
    std::vector<E> index(i.begin(), i.end());
    index.erase(index.begin() + k);
    return index;
  };
  const std::vector<te::Axis> along{{"r0", shape[*axis]}};
  T top = b.stage("max", rest, [&](auto i) {
    return b.reduce(te::Fold::max, along, [&](auto r) { return x(with(i, r[0])); });
  });
  T sum = b.stage("sum", rest, [&](auto i) {
    return b.reduce(te::Fold::sum, along,
                    [&](auto r) { return te::unary(ScalarOp::exp, x(with(i, r[0])) - top(i)); });
  });
  b.output(b.stage("out", shape, [&](auto i) {
    const auto row = without(i);
    E shifted = x(i) - top(row);
    return logarithm ? shifted - te::unary(ScalarOp::log, sum(row))
                     : te::unary(ScalarOp::exp, shifted) / sum(row);
  }));
  return {};
}

}  // namespace tenon::ops
