// The one rewriting driver. Forward over ordered bodies: when a node is reached, its operands are
// final.
#include "tenon/rewrite.h"

#include <algorithm>

#include "core/support/flat_map.h"

namespace tenon {

const Node* with_operands(Module& m, const Node& n, std::vector<Value> operands) {
  if (operands == n.operands) return &n;
  return m.make(Node{n.op, std::move(operands), n.attrs, n.results, n.regions, n.loc});
}

const Node* with_results(Module& m, const Node& n, std::vector<NodeResult> results) {
  return m.make(Node{n.op, n.operands, n.attrs, std::move(results), n.regions, n.loc});
}

class Rewriter {
 public:
  Rewriter(Module& m, Function& f, std::span<const Rule> rules)
      : m_(m), f_(f), b_(m, f), rules_(rules) {}

  bool run() {
    Body out = body(f_.body);
    if (changed_) f_.body = std::move(out);
    return changed_;
  }

 private:
  Value at(Value v) const {
    const Value* now = now_.find(v);
    return now ? *now : v;
  }

  // Regions nest to 64: the depth of body() is bounded.
  Body body(const Body& in) {
    std::vector<const Node*> outer = b_.take();
    for (const Node* n : in.nodes) node(*n);
    Body out{in.entry, b_.take(), {}};
    for (Value v : in.results) out.results.push_back(at(v));
    changed_ = changed_ || out.results != in.results;  // of an outer value, perhaps
    b_.nodes() = std::move(outer);
    return out;
  }

  // `n` over its rewritten operands and regions.
  const Node* remapped(const Node& n) {
    const Node* cur = &n;
    if (std::ranges::any_of(n.operands, [&](Value v) { return now_.contains(v); })) {
      std::vector<Value> operands;
      operands.reserve(n.operands.size());
      for (Value v : n.operands) operands.push_back(at(v));
      cur = with_operands(m_, n, std::move(operands));
    }
    if (n.regions.empty()) return cur;
    const bool outer = std::exchange(changed_, false);
    std::vector<Body> regions;
    for (const Body& r : n.regions) regions.push_back(body(r));
    if (changed_)
      cur = m_.make(
          Node{cur->op, cur->operands, cur->attrs, cur->results, std::move(regions), cur->loc});
    changed_ = changed_ || outer;
    return cur;
  }

  void node(const Node& n) {
    const Node* const start = remapped(n);
    const Node* subject = start;
    for (std::size_t r = 0; r < rules_.size();) {
      const std::size_t mark = b_.nodes().size();
      const std::vector<Value> next = rules_[r](b_, *subject);
      if (next.empty()) {
        TENON_CHECK(b_.nodes().size() == mark);  // a rule that does not apply makes nothing
        ++r;
        continue;
      }
      TENON_CHECK(next.size() == n.results.size());
      changed_ = true;
      if (!is_last_made(next, mark)) {  // values that exist already: `n` is gone
        for (std::uint32_t k = 0; k < next.size(); ++k) now_[{&n, k}] = next[k];
        if (start != &n) give_up(*start);
        return;
      }
      subject = next[0].node;  // a node in place of `n`: the rules may apply to it again
      b_.nodes().pop_back();
      r = 0;
    }
    if (subject != start) {
      subject = adopt(*subject, n);
      if (start != &n) give_up(*start);
    }
    b_.nodes().push_back(subject);
    if (subject == &n) return;
    changed_ = true;
    for (std::uint32_t k = 0; k < n.results.size(); ++k) now_[{&n, k}] = {subject, k};
  }

  // Are `values` exactly the results of the last node, made since `mark`?
  bool is_last_made(const std::vector<Value>& values, std::size_t mark) {
    if (b_.nodes().size() == mark) return false;
    const Node* last = b_.nodes().back();
    if (last->results.size() != values.size()) return false;
    for (std::uint32_t k = 0; k < values.size(); ++k)
      if (values[k] != Value{last, k}) return false;
    return true;
  }

  // A node made in place of `old` takes over its ids, and its names where it has any. It stands in
  // no body yet: it may still change.
  static const Node* adopt(const Node& made, const Node& old) {
    std::vector<NodeResult>& results = const_cast<Node&>(made).results;
    for (std::size_t k = 0; k < results.size(); ++k) {
      results[k].id = old.results[k].id;
      if (!old.results[k].name.empty()) results[k].name = old.results[k].name;
    }
    return &made;
  }

  // A node of ours that came into no body: where every node is replaced, these would hold as much
  // memory as the graph.
  static void give_up(const Node& made) { const_cast<Node&>(made) = Node{}; }

  Module& m_;
  Function& f_;
  Builder b_;
  std::span<const Rule> rules_;
  FlatMap<Value, Value, ValueHash> now_;
  bool changed_ = false;
};

bool rewrite(Module& m, Function& f, std::span<const Rule> rules) {
  return f.body.entry && Rewriter(m, f, rules).run();
}

bool rewrite(Module& m, std::span<const Rule> rules) {
  bool changed = false;
  for (Function& f : m.functions) changed = rewrite(m, f, rules) || changed;
  return changed;
}

}  // namespace tenon
