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

bool is_byte(DType t) { return t == DType::u8 || t == DType::i8; }

Diag misfit(NodeImport& n, std::size_t i, std::string_view wanted) {
  return n.fail(fmt::format("input {} ({}) is not {}", i, to_string(n.in(i).type()), wanted));
}

bool is_one(const Shape& s) {
  return std::ranges::all_of(s, [](std::int64_t d) { return d == 1; });
}

/// A scale or zero point of a whole tensor.
Result<Term> one_number(NodeImport& n, Steps& step, std::size_t i) {
  if (!is_one(n.shape(i))) return misfit(n, i, "one number");
  return step.reshape(step.in(i), {});
}

/// A scale or zero point of operand `of` of a product: one number, or one per row of a left
/// operand, per column of a right one, as a vector or in the operand's own rank.
Result<Term> per_line(NodeImport& n, Steps& step, std::size_t i, std::size_t of, bool rows) {
  const Shape s = n.shape(i);
  if (is_one(s)) return step.reshape(step.in(i), {});
  const std::vector<Dim>& dims = n.in(of).type().dims;
  const std::size_t rank = dims.size(), line = rows ? rank - 2 : rank - 1;
  const auto fits = [&](std::size_t axis, std::int64_t size) {
    return !dims[axis].is_static() || dims[axis].value() == size;
  };
  if (rank >= 2 && s.size() == 1 && fits(line, s[0]))
    return rows ? step.reshape(step.in(i), {s[0], 1}) : step.in(i);
  bool in_its_rank = rank >= 2 && s.size() == rank;
  for (std::size_t d = 0; in_its_rank && d < rank; ++d)
    in_its_rank = s[d] == 1 || (d != (rows ? rank - 1 : rank - 2) && fits(d, s[d]));
  if (in_its_rank) return step.in(i);
  return misfit(n, i,
                fmt::format("one number, nor one per {} of input {} ({})", rows ? "row" : "column",
                            of, to_string(n.in(of).type())));
}

/// A scale or zero point of weights: one number, or one per output channel, the first axis of input
/// `weights`; along axis `axis` of a tensor of their rank.
Result<Term> per_channel(NodeImport& n, Steps& step, std::size_t i, std::size_t weights,
                         std::size_t axis) {
  const Shape s = n.shape(i), w = n.shape(weights);
  if (is_one(s)) return step.reshape(step.in(i), {});
  if (s.size() != 1 || w.empty() || s[0] != w[0])
    return misfit(n, i,
                  fmt::format("one number, nor one per output channel of input {} ({})", weights,
                              to_string(n.in(weights).type())));
  Shape per(w.size(), 1);
  per[axis] = s[0];
  return step.reshape(step.in(i), per);
}

/// Input `i` as the zero point of operand `of`, whose type it has; none where it is not given.
template <class Shaped>
Result<Term> zero_point(NodeImport& n, Steps& step, std::size_t i, std::size_t of, Shaped shaped) {
  if (!n.has(i)) return Term{&step, {}};
  if (n.in(i).type().dtype != n.in(of).type().dtype)
    return misfit(n, i,
                  fmt::format("of the type of input {} ({})", of, to_string(n.in(of).type())));
  return shaped();
}

/// The product of integers of operands `a` and `b`, with zero points at `a_zero` and `b_zero`.
Result<Term> integer_product(NodeImport& n, Steps& step, std::size_t a, std::size_t a_zero,
                             std::size_t b, std::size_t b_zero) {
  for (const std::size_t i : {a, b})
    if (!is_byte(n.in(i).type().dtype)) return misfit(n, i, "of u8 or i8");
  auto x = zero_point(n, step, a_zero, a, [&] { return per_line(n, step, a_zero, a, true); });
  auto y = zero_point(n, step, b_zero, b, [&] { return per_line(n, step, b_zero, b, false); });
  if (!x) return x.errors();
  if (!y) return y.errors();
  return step("matmul", {centred(step, step.in(a), *x), centred(step, step.in(b), *y)});
}

Outputs matmul_integer(NodeImport& n) {
  Steps step(n);
  auto sum = integer_product(n, step, 0, 2, 1, 3);
  if (!sum) return sum.errors();
  return step.done({*sum});
}

Outputs qlinear_matmul(NodeImport& n) {
  Steps step(n);
  const DType to = n.in(7).type().dtype;
  if (!limits_of(to)) return n.fail(fmt::format("quantises to {}", name(to)));
  auto sum = integer_product(n, step, 0, 2, 3, 5);
  if (!sum) return sum.errors();
  auto x_scale = per_line(n, step, 1, 0, true), y_scale = per_line(n, step, 4, 3, false),
       scale = one_number(n, step, 6), zero = one_number(n, step, 7);
  for (const auto* t : {&x_scale, &y_scale, &scale, &zero})
    if (!*t) return t->errors();
  const Term y = step.cast(*sum, n.in(1).type().dtype);
  return step.done({quantised(step, y * (*x_scale * *y_scale), *scale, *zero, to)});
}

/// The convolution of integers of data `x` and weights `w`, with zero points at `x_zero` and
/// `w_zero`.
Result<Term> integer_convolution(NodeImport& n, Steps& step, std::size_t x, std::size_t x_zero,
                                 std::size_t w, std::size_t w_zero, Value bias) {
  for (const std::size_t i : {x, w})
    if (!is_byte(n.in(i).type().dtype)) return misfit(n, i, "of u8 or i8");
  auto of_data = zero_point(n, step, x_zero, x, [&] { return one_number(n, step, x_zero); });
  auto of_weights =
      zero_point(n, step, w_zero, w, [&] { return per_channel(n, step, w_zero, w, 0); });
  if (!of_data) return of_data.errors();
  if (!of_weights) return of_weights.errors();
  const Term data = centred(step, step.in(x), *of_data),
             weights = centred(step, step.in(w), *of_weights);
  if (!data.v || !weights.v) return step.done({}).errors();
  auto sum = convolution(n, data.v, weights.v, bias);
  if (!sum) return sum.errors();
  return step.of(*sum);
}

Outputs conv_integer(NodeImport& n) {
  Steps step(n);
  auto sum = integer_convolution(n, step, 0, 2, 1, 3, {});
  if (!sum) return sum.errors();
  return step.done({*sum});
}

Outputs qlinear_conv(NodeImport& n) {
  Steps step(n);
  const DType to = n.in(7).type().dtype;
  if (!limits_of(to)) return n.fail(fmt::format("quantises to {}", name(to)));
  auto sum = integer_convolution(n, step, 0, 2, 3, 5, n.has(8) ? n.in(8) : Value{});
  if (!sum) return sum.errors();
  auto x_scale = one_number(n, step, 1), w_scale = per_channel(n, step, 4, 3, 1),
       scale = one_number(n, step, 6), zero = one_number(n, step, 7);
  for (const auto* t : {&x_scale, &w_scale, &scale, &zero})
    if (!*t) return t->errors();
  const Term y = step.cast(*sum, n.in(1).type().dtype);
  return step.done({quantised(step, y * (*x_scale * *w_scale), *scale, *zero, to)});
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
