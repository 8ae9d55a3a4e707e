#include <algorithm>
#include <cmath>

#include "passes/constants.h"
#include "tenon/op.h"
#include "tenon/pass.h"

namespace tenon::passes {
namespace {

/// Ops by name, looked up once per run.
struct Names {
  explicit Names(const OpTable& t)
      : add(t.at("add")),
        sub(t.at("sub")),
        mul(t.at("mul")),
        div(t.at("div")),
        sqrt(t.at("sqrt")),
        erf(t.at("erf")),
        reduce_mean(t.at("reduce_mean")),
        layer_norm(t.at("layer_norm")),
        gelu(t.at("gelu")) {}
  OpId add, sub, mul, div, sqrt, erf, reduce_mean, layer_norm, gelu;
};

bool made_by(Value v, OpId id) { return v.node->op == id; }

/// The first of the last axes that `n`, a mean with kept axes, is taken over; they lie side by
/// side.
std::optional<std::int64_t> tail_of(const Names& op, const Node& n) {
  if (n.op != op.reduce_mean || !n.attrs.get_or("keepdims", false)) return std::nullopt;
  const auto rank = static_cast<std::int64_t>(n.results[0].type.rank());
  auto axes = *n.attrs.get<std::vector<std::int64_t>>("axes");
  for (std::int64_t& a : axes) a += a < 0 ? rank : 0;
  std::ranges::sort(axes);
  const std::int64_t first = axes.empty() ? 0 : axes[0];
  for (std::size_t k = 0; k < axes.size(); ++k)
    if (axes[k] != first + static_cast<std::int64_t>(k)) return std::nullopt;
  const bool to_the_end = axes.empty() || axes.back() == rank - 1;
  return to_the_end && rank > 0 ? std::optional(first) : std::nullopt;
}

// c / sqrt(mean(c * c) + epsilon) with c = x - mean(x), means over the last axes -> layer_norm(x).
// Scale and bias stay the pointwise ops that they are.
std::vector<Value> decomposed_layer_norm(const Names& op, Builder& b, const Node& n) {
  if (n.op != op.div || !made_by(n.operands[0], op.sub) || !made_by(n.operands[1], op.sqrt))
    return {};
  const Value centred = n.operands[0], shifted = n.operands[1].node->operands[0];
  const Value x = centred.node->operands[0], mean = centred.node->operands[1];
  if (!made_by(shifted, op.add) || !made_by(mean, op.reduce_mean)) return {};
  for (std::size_t k = 0; k < 2; ++k) {
    const Value variance = shifted.node->operands[1 - k];
    const auto epsilon = number_of(shifted.node->operands[k]);
    if (!epsilon || !made_by(variance, op.reduce_mean)) continue;
    const Value square = variance.node->operands[0];
    if (!made_by(square, op.mul) || square.node->operands[0] != centred ||
        square.node->operands[1] != centred || mean.node->operands[0] != x)
      continue;
    const auto axis = tail_of(op, *mean.node);
    if (!axis || axis != tail_of(op, *variance.node) || x.type() != n.results[0].type ||
        variance.type() != shifted.type())
      continue;
    return {b.make(op.layer_norm, {x}, {{"axis", *axis}, {"epsilon", *epsilon}}, n.loc)};
  }
  return {};
}

/// The factors of a product of products, at most four.
std::vector<Value> factors_of(const Names& op, const Node& n) {
  std::vector<Value> factors(n.operands.begin(), n.operands.end());
  for (std::size_t k = 0; k < factors.size();) {
    if (!made_by(factors[k], op.mul) || factors.size() >= 4) {
      ++k;
      continue;
    }
    const Node& product = *factors[k].node;
    factors[k] = product.operands[0];
    factors.push_back(product.operands[1]);
  }
  return factors;
}

/// x, when `v` is 1 + erf(x / sqrt(2)) or 1 + erf(x * sqrt(1/2)).
std::optional<Value> twice_the_normal_distribution(const Names& op, Value v) {
  if (!made_by(v, op.add)) return std::nullopt;
  for (std::size_t k = 0; k < 2; ++k) {
    const Value e = v.node->operands[k];
    if (!made_by(e, op.erf) || !all_elements(constant_of(v.node->operands[1 - k]), 1)) continue;
    const Node& scaled = *e.node->operands[0].node;
    const auto is = [](std::optional<double> c, double want) {
      return c && std::abs(*c - want) <= 1e-7 * want;
    };
    if (scaled.op == op.div && is(number_of(scaled.operands[1]), std::sqrt(2.0)))
      return scaled.operands[0];
    for (std::size_t i = 0; scaled.op == op.mul && i < 2; ++i)
      if (is(number_of(scaled.operands[i]), std::sqrt(0.5))) return scaled.operands[1 - i];
  }
  return std::nullopt;
}

// x * 1/2 * (1 + erf(x / sqrt(2))), multiplied in any order -> gelu(x).
std::vector<Value> decomposed_gelu(const Names& op, Builder& b, const Node& n) {
  if (n.op != op.mul) return {};
  const std::vector<Value> factors = factors_of(op, n);
  if (factors.size() != 3) return {};
  for (std::size_t k = 0; k < 3; ++k) {
    const auto x = twice_the_normal_distribution(op, factors[k]);
    if (!x || x->type() != n.results[0].type) continue;
    const Value one = factors[(k + 1) % 3], other = factors[(k + 2) % 3];
    const bool half = all_elements(constant_of(one), 0.5),
               swapped = all_elements(constant_of(other), 0.5);
    if ((half && other == *x) || (swapped && one == *x)) return {b.make(op.gelu, {*x}, {}, n.loc)};
  }
  return {};
}

/// Before: %1 = erf(%0 / 1.41421)  %2 = add(%1, 1)  %3 = mul(%0, %2)  %4 = mul(%3, 0.5)
/// After:  %4 = gelu(%0)
/// Law: a group of ops whose formula is that of one op of the table is that op; results may differ
/// by the rounding of a few operations.
/// Cost: one walk, O(nodes * rules).
/// Not here: spellings that `simplify` makes equal (powers as products): it runs before.
Status run(Module& m, PassContext& ctx) {
  const Names op(m.ops());
  std::int64_t raised = 0;
  const auto counted = [&](auto rule) {
    return [&op, &raised, rule](Builder& b, const Node& n) {
      auto v = rule(op, b, n);
      raised += !v.empty();
      return v;
    };
  };
  const Rule rules[] = {counted(decomposed_layer_norm), counted(decomposed_gelu)};
  rewrite(m, rules);
  remove_dead(m);
  ctx.count("ops raised", raised);
  return {};
}

}  // namespace

PassInfo raise_ops() {
  return {.id = "tenon.raise-ops",
          .doc = "Groups of ops that are one op of the table: layer norm, GELU.",
          .needs = {},
          .gives = {},
          .destroys = {},
          .options = {},
          .run = run};
}

}  // namespace tenon::passes
