// An op out of tree: a type rule and a compute description, nothing else. Printing, parsing,
// verifying, fusing, evaluating and vector code follow from these two.
#include "tenon/plugin.h"

namespace {

using tenon::te::E;

/// `size` elements every `stride`, no padding: how many windows a row of `n` elements has.
std::int64_t windows(std::int64_t n, std::int64_t size, std::int64_t stride) {
  return n < size ? 0 : (n - size) / stride + 1;
}

tenon::Result<std::vector<tenon::TensorType>> infer(const tenon::OpContext& c) {
  const tenon::TensorType &a = c.operands[0], &b = c.operands[1];
  const std::int64_t size = c.integer("size"), stride = c.integer("stride");
  if (!(a == b))
    return c.error("operands differ: " + tenon::to_string(a) + " and " + tenon::to_string(b));
  if (a.rank() == 0 || !a.dims.back().is_static())
    return c.error("needs a last axis of known extent, got " + tenon::to_string(a));
  if (size < 1 || stride < 1)
    return c.error("size " + std::to_string(size) + " and stride " + std::to_string(stride) +
                   " must be at least 1");
  tenon::TensorType out = a;
  out.dims.back() = windows(a.dims.back().value(), size, stride);
  return std::vector{out};
}

tenon::Status compute(const tenon::OpContext& c, tenon::te::Builder& te) {
  const std::int64_t size = c.integer("size"), stride = c.integer("stride");
  const tenon::te::T a = te.input(0), b = te.input(1);
  tenon::Shape shape = a.shape();
  shape.back() = windows(shape.back(), size, stride);
  te.output(te.stage("out", shape, [&](std::span<const E> i) {
    return te.reduce(tenon::te::Fold::max, {{"w", size}}, [&](std::span<const E> r) {
      std::vector<E> at(i.begin(), i.end());
      at.back() = at.back() * stride + r[0];
      return tenon::te::unary(tenon::ScalarOp::abs, a(at) - b(at));
    });
  }));
  return {};
}

void describe(tenon::Registration& r) {
  tenon::OpDef op;
  op.name = "acme.window_max_diff";
  op.doc = "out[..., i] = max over w < size of |a[..., i * stride + w] - b[..., i * stride + w]|";
  op.min_operands = op.max_operands = 2;
  op.attrs = {{"size", tenon::AttrKind::integer, "elements of a window", std::nullopt},
              {"stride", tenon::AttrKind::integer, "elements between the starts of two windows",
               std::int64_t{1}}};
  op.fusion = tenon::FusionKind::reduction;
  op.infer = infer;
  op.compute = compute;
  r.add(std::move(op));
}

}  // namespace

TENON_PLUGIN("acme", "1.0.0", "Ops of Acme", describe, TN_KIND_OP);
