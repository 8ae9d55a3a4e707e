// Elementwise ops that Tenon has by the same meaning.
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
                     *k_min = "min", *k_max = "max", *k_equal = "equal", *k_less = "less",
                     *k_greater = "greater", *k_greater_equal = "greater_equal",
                     *k_less_equal = "less_equal", *k_and = "logical_and", *k_or = "logical_or";

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
    OpRow{"Equal", 2, 2, map2<k_equal>},
    OpRow{"Less", 2, 2, map2<k_less>},
    OpRow{"Greater", 2, 2, map2<k_greater>},
    OpRow{"GreaterOrEqual", 2, 2, map2<k_greater_equal>},
    OpRow{"LessOrEqual", 2, 2, map2<k_less_equal>},
    OpRow{"And", 2, 2, map2<k_and>},
    OpRow{"Or", 2, 2, map2<k_or>},
    OpRow{"Sum", 1, any, fold<k_add>},
    OpRow{"Min", 1, any, fold<k_min>},
    OpRow{"Max", 1, any, fold<k_max>},
};

}  // namespace

std::span<const OpRow> math_rows() { return table; }

}  // namespace tenon::onnx_import
