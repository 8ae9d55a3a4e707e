// Seeded random graphs out of whatever the op table offers: every op with a compute description
// that is exact on small integers is tried, with random operands and attributes; type inference
// says which of them mean something.
#ifndef TENON_TESTS_SUPPORT_RANDOM_GRAPHS_H
#define TENON_TESTS_SUPPORT_RANDOM_GRAPHS_H

#include <fmt/format.h>

#include "tenon/ir.h"
#include "tenon/op.h"
#include "tenon/rewrite.h"
#include "tests/support/storage_fixture.h"

namespace tenon::test {

class RandomGraph {
 public:
  RandomGraph(std::shared_ptr<const OpTable> ops, std::uint64_t seed)
      : m_(std::move(ops)), rng_(seed) {
    for (std::uint32_t i = node::count; i < m_.ops().size(); ++i) {
      const OpDef& def = m_.ops()[OpId{i}];
      if (def.compute && !def.effect) usable_.push_back(OpId{i});
    }
  }

  Module run() {
    m_.name = "random";
    m_.functions.push_back({.name = "main"});
    entry();
    const std::uint64_t n = 2 + rng_.below(10);
    for (std::uint64_t k = 0; k < n; ++k) node(0);
    Function& f = m_.functions[0];
    f.body.nodes = std::move(nodes_);
    const std::uint64_t n_results = 1 + rng_.below(4);
    for (std::uint64_t j = 0; j < n_results; ++j) {
      // Mostly late values; at times an input, a constant or an earlier result again.
      const std::uint64_t back = rng_.chance(70)
                                     ? rng_.below(std::min<std::uint64_t>(4, values_.size()))
                                     : rng_.below(values_.size());
      f.body.results.push_back(values_[values_.size() - 1 - back]);
      f.result_names.push_back(fmt::format("out{}", j));
    }
    return std::move(m_);
  }

 private:
  static constexpr std::uint64_t max_elements = 96;

  Function& f() { return m_.functions[0]; }
  Value any() {
    return values_[rng_.chance(60)
                       ? values_.size() - 1 - rng_.below(std::min<std::uint64_t>(3, values_.size()))
                       : rng_.below(values_.size())];
  }
  std::int64_t extent() {
    static constexpr std::int64_t sizes[] = {1, 2, 3, 4, 6, 8};
    return rng_.chance(4) ? 0 : sizes[rng_.below(6)];
  }
  ::tenon::Shape shape() {
    ::tenon::Shape s;
    for (std::uint64_t r = rng_.below(4); r > 0; --r) s.push_back(extent());
    return elements({DType::i32, s}) <= max_elements ? s : ::tenon::Shape{4};
  }

  /// All inputs share most of their shape, so that binary ops find partners.
  void entry() {
    common_ = shape();
    Node n{.op = node::param};
    const std::uint64_t count = 1 + rng_.below(3);
    for (std::uint64_t i = 0; i < count; ++i) {
      const DType t = rng_.chance(60) ? DType::f32 : DType::i32;
      n.results.push_back(
          {{t, rng_.chance(70) ? common_ : shape()}, f().next_id++, fmt::format("in{}", i)});
    }
    f().body.entry = m_.make(std::move(n));
    for (std::uint32_t i = 0; i < count; ++i) values_.push_back(f().param(i));
  }

  void push(Node n) {
    const Node* p = m_.make(std::move(n));
    nodes_.push_back(p);
    for (std::uint32_t k = 0; k < p->results.size(); ++k) values_.push_back({p, k});
  }
  void one(Node n, TensorType t) {
    n.results.push_back({std::move(t), f().next_id++, ""});
    push(std::move(n));
  }

  void node(unsigned depth) {
    const std::uint64_t what = rng_.below(100);
    if (what < 6) return constant();
    if (what < 18) return view();
    if (what < 21)
      return one(
          {.op = node::debug, .operands = {values_.back()}, .attrs = {{"label", std::string("d")}}},
          values_.back().type());
    if (what < 24) {
      const Value v = any();
      return one({.op = node::copy, .operands = {v}}, v.type());
    }
    if (what < 28 && depth < 2) return branch(depth);
    if (what < 32 && depth < 2) return loop(depth);
    if (what < 38) return join();
    for (int attempt = 0; attempt < 12; ++attempt) {
      if (op()) return;
    }
  }

