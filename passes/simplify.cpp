#include <algorithm>
#include <cstring>
#include <optional>

#include "passes/constants.h"
#include "tenon/op.h"
#include "tenon/pass.h"
#include "tenon/rewrite.h"

namespace tenon::passes {
namespace {

/// Ops by name, looked up once per run.
struct Names {
  explicit Names(const OpTable& t)
      : add(t.at("add")),
        sub(t.at("sub")),
        mul(t.at("mul")),
        div(t.at("div")),
        identity(t.at("identity")),
        cast(t.at("cast")),
        relu(t.at("relu")),
        reshape(t.at("reshape")),
        transpose(t.at("transpose")),
        concat(t.at("concat")),
        pad(t.at("pad")),
        full(t.at("full")),
        pow(t.at("pow")),
        gather(t.at("gather")),
        slice(t.at("slice")) {}
  OpId add, sub, mul, div, identity, cast, relu, reshape, transpose, concat, pad, full, pow, gather,
      slice;
};

bool is_zeros(const Names& op, Value v) {
  if (v.node->op == op.full) return v.node->attrs.get_or("value", 1.0) == 0.0;
  return all_elements(constant_of(v), 0);
}

// identity(x) -> x ; a cast, reshape or transpose that changes nothing -> x ; concat(x) -> x
std::vector<Value> no_change(const Names& op, const Node& n) {
  if (n.operands.size() != 1 || n.results.size() != 1) return {};
  const Value x = n.operands[0];
  if (n.op == op.identity || n.op == op.concat) return {x};
  if (x.type() != n.results[0].type) return {};
  if (n.op == op.cast || n.op == op.reshape) return {x};
  if (n.op != op.transpose) return {};
  const auto* perm = n.attrs.get<std::vector<std::int64_t>>("perm");
  return perm && std::ranges::is_sorted(*perm) ? std::vector{x} : std::vector<Value>{};
}

// x + 0, x - 0, x * 1, x / 1 -> x, when the shape stays. (x + 0 turns -0 into +0: the one
// difference; it is not observable through comparisons, and x - 0 has none.)
std::vector<Value> neutral(const Names& op, const Node& n) {
  const bool sum = n.op == op.add || n.op == op.sub, product = n.op == op.mul || n.op == op.div;
  if (!sum && !product) return {};
  const bool commutes = n.op == op.add || n.op == op.mul;
  for (std::size_t k = commutes ? 0 : 1; k < 2; ++k) {
    const Value x = n.operands[1 - k];
    if (x.type() == n.results[0].type && all_elements(constant_of(n.operands[k]), sum ? 0 : 1))
      return {x};
  }
  return {};
}

// relu(relu(x)) -> relu(x)
std::vector<Value> relu_relu(const Names& op, const Node& n) {
  if (n.op != op.relu || n.operands[0].node->op != op.relu) return {};
  return {n.operands[0]};
}

// reshape(reshape(x)) -> reshape(x)
std::vector<Value> reshape_reshape(const Names& op, Builder& b, const Node& n) {
  if (n.op != op.reshape || n.operands[0].node->op != op.reshape) return {};
  return {b.make(op.reshape, {n.operands[0].node->operands[0]}, n.attrs, n.loc)};
}

// transpose(transpose(x, p), q) -> transpose(x, p[q])
std::vector<Value> transpose_transpose(const Names& op, Builder& b, const Node& n) {
  if (n.op != op.transpose || n.operands[0].node->op != op.transpose) return {};
  const Node& inner = *n.operands[0].node;
  const auto& p = *inner.attrs.get<std::vector<std::int64_t>>("perm");
  std::vector<std::int64_t> both;
  for (std::int64_t q : *n.attrs.get<std::vector<std::int64_t>>("perm"))
    both.push_back(p[static_cast<std::size_t>(q)]);
  return {b.make(op.transpose, {inner.operands[0]}, {{"perm", both}}, n.loc)};
}

// transpose(x) -> reshape(x) when only axes of one element move past others: the order of the bytes
// stays.
std::vector<Value> transpose_reshape(const Names& op, Builder& b, const Node& n) {
  if (n.op != op.transpose || !n.results[0].type.is_static()) return {};
  const auto& dims = n.operands[0].type().dims;
  std::vector<std::int64_t> moved;
  for (std::int64_t a : *n.attrs.get<std::vector<std::int64_t>>("perm"))
    if (dims[static_cast<std::size_t>(a)] != Dim(1)) moved.push_back(a);
  if (!std::ranges::is_sorted(moved)) return {};
  return {b.make(op.reshape, {n.operands[0]}, {{"shape", n.results[0].type.shape()}}, n.loc)};
}

// concat(x, zeros) -> pad(x) with zeros behind, and concat(zeros, x) likewise in front.
std::vector<Value> concat_zeros(const Names& op, Builder& b, const Node& n) {
  if (n.op != op.concat || n.operands.size() != 2 || !n.results[0].type.is_static()) return {};
  const auto rank = n.results[0].type.rank();
  const auto axis = static_cast<std::size_t>(n.attrs.get_or<std::int64_t>("axis", 0));
  for (std::size_t k = 0; k < 2; ++k) {
    const Value zeros = n.operands[k], x = n.operands[1 - k];
    if (!is_zeros(op, zeros) || constant_of(x)) continue;
    std::vector<std::int64_t> pads(2 * rank, 0);
    pads[axis + (k == 0 ? 0 : rank)] = zeros.type().dims[axis].value();
    return {b.make(op.pad, {x}, {{"pads", pads}, {"value", 0.0}}, n.loc)};
  }
  return {};
}

// pow(x, 1) -> x ; pow(x, 2) -> x * x ; pow(x, 3) -> x * x * x, when the shape stays.
std::vector<Value> small_power(const Names& op, Builder& b, const Node& n) {
  if (n.op != op.pow || n.results[0].type != n.operands[0].type()) return {};
  const Value x = n.operands[0];
  const Constant exponent = constant_of(n.operands[1]);
  if (all_elements(exponent, 1)) return {x};
  if (all_elements(exponent, 2)) return {b.make(op.mul, {x, x}, {}, n.loc)};
  if (!all_elements(exponent, 3)) return {};
  return {b.make(op.mul, {b.make(op.mul, {x, x}, {}, n.loc), x}, {}, n.loc)};
}

/// The first of constant indices k, k + 1, ... that lie inside an axis of `extent`.
std::optional<std::int64_t> consecutive(const Constant& c, std::int64_t extent) {
  if (!c || c->type.dtype != DType::i64 || c->bytes.empty()) return std::nullopt;
  std::optional<std::int64_t> first;
  for (std::size_t i = 0; i * 8 < c->bytes.size(); ++i) {
    std::int64_t k = 0;
    std::memcpy(&k, c->bytes.data() + i * 8, 8);
    k += k < 0 ? extent : 0;
    if (!first) first = k;
    if (k != *first + static_cast<std::int64_t>(i) || k < 0 || k >= extent) return std::nullopt;
  }
  return first;
}

// gather(x, [k, k + 1, ...]) -> slice(x), reshaped where the indices are no vector.
std::vector<Value> gather_slice(const Names& op, Builder& b, const Node& n) {
  if (n.op != op.gather || !n.operands[0].type().is_static()) return {};
  const Value x = n.operands[0], at = n.operands[1];
  Shape starts(x.type().rank(), 0), sizes = x.type().shape();
  std::int64_t axis = n.attrs.get_or<std::int64_t>("axis", 0);
  const auto k =
      static_cast<std::size_t>(axis < 0 ? axis + static_cast<std::int64_t>(sizes.size()) : axis);
  const auto first = consecutive(constant_of(at), sizes[k]);
  if (!first) return {};
  starts[k] = *first;
  sizes[k] = static_cast<std::int64_t>(elements(at.type()).value_or(1));
  const Value part = b.make(op.slice, {x}, {{"starts", starts}, {"sizes", sizes}}, n.loc);
  if (part.type() == n.results[0].type) return {part};
  return {b.make(op.reshape, {part}, {{"shape", n.results[0].type.shape()}}, n.loc)};
}

/// Before: %1 = identity(%0)  %2 = transpose(%1)  %3 = transpose(%2)   After: %3 = transpose(%0)
///         {perm composed}
/// Law: each rule is one; every rule lowers the node count or replaces a node by a cheaper one.
/// Cost: one walk, O(nodes * rules).
/// Not here: arithmetic on constants (fold-constants); batch norm (fold-batch-norm); several ops
/// that are one op of the table (raise-ops).
Status run(Module& m, PassContext& ctx) {
  const Names op(m.ops());
  std::int64_t applied = 0;
  const Rule rules[] = {
      [&](Builder&, const Node& n) { return no_change(op, n); },
      [&](Builder&, const Node& n) { return neutral(op, n); },
      [&](Builder&, const Node& n) { return relu_relu(op, n); },
      [&](Builder& b, const Node& n) { return reshape_reshape(op, b, n); },
      [&](Builder& b, const Node& n) { return transpose_transpose(op, b, n); },
      [&](Builder& b, const Node& n) { return transpose_reshape(op, b, n); },
      [&](Builder& b, const Node& n) { return concat_zeros(op, b, n); },
      [&](Builder& b, const Node& n) { return gather_slice(op, b, n); },
      [&](Builder& b, const Node& n) { return small_power(op, b, n); },
  };
  std::vector<Rule> counted;
  for (const Rule& r : rules)
    counted.push_back([&](Builder& b, const Node& n) {
      auto v = r(b, n);
      applied += !v.empty();
      return v;
    });
  rewrite(m, counted);
  remove_dead(m);
  ctx.count("rules applied", applied);
  return {};
}

}  // namespace

PassInfo simplify() {
  return {.id = "tenon.simplify",
          .doc = "Algebraic laws that remove or cheapen nodes.",
          .needs = {},
          .gives = {},
          .destroys = {},
          .options = {},
          .run = run};
}

}  // namespace tenon::passes
