#include <algorithm>
#include <cmath>
#include <numeric>
#include <unordered_set>

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
        gelu(t.at("gelu")),
        matmul(t.at("matmul")),
        softmax(t.at("softmax")),
        transpose(t.at("transpose")),
        where(t.at("where")),
        attention(t.at("attention")) {}
  OpId add, sub, mul, div, sqrt, erf, reduce_mean, layer_norm, gelu, matmul, softmax, transpose,
      where, attention;
};

bool made_by(Value v, OpId id) { return v.node->op == id; }

/// How often values were used before the pass; rewriting keeps their ids.
class UseCounts {
 public:
  explicit UseCounts(const Function& f) {
    const Uses uses(f);
    const auto count = [&](const Node& n) {
      for (std::uint32_t k = 0; k < n.results.size(); ++k)
        if (uses.count({&n, k}) == 1) once_.insert(Value{&n, k}.id());
    };
    for_each_node(f, count);
  }
  bool once(Value v) const { return once_.contains(v.id()); }

 private:
  std::unordered_set<ValueId> once_;
};

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

/// `v` with its last two axes swapped; the operand of `v`, where `v` is just that swap.
Value with_rows_as_columns(const Names& op, Builder& b, Value v, const Loc& at) {
  std::vector<std::int64_t> perm(v.type().rank());
  std::iota(perm.begin(), perm.end(), 0);
  const bool transposed = made_by(v, op.transpose);
  if (transposed) perm = *v.node->attrs.get<std::vector<std::int64_t>>("perm");
  const Value from = transposed ? v.node->operands[0] : v;
  std::swap(perm[perm.size() - 1], perm[perm.size() - 2]);
  return std::ranges::is_sorted(perm) ? from : b.make(op.transpose, {from}, {{"perm", perm}}, at);
}

/// What becomes a score: q k^T, times `scale`, then masked. Steps back from the softmax.
struct Scores {
  const Node* product = nullptr;
  double scale = 1;
  Value mask;
  std::optional<double> masked;  // by a boolean mask
};

std::optional<Scores> scores_of(const Names& op, const UseCounts& uses, Value v) {
  Scores s;
  const TensorType& type = v.type();
  const auto inner = [&](Value x) {
    return uses.once(x) && x.type() == type &&
           (made_by(x, op.matmul) || made_by(x, op.mul) || made_by(x, op.div));
  };
  if (!uses.once(v)) return std::nullopt;
  const Node& n = *v.node;
  if (made_by(v, op.where)) {
    s.masked = number_of(n.operands[2]);
    if (!s.masked || !inner(n.operands[1])) return std::nullopt;
    s.mask = n.operands[0];
    v = n.operands[1];
  } else if (made_by(v, op.add)) {
    const bool first = inner(n.operands[0]);
    if (!first && !inner(n.operands[1])) return std::nullopt;
    s.mask = n.operands[first ? 1 : 0];
    v = n.operands[first ? 0 : 1];
  }
  const auto number_beside = [&](std::size_t k) { return number_of(v.node->operands[1 - k]); };
  if (made_by(v, op.mul) || made_by(v, op.div)) {
    const bool division = made_by(v, op.div);
    const std::size_t k = division || number_beside(0) ? 0 : 1;
    const auto by = number_beside(k);
    if (!by || !inner(v.node->operands[k])) return std::nullopt;
    s.scale = division ? 1 / *by : *by;
    v = v.node->operands[k];
  }
  if (!made_by(v, op.matmul)) return std::nullopt;
  s.product = v.node;
  return s;
}

// softmax(q k^T * scale + mask) v, the softmax over rows -> attention(q, k, v, mask); a mask by
// `where` is boolean. Scores that somebody else sees stay.
std::vector<Value> decomposed_attention(const Names& op, const UseCounts& uses, Builder& b,
                                        const Node& n) {
  if (n.op != op.matmul || !made_by(n.operands[0], op.softmax) || !uses.once(n.operands[0]))
    return {};
  const Node& softmax = *n.operands[0].node;
  const auto rank = static_cast<std::int64_t>(softmax.results[0].type.rank());
  const std::int64_t axis = softmax.attrs.get_or("axis", std::int64_t{-1});
  if (axis != -1 && axis != rank - 1) return {};
  const auto scores = scores_of(op, uses, softmax.operands[0]);
  if (!scores) return {};
  const Value q = scores->product->operands[0], k = scores->product->operands[1], v = n.operands[1];
  for (Value x : {q, k, v})
    if (x.type().rank() < 2 || !is_float(x.type().dtype)) return {};
  std::vector<Value> operands{q, with_rows_as_columns(op, b, k, n.loc), v};
  Attrs attrs{{"scale", scores->scale}};
  if (scores->mask) operands.push_back(scores->mask);
  if (scores->masked) attrs.set("masked", *scores->masked);
  return {b.make(op.attention, std::move(operands), std::move(attrs), n.loc)};
}

/// Before: %1 = erf(%0 / 1.41421)  %2 = add(%1, 1)  %3 = mul(%0, %2)  %4 = mul(%3, 0.5)
/// After:  %4 = gelu(%0)
/// Law: a group of ops whose formula is that of one op of the table is that op; results may differ
/// by the rounding of a few operations. A value that something else uses is still made, but for
/// the scores of an attention: where they are used, nothing is raised.
/// Cost: one walk, O(nodes * rules).
/// Not here: spellings that `simplify` makes equal (powers as products): it runs before.
Status run(Module& m, PassContext& ctx) {
  const Names op(m.ops());
  std::int64_t raised = 0;
  for (Function& f : m.functions) {
    if (!f.body.entry) continue;
    const UseCounts uses(f);
    const auto counted = [&](auto rule) {
      return [&raised, rule](Builder& b, const Node& n) {
        auto v = rule(b, n);
        raised += !v.empty();
        return v;
      };
    };
    const Rule rules[] = {
        counted([&](Builder& b, const Node& n) { return decomposed_layer_norm(op, b, n); }),
        counted([&](Builder& b, const Node& n) { return decomposed_gelu(op, b, n); }),
        counted([&](Builder& b, const Node& n) { return decomposed_attention(op, uses, b, n); })};
    rewrite(m, f, rules);
  }
  remove_dead(m);
  ctx.count("ops raised", raised);
  return {};
}

}  // namespace

PassInfo raise_ops() {
  return {.id = "tenon.raise-ops",
          .doc = "Groups of ops that are one op of the table: layer norm, GELU, attention.",
          .needs = {},
          .gives = {},
          .destroys = {},
          .options = {},
          .run = run};
}

}  // namespace tenon::passes
