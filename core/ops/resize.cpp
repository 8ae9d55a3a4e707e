#include "core/ops/support/common.h"

namespace tenon::ops {

namespace {

/// Coordinates as in ONNX Resize: where the centre of output element i falls on the input axis.
E coordinate(const OpContext& c, E i, std::int64_t from, std::int64_t to) {
  te::Builder& b = *i.b;
  const std::string& how = *c.attrs->get<std::string>("coordinates");
  const double scale = static_cast<double>(from) / static_cast<double>(to);
  E x = b.cast(i, DType::f32);
  if (how == "asymmetric") return x * b.imm(DType::f32, scale);
  if (how == "align_corners")
    return x * b.imm(DType::f32,
                     to > 1 ? static_cast<double>(from - 1) / static_cast<double>(to - 1) : 0.0);
  return (x + b.imm(DType::f32, 0.5)) * b.imm(DType::f32, scale) - b.imm(DType::f32, 0.5);
}

E clamp(E k, std::int64_t extent) { return te::min(te::max(k, k.b->i64(0)), k.b->i64(extent - 1)); }

Result<Types> resize_type(const OpContext& c) {
  if (Status s = need_static(c); !s) return s.errors();
  const TensorType& x = c.operands[0];
  const auto& shape = c.ints("shape");
  if (Status s = need_length(c, "shape", shape.size(), x.rank(), "axes"); !s) return s.errors();
  const std::string &mode = *c.attrs->get<std::string>("mode"),
                    &how = *c.attrs->get<std::string>("coordinates");
  if (mode != "nearest" && mode != "linear")
    return c.error(fmt::format("mode '{}'", mode), "use nearest or linear");
  if (how != "asymmetric" && how != "align_corners" && how != "half_pixel")
    return c.error(fmt::format("coordinates '{}'", how),
                   "use asymmetric, align_corners or half_pixel");
  if (mode == "linear")
    if (Status s = accept(c, float_type); !s) return s.errors();
  for (std::size_t k = 0; k < shape.size(); ++k)
    if (shape[k] < 0 || (shape[k] > 0 && x.dims[k].value() == 0))
      return c.error(fmt::format("axis {} from extent {} to {}", k, x.dims[k].value(), shape[k]));
  return Types{TensorType(x.dtype, shape)};
}

/// Linear: interpolates one axis after the other, in stages; nearest: one stage.
Status resize_compute(const OpContext& c, te::Builder& b) {
  T x = b.input(0);
  const Shape to = c.ints("shape"), from = x.shape();
  if (*c.attrs->get<std::string>("mode") == "nearest") {
    b.output(b.stage("out", to, [&](auto i) {
      std::vector<E> index(i.begin(), i.end());
      for (std::size_t k = 0; k < to.size(); ++k) {
        if (to[k] == from[k]) continue;
        E at = coordinate(c, i[k], from[k], to[k]);
        // half_pixel and align_corners round to nearest, halves down; asymmetric rounds down.
        E whole = *c.attrs->get<std::string>("coordinates") == "asymmetric"
                      ? te::unary(ScalarOp::floor, at)
                      : te::unary(ScalarOp::ceil, at - b.imm(DType::f32, 0.5));
        index[k] = clamp(b.cast(whole, DType::i64), from[k]);
      }
      return x(index);
    }));
    return {};
  }
  Shape now = from;
  for (std::size_t k = 0; k < to.size(); ++k) {
    if (to[k] == from[k]) continue;
    now[k] = to[k];
    T before = x;
    x = b.stage("axis" + std::to_string(k), now, [&](auto i) {
      E at = te::min(te::max(coordinate(c, i[k], from[k], to[k]), b.imm(DType::f32, 0)),
                     b.imm(DType::f32, static_cast<double>(from[k] - 1)));
      E low = clamp(b.cast(te::unary(ScalarOp::floor, at), DType::i64), from[k]),
        high = clamp(low + 1, from[k]);
      E weight = b.cast(at - b.cast(low, DType::f32), before.dtype());
      std::vector<E> left(i.begin(), i.end()), right = left;
      left[k] = low;
      right[k] = high;
      return before(left) * (b.imm(before.dtype(), 1) - weight) + before(right) * weight;
    });
  }
  if (x.tensor == 0) x = b.stage("out", to, [&](auto i) { return b.input(0)(i); });
  b.output(x);
  return {};
}

}  // namespace

OpDef resize() {
  OpDef d;
  d.name = "resize";
  d.doc =
      "Resampling to a shape, axis by axis: out[i] = x at coordinate(i), nearest element or linear "
      "between its neighbours; "
      "coordinate(i) = (i + 1/2) * from / to - 1/2 (half_pixel), i * from / to (asymmetric) or i * "
      "(from - 1) / (to - 1) "
      "(align_corners); nearest rounds halves down, asymmetric rounds down.";
  d.attrs = {{"shape", AttrKind::ints, "extents of the result", {}},
             {"mode", AttrKind::string, "nearest or linear", std::string("nearest")},
             {"coordinates", AttrKind::string, "half_pixel, asymmetric or align_corners",
              std::string("half_pixel")}};
  d.fusion = FusionKind::injective;
  d.infer = resize_type;
  d.compute = resize_compute;
  return d;
}

}  // namespace tenon::ops