  void constant() {
    const TensorType t{rng_.chance(60) ? DType::f32 : DType::i32, common_};
    std::vector<std::byte> bytes(*byte_size(t));
    for (std::uint64_t i = 0; i < *elements(t); ++i) {
      const auto v = static_cast<std::int32_t>(rng_.below(3)) - 1;
      const auto x = static_cast<float>(v);
      std::memcpy(bytes.data() + 4 * i, t.dtype == DType::f32 ? static_cast<const void*>(&x) : &v,
                  4);
    }
    one({.op = node::constant, .attrs = {{"value", make_constant(t, std::move(bytes))}}}, t);
  }

  /// A run of elements of some value.
  void view() {
    const Value v = any();
    const std::uint64_t n = *elements(v.type()), element = bits(v.type().dtype) / 8;
    const std::uint64_t from = rng_.chance(50) ? 0 : rng_.below(n + 1);
    const std::uint64_t count = rng_.chance(50) ? n - from : rng_.below(n - from + 1);
    one({.op = node::view,
         .operands = {v},
         .attrs = {{"offset", static_cast<std::int64_t>(from * element)}}},
        {v.type().dtype, ::tenon::Shape{static_cast<std::int64_t>(count)}});
  }

  /// Of values of one element type, the same one twice at times.
  void join() {
    Node n{.op = node::join, .operands = {any()}};
    const DType t = n.operands[0].type().dtype;
    std::uint64_t count = *elements(n.operands[0].type());
    for (std::uint64_t k = rng_.below(4); k-- > 0;) {
      const Value v = any();
      if (v.type().dtype != t || count + *elements(v.type()) > max_elements) continue;
      n.operands.push_back(v);
      count += *elements(v.type());
    }
    one(std::move(n), {t, ::tenon::Shape{static_cast<std::int64_t>(count)}});
  }

  void branch(unsigned depth) {
    std::vector<Value> conditions;
    for (Value v : values_) {
      if (v.type() == TensorType{DType::boolean, ::tenon::Shape{}}) conditions.push_back(v);
    }
    if (conditions.empty()) {
      const auto yes = static_cast<std::byte>(rng_.below(2));
      const TensorType t{DType::boolean, ::tenon::Shape{}};
      one({.op = node::constant, .attrs = {{"value", make_constant(t, std::vector{yes})}}}, t);
      conditions.push_back(values_.back());
    }
    const Value wanted = any();
    Node n{.op = node::branch, .operands = {conditions[rng_.below(conditions.size())]}};
    for (int k = 0; k < 2; ++k) n.regions.push_back(arm(wanted.type(), depth + 1));
    one(std::move(n), wanted.type());
  }

  Body arm(const TensorType& wanted, unsigned depth) {
    return region({.op = node::param}, {wanted}, depth);
  }

  /// Up to three iterations of up to three carried values; the body swaps, keeps, drops and reuses
  /// them, and reads values from outside.
  void loop(unsigned depth) {
    const auto count = static_cast<std::int64_t>(rng_.below(5)) - 1;
    const TensorType i64{DType::i64, ::tenon::Shape{}};
    one({.op = node::constant,
         .attrs = {{"value", make_constant<std::int64_t>(i64, std::span(&count, 1))}}},
        i64);
    Node n{.op = node::loop, .operands = {values_.back()}};
    values_.pop_back();  // nothing else reads it
    Node entry{.op = node::param, .results = {{i64, f().next_id++, ""}}};
    std::vector<TensorType> types;
    for (std::uint64_t k = 1 + rng_.below(3); k > 0; --k) {
      n.operands.push_back(any());
      types.push_back(n.operands.back().type());
      entry.results.push_back({types.back(), f().next_id++, ""});
    }
    n.regions.push_back(region(std::move(entry), types, depth + 1));
    for (const TensorType& t : types) n.results.push_back({t, f().next_id++, ""});
    push(std::move(n));
  }

  Body region(Node entry, const std::vector<TensorType>& wanted, unsigned depth) {
    const std::size_t outer = values_.size();
    std::vector<const Node*> outer_nodes = std::exchange(nodes_, {});
    Body b{.entry = m_.make(std::move(entry))};
    for (std::uint32_t k = 1; k < b.entry->results.size(); ++k) values_.push_back({b.entry, k});
    for (std::uint64_t k = rng_.below(4); k > 0; --k) node(depth);
    for (const TensorType& type : wanted) {
      std::vector<Value> fitting;
      for (Value v : values_) {
        if (v.type() == type) fitting.push_back(v);
      }
      b.results.push_back(
          fitting[rng_.chance(70) ? fitting.size() - 1 : rng_.below(fitting.size())]);
    }
    b.nodes = std::exchange(nodes_, std::move(outer_nodes));
    values_.resize(outer);
    return b;
  }

