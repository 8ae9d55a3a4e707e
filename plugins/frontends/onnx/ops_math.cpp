// Elementwise ops and reductions.
#include <fmt/format.h>

#include <array>

#include "plugins/frontends/onnx/importer.h"
#include "plugins/frontends/onnx/model_file.h"

namespace tenon::onnx_import {
namespace {

template <const char* const& Name>
Outputs map1(NodeImport& n) {
  return one(n.op(Name, {n.in(0)}));
}
template <const char* const& Name>
Outputs map2(NodeImport& n) {
  return one(n.op(Name, {n.in(0), n.in(1)}));
}
/// Any number of inputs, folded from the left.
template <const char* const& Name>
Outputs fold(NodeImport& n) {
  Value acc = n.in(0);
  for (std::size_t i = 1; i < n.n_inputs(); ++i) {
    auto v = n.op(Name, {acc, n.in(i)});
    if (!v) return v.errors();
    acc = *v;
  }
  if (n.n_inputs() == 1) return one(n.op("identity", {acc}));
  return std::vector<Value>{acc};
}

constexpr const char *k_abs = "abs", *k_neg = "neg", *k_exp = "exp", *k_log = "log",
                     *k_sqrt = "sqrt", *k_tanh = "tanh", *k_erf = "erf", *k_sigmoid = "sigmoid",
                     *k_sin = "sin", *k_cos = "cos", *k_floor = "floor", *k_ceil = "ceil",
                     *k_round = "round", *k_relu = "relu", *k_not = "logical_not",
                     *k_identity = "identity", *k_add = "add", *k_sub = "sub", *k_mul = "mul",
                     *k_div = "div", *k_pow = "pow", *k_min = "min", *k_max = "max",
                     *k_equal = "equal", *k_less = "less", *k_greater = "greater",
                     *k_and = "logical_and", *k_or = "logical_or";

// Integer division truncates in ONNX and rounds down in Tenon: equal for operands of one sign, so
// only floats are taken.
Outputs div(NodeImport& n) {
  if (!is_float(n.in(0).type().dtype) && !(constant_of(n.in(0)) && constant_of(n.in(1))))
    return n.fail("division of integers that are not constants is not supported",
                  "cast to float around it");
  return map2<k_div>(n);
}

Outputs reciprocal(NodeImport& n) {
  return one(n.op("div", {n.constant_real(n.in(0).type().dtype, 1), n.in(0)}));
}

Outputs leaky_relu(NodeImport& n) {
  return one(n.op("leaky_relu", {n.in(0)}, {{"alpha", n.real("alpha", 0.01)}}));
}

Outputs hard_sigmoid(NodeImport& n) {
  return one(n.op("hard_sigmoid", {n.in(0)},
                  {{"alpha", n.real("alpha", 0.2)}, {"beta", n.real("beta", 0.5)}}));
}

// Bounds are attributes before opset 11 and optional inputs since; run-time bounds become min and
// max.
Outputs clip(NodeImport& n) {
  constexpr double inf = std::numeric_limits<double>::infinity();
  double lo = n.real("min", -inf), hi = n.real("max", inf);
  Value x = n.in(0);
  for (std::size_t i = 1; i <= 2; ++i) {
    if (!n.has(i)) continue;
    if (auto c = n.const_reals(i); c && c->size() == 1) {
      (i == 1 ? lo : hi) = (*c)[0];
      continue;
    }
    auto v = n.op(i == 1 ? "max" : "min", {x, n.in(i)});
    if (!v) return v.errors();
    x = *v;
  }
  return one(n.op("clip", {x}, {{"min", lo}, {"max", hi}}));
}

Outputs cast(NodeImport& n) {
  auto to = dtype_of_onnx(static_cast<int>(n.integer("to", 0)));
  if (!to)
    return n.fail(
        fmt::format("casts to element type {}, which is not supported", n.integer("to", 0)));
  return one(n.op("cast", {n.in(0)}, {{"to", *to}}));
}

Outputs where(NodeImport& n) { return one(n.op("where", {n.in(0), n.in(1), n.in(2)})); }

/// Axes are an attribute, or an input since opset 18 (13 for sums).
template <const char* const& Name>
Outputs reduce(NodeImport& n) {
  std::optional<std::vector<std::int64_t>> axes = n.ints("axes");
  if (n.has(1)) {
    axes = n.const_ints(1);
    if (!axes) return n.fail("the axes are computed at run time", "make them constant");
  }
  if ((!axes || axes->empty()) && n.integer("noop_with_empty_axes", 0) != 0)
    return one(n.op("identity", {n.in(0)}));
  std::vector<std::int64_t> all;
  if (!axes || axes->empty())
    for (std::int64_t i = 0; i < n.rank(0); ++i) all.push_back(i);
  else
    for (std::int64_t a : *axes) {
      auto k = axis_in(a, n.rank(0));
      if (!k) return n.fail(fmt::format("axis {} is outside rank {}", a, n.rank(0)));
      all.push_back(*k);
    }
  return one(n.op(Name, {n.in(0)}, {{"axes", all}, {"keepdims", n.integer("keepdims", 1) != 0}}));
}
constexpr const char *k_rsum = "reduce_sum", *k_rmean = "reduce_mean", *k_rmax = "reduce_max",
                     *k_rmin = "reduce_min", *k_rprod = "reduce_prod";

// Before opset 13 softmax flattens to two axes at `axis` (default 1); since then it works along one
// (default -1).
template <const char* const& Name>
Outputs softmax(NodeImport& n) {
  const bool flat = n.opset < 13;
  auto axis = axis_in(n.integer("axis", flat ? 1 : -1), n.rank(0));
  if (!axis)
    return n.fail(
        fmt::format("axis {} is outside rank {}", n.integer("axis", flat ? 1 : -1), n.rank(0)));
  if (!flat || *axis == n.rank(0) - 1) return one(n.op(Name, {n.in(0)}, {{"axis", *axis}}));
  const Shape shape = n.shape(0);
  std::int64_t outer = 1, inner = 1;
  for (std::size_t i = 0; i < shape.size(); ++i)
    (static_cast<std::int64_t>(i) < *axis ? outer : inner) *= shape[i];
  auto rows = n.reshape(n.in(0), {outer, inner});
  if (!rows) return rows.errors();
  auto soft = n.op(Name, {*rows}, {{"axis", std::int64_t{1}}});
  if (!soft) return soft.errors();
  return one(n.reshape(*soft, shape));
}
constexpr const char *k_softmax = "softmax", *k_log_softmax = "log_softmax";

constexpr std::size_t any = SIZE_MAX;
constexpr std::array table{
    OpRow{"Abs", 1, 1, map1<k_abs>},
    OpRow{"Neg", 1, 1, map1<k_neg>},
    OpRow{"Exp", 1, 1, map1<k_exp>},
    OpRow{"Log", 1, 1, map1<k_log>},
    OpRow{"Sqrt", 1, 1, map1<k_sqrt>},
    OpRow{"Tanh", 1, 1, map1<k_tanh>},
    OpRow{"Erf", 1, 1, map1<k_erf>},
    OpRow{"Sigmoid", 1, 1, map1<k_sigmoid>},
    OpRow{"Sin", 1, 1, map1<k_sin>},
    OpRow{"Cos", 1, 1, map1<k_cos>},
    OpRow{"Floor", 1, 1, map1<k_floor>},
    OpRow{"Ceil", 1, 1, map1<k_ceil>},
    OpRow{"Round", 1, 1, map1<k_round>},
    OpRow{"Relu", 1, 1, map1<k_relu>},
    OpRow{"Not", 1, 1, map1<k_not>},
    OpRow{"Identity", 1, 1, map1<k_identity>},
    OpRow{"Reciprocal", 1, 1, reciprocal},
    OpRow{"LeakyRelu", 1, 1, leaky_relu},
    OpRow{"HardSigmoid", 1, 1, hard_sigmoid},
    OpRow{"Clip", 1, 3, clip},
    OpRow{"Cast", 1, 1, cast},
    OpRow{"Where", 3, 3, where},
    OpRow{"Add", 2, 2, map2<k_add>},
    OpRow{"Sub", 2, 2, map2<k_sub>},
    OpRow{"Mul", 2, 2, map2<k_mul>},
    OpRow{"Div", 2, 2, div},
    OpRow{"Pow", 2, 2, map2<k_pow>},
    OpRow{"Equal", 2, 2, map2<k_equal>},
    OpRow{"Less", 2, 2, map2<k_less>},
    OpRow{"Greater", 2, 2, map2<k_greater>},
    OpRow{"And", 2, 2, map2<k_and>},
    OpRow{"Or", 2, 2, map2<k_or>},
    OpRow{"Sum", 1, any, fold<k_add>},
    OpRow{"Min", 1, any, fold<k_min>},
    OpRow{"Max", 1, any, fold<k_max>},
    OpRow{"ReduceSum", 1, 2, reduce<k_rsum>},
    OpRow{"ReduceMean", 1, 2, reduce<k_rmean>},
    OpRow{"ReduceMax", 1, 2, reduce<k_rmax>},
    OpRow{"ReduceMin", 1, 2, reduce<k_rmin>},
    OpRow{"ReduceProd", 1, 2, reduce<k_rprod>},
    OpRow{"Softmax", 1, 1, softmax<k_softmax>},
    OpRow{"LogSoftmax", 1, 1, softmax<k_log_softmax>},
};

}  // namespace

std::span<const OpRow> math_rows() { return table; }

}  // namespace tenon::onnx_import
