// Quantised tensors, computed as what they mean: real = (q - zero point) * scale. Products of
// quantised operands are integer products, as ONNX says.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>

#include "plugins/frontends/onnx/steps.h"

namespace tenon::onnx_import {
namespace {

struct Limits {
  double low, high;
};
std::optional<Limits> limits_of(DType t) {
  if (t == DType::u8) return Limits{0, 255};
  if (t == DType::i8) return Limits{-128, 127};
  if (t == DType::u16) return Limits{0, 65535};
  if (t == DType::i16) return Limits{-32768, 32767};
  return std::nullopt;
}

bool is_zero(Term t) {
  if (!t.v) return true;
  const auto v = reals_of(constant_of(t.v));
  if (!v) return false;
  for (double x : *v)
    if (x != 0) return false;
  return true;
}

/// A scale or zero point against its tensor: one for all, or one per element of `axis`.
Result<Term> along(NodeImport& n, Steps& step, std::size_t operand, std::size_t tensor,
                   std::int64_t axis) {
  const Shape of = n.shape(operand), shape = n.shape(tensor);
  if (of.empty() || (of.size() == 1 && of[0] == 1 && shape.size() != 1))
    return step.reshape(step.in(operand), {});
  auto k = axis_in(axis, n.rank(tensor));
  if (!k || of.size() != 1 || of[0] != shape[static_cast<std::size_t>(*k)])
    return n.fail(fmt::format("input {} ({}) is neither one number nor one per element of axis {}",
                              operand, to_string(n.in(operand).type()), axis),
                  "blocked quantisation is not supported");
  Shape to(shape.size(), 1);
  to[static_cast<std::size_t>(*k)] = of[0];
  return step.reshape(step.in(operand), to);
}

/// saturate(round(x / scale) + zero); halves to even.
Term quantised(Steps& step, Term x, Term scale, Term zero, DType to) {
  const Limits range = *limits_of(to);
  Term q = step("round", {x / scale});
  if (!is_zero(zero)) q = q + step.cast(zero, x.dtype());
  return step.cast(clip(q, range.low, range.high), to);
}

/// q - zero, as 32-bit integers.
Term centred(Steps& step, Term q, Term zero) {
  const Term wide = step.cast(q, DType::i32);
  return is_zero(zero) ? wide : wide - step.cast(zero, DType::i32);
}

Outputs quantize(NodeImport& n) {
  Steps step(n);
  const std::int64_t axis = n.integer("axis", 1);
  auto scale = along(n, step, 1, 0, axis);
  if (!scale) return scale.errors();
  DType to = DType::u8;
  Term zero{&step, {}};
  if (n.has(2)) {
    auto z = along(n, step, 2, 0, axis);
    if (!z) return z.errors();
    zero = *z;
    to = n.in(2).type().dtype;
  }
  if (!limits_of(to) || n.integer("output_dtype", 0) != 0 || n.integer("block_size", 0) != 0)
    return n.fail(fmt::format("quantises to {}", name(to)), "8 and 16 bits are supported");
  return step.done({quantised(step, step.in(0), *scale, zero, to)});
}

Outputs dequantize(NodeImport& n) {
  Steps step(n);
  const std::int64_t axis = n.integer("axis", 1);
  auto scale = along(n, step, 1, 0, axis);
  if (!scale) return scale.errors();
  Term zero{&step, {}};
  if (n.has(2)) {
    auto z = along(n, step, 2, 0, axis);
    if (!z) return z.errors();
    zero = *z;
  }
  if (n.integer("block_size", 0) != 0) return n.fail("blocked quantisation is not supported");
  return step.done({step.cast(centred(step, step.in(0), zero), scale->dtype()) * *scale});
}

// A range that holds 0, so that 0 has a number of its own; all zeros have the scale 1.
Outputs dynamic_quantize(NodeImport& n) {
  Steps step(n);
  const Term x = step.in(0);
  const Term low = min(step("reduce_min", {x}), 0.0), high = max(step("reduce_max", {x}), 0.0);
  const Term span = (high - low) / 255.0;
  const Term scale = where(equal(span, 0.0), 1.0, span);
  const Term zero = step.cast(clip(step("round", {-low / scale}), 0, 255), DType::u8);
  return step.done({quantised(step, x, scale, zero, DType::u8), scale, zero});
}

/// Zero points of a left operand count its rows, of a right one its columns.
Term zero_of(NodeImport& n, Steps& step, std::size_t i, bool rows) {
  if (!n.has(i)) return {&step, {}};
  const Shape s = n.shape(i);
  if (rows && s.size() == 1 && s[0] > 1) return step.reshape(step.in(i), {s[0], 1});
  return s.size() == 1 && s[0] == 1 ? step.reshape(step.in(i), {}) : step.in(i);
}

/// The zero point of weights: one, or one per output channel, their first axis.
Term weight_zero(NodeImport& n, Steps& step, std::size_t i, std::size_t weights) {
  if (!n.has(i) || n.shape(i).empty()) return n.has(i) ? step.in(i) : Term{&step, {}};
  Shape per(n.shape(weights).size(), 1);
  per[0] = n.shape(i)[0];
  return step.reshape(step.in(i), per);
}

Term integer_product(Steps& step, Term a, Term a_zero, Term b, Term b_zero) {
  return step("matmul", {centred(step, a, a_zero), centred(step, b, b_zero)});
}

Outputs matmul_integer(NodeImport& n) {
  if (bits(n.in(0).type().dtype) != 8 || bits(n.in(1).type().dtype) != 8)
    return n.fail(
        fmt::format("multiplies {} and {}", name(n.in(0).type().dtype), name(n.in(1).type().dtype)),
        "8 bits are supported");
  Steps step(n);
  return step.done({integer_product(step, step.in(0), zero_of(n, step, 2, true), step.in(1),
                                    zero_of(n, step, 3, false))});
}

Outputs qlinear_matmul(NodeImport& n) {
  const DType to = n.in(7).type().dtype;
  if (!limits_of(to) || bits(n.in(0).type().dtype) != 8 || bits(n.in(3).type().dtype) != 8)
    return n.fail(fmt::format("quantises to {}", name(to)), "8 bits are supported");
  Steps step(n);
  const Term sum = integer_product(step, step.in(0), zero_of(n, step, 2, true), step.in(3),
                                   zero_of(n, step, 5, false));
  const Term y = step.cast(sum, n.in(1).type().dtype);
  const Term scale = zero_of(n, step, 1, true) * zero_of(n, step, 4, false);
  return step.done({quantised(step, y * scale, step.in(6), step.in(7), to)});
}

Outputs conv_integer(NodeImport& n) {
  Steps step(n);
  const Term x = centred(step, step.in(0), zero_of(n, step, 2, false)),
             w = centred(step, step.in(1), weight_zero(n, step, 3, 1));
  if (!x.v || !w.v) return step.done({});
  return one(convolution(n, x.v, w.v, {}));
}

Outputs qlinear_conv(NodeImport& n) {
  const DType to = n.in(7).type().dtype;
  if (!limits_of(to)) return n.fail(fmt::format("quantises to {}", name(to)));
  Steps step(n);
  const Term x = centred(step, step.in(0), zero_of(n, step, 2, false)),
             w = centred(step, step.in(3), weight_zero(n, step, 5, 3));
  if (!x.v || !w.v) return step.done({});
  auto sum = convolution(n, x.v, w.v, n.has(8) ? n.in(8) : Value{});
  if (!sum) return sum.errors();
  Term scale = step.in(4);  // of the weights: one, or one per output channel
  if (n.shape(4).size() == 1) {
    Shape per(n.shape(0).size(), 1);
    per[1] = n.shape(4)[0];
    scale = step.reshape(scale, per);
  }
  const Term y = step.cast(step.of(*sum), n.in(1).type().dtype);
  return step.done({quantised(step, y * (step.in(1) * scale), step.in(6), step.in(7), to)});
}

constexpr std::array table{
    OpRow{"QuantizeLinear", 2, 3, quantize},
    OpRow{"DequantizeLinear", 2, 3, dequantize},
    OpRow{"DynamicQuantizeLinear", 1, 1, dynamic_quantize},
    OpRow{"MatMulInteger", 2, 4, matmul_integer},
    OpRow{"QLinearMatMul", 8, 8, qlinear_matmul},
    OpRow{"ConvInteger", 2, 4, conv_integer},
    OpRow{"QLinearConv", 8, 9, qlinear_conv},
};

}  // namespace

std::span<const OpRow> quantised_rows() { return table; }

}  // namespace tenon::onnx_import
