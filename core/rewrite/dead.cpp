// Dead nodes: mark backwards over each ordered body, then rebuild forwards.
#include <algorithm>

#include "core/support/flat_map.h"
#include "tenon/rewrite.h"

namespace tenon {
namespace {

// Regions nest to 64: the depth of mark(), has_effect() and rebuild() is bounded.
class Sweeper {
 public:
  Sweeper(Module& m, const Function& f) : m_(m), used_(f.next_id) {}

  void mark(const Body& b) {
    for (Value v : b.results) use(v.node);
    for (auto it = b.nodes.rbegin(); it != b.nodes.rend(); ++it) {
      const Node& n = **it;
      if (!used(n) && !has_effect(n)) continue;
      use(&n);
      for (Value v : n.operands) use(v.node);
      for (const Body& r : n.regions) mark(r);
    }
  }

  Body rebuild(const Body& in) {
    Body out{in.entry, {}, {}};
    for (const Node* n : in.nodes) {
      if (!used(*n)) {
        changed_ = true;
        continue;
      }
      const Node* cur = n;
      if (std::ranges::any_of(n->operands, [&](Value v) { return now_.contains(v.node); })) {
        std::vector<Value> operands;
        for (Value v : n->operands) operands.push_back(at(v));
        cur = with_operands(m_, *n, std::move(operands));
      }
      if (!n->regions.empty()) cur = with_swept_regions(*cur);
      if (cur != n) now_[n] = cur;
      changed_ = changed_ || cur != n;
      out.nodes.push_back(cur);
    }
    for (Value v : in.results) out.results.push_back(at(v));
    changed_ = changed_ || out.results != in.results;
    return out;
  }
  bool changed() const { return changed_; }

 private:
  const Node* with_swept_regions(const Node& n) {
    const bool outer = std::exchange(changed_, false);
    std::vector<Body> regions;
    for (const Body& r : n.regions) regions.push_back(rebuild(r));
    const bool inner = std::exchange(changed_, outer || changed_);
    return inner ? m_.make(Node{n.op, n.operands, n.attrs, n.results, std::move(regions), n.loc})
                 : &n;
  }

  bool has_effect(const Node& n) const {
    if (m_.ops()[n.op].effect) return true;
    return std::ranges::any_of(n.regions, [&](const Body& r) {
      return std::ranges::any_of(r.nodes, [&](const Node* x) { return has_effect(*x); });
    });
  }

  Value at(Value v) const {
    const Node* const* now = now_.find(v.node);
    return now ? Value{*now, v.index} : v;
  }

  void use(const Node* n) {
    if (!n->results.empty()) used_[n->results[0].id] = true;
  }
  bool used(const Node& n) const { return n.results.empty() || used_[n.results[0].id]; }

  Module& m_;
  std::vector<bool> used_;  // by id of the first result; what has none is there for its effect
  FlatMap<const Node*, const Node*> now_;
  bool changed_ = false;
};

}  // namespace

bool remove_dead(Module& m) {
  bool changed = false;
  for (Function& f : m.functions) {
    if (!f.body.entry) continue;
    Sweeper s(m, f);
    s.mark(f.body);
    Body out = s.rebuild(f.body);
    if (!s.changed()) continue;
    f.body = std::move(out);
    changed = true;
  }
  return changed;
}

}  // namespace tenon