  bool op() {
    const OpId id = usable_[rng_.below(usable_.size())];
    const OpDef& def = m_.ops()[id];
    const std::uint64_t n =
        def.min_operands +
        rng_.below(std::min(def.max_operands, def.min_operands + 2) - def.min_operands + 1);
    std::vector<Value> operands;
    for (std::uint64_t k = 0; k < n; ++k)
      operands.push_back(k > 0 && rng_.chance(20) ? operands[0] : any());
    Attrs attrs;
    for (const AttrSpec& a : def.attrs) {
      if (!a.dflt || rng_.chance(50)) attribute(a, operands, attrs);
    }
    auto complete = complete_attrs(def, attrs, {});
    if (!complete) return false;
    auto types = infer_types(m_, id, operands, *complete, {}, {});
    if (!types) return false;
    for (const TensorType& t : *types) {
      if (!elements(t) || *elements(t) > max_elements) return false;
    }
    Node made{.op = id, .operands = std::move(operands), .attrs = *std::move(complete)};
    for (const TensorType& t : *types) made.results.push_back({t, f().next_id, ""});
    if (!exact(made)) return false;
    for (NodeResult& r : made.results) r.id = f().next_id++;
    push(std::move(made));
    return true;
  }

  /// Whether all its scalar operations are exact; what a chain of small integers may still round,
  /// all compute alike.
  bool exact(const Node& n) const {
    auto compute = compute_of(m_, n);
    return compute &&
           std::none_of(compute->exprs.begin(), compute->exprs.end(), [](const te::Expr& e) {
             return e.kind == te::Kind::scalar && is_transcendental(e.op);
           });
  }

  void attribute(const AttrSpec& a, const std::vector<Value>& operands, Attrs& attrs) {
    const std::size_t rank = operands.empty() ? 0 : operands[0].type().rank();
    switch (a.kind) {
      case AttrKind::boolean:
        return attrs.set(a.name, rng_.chance(50));
      case AttrKind::integer:
        return attrs.set(a.name, static_cast<std::int64_t>(rng_.below(rank + 1)));
      case AttrKind::real:
        return attrs.set(a.name, static_cast<double>(rng_.below(3)));
      case AttrKind::ints:
        return attrs.set(a.name, integers(operands, rank));
      case AttrKind::dtype:
        return attrs.set(a.name, rng_.chance(50) ? DType::f32 : DType::i32);
      case AttrKind::type:
        return attrs.set(a.name, operands.empty() ? TensorType{} : operands[0].type());
      default:
        return;
    }
  }

  /// A permutation of the axes, one axis, small numbers, or another shape of as many elements.
  std::vector<std::int64_t> integers(const std::vector<Value>& operands, std::size_t rank) {
    std::vector<std::int64_t> out;
    switch (rng_.below(4)) {
      case 0:
        for (std::size_t i = 0; i < rank; ++i)
          out.insert(out.begin() + static_cast<std::ptrdiff_t>(rng_.below(i + 1)),
                     static_cast<std::int64_t>(i));
        return out;
      case 1:
        if (rank > 0) out.push_back(static_cast<std::int64_t>(rng_.below(rank)));
        return out;
      case 2:
        for (std::size_t i = 0; i < rank * (1 + rng_.below(2)); ++i)
          out.push_back(static_cast<std::int64_t>(rng_.below(3)));
        return out;
      default:
        if (!operands.empty()) {
          out = {1, static_cast<std::int64_t>(*elements(operands[0].type()))};
          if (rng_.chance(50)) std::swap(out[0], out[1]);
        }
        return out;
    }
  }

  Module m_;
  Rng rng_;
  std::vector<OpId> usable_;
  ::tenon::Shape common_;
  std::vector<Value> values_;  ///< in scope
  std::vector<const Node*> nodes_;
};

inline Module random_graph(std::shared_ptr<const OpTable> ops, std::uint64_t seed) {
  return RandomGraph(std::move(ops), seed).run();
}

}  // namespace tenon::test

#endif
