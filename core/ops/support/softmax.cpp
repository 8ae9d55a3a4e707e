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
  auto shifted = [&](std::span<const E> i) { return x(i) - top(without(i)); };
  if (logarithm) {
    T log_sum = b.stage("log_sum", rest, [&](auto i) {
      return te::unary(ScalarOp::log, b.reduce(te::Fold::sum, along, [&](auto r) {
        return te::unary(ScalarOp::exp, x(with(i, r[0])) - top(i));
      }));
    });
    b.output(b.stage("out", shape, [&](auto i) { return shifted(i) - log_sum(without(i)); }));
    return {};
  }
  // The exponentials are computed once; one division per row.
  T e = b.stage("exp", shape, [&](auto i) { return te::unary(ScalarOp::exp, shifted(i)); });
  T scale = b.stage("scale", rest, [&](auto i) {
    return b.imm(x.dtype(), 1) /
           b.reduce(te::Fold::sum, along, [&](auto r) { return e(with(i, r[0])); });
  });
  b.output(b.stage("out", shape, [&](auto i) { return e(i) * scale(without(i)); }));
  return {};
}

}  // namespace tenon::ops
