#include "tenon/rewrite.h"

namespace tenon {

void for_each_body(const Function& f, const std::function<void(const Body&)>& fn) {
  if (!f.body.entry) return;
  std::vector<const Body*> stack{&f.body};
  while (!stack.empty()) {
    const Body* b = stack.back();
    stack.pop_back();
    fn(*b);
    for (auto n = b->nodes.rbegin(); n != b->nodes.rend(); ++n)
      for (auto r = (*n)->regions.rbegin(); r != (*n)->regions.rend(); ++r) stack.push_back(&*r);
  }
}

void for_each_node(const Function& f, const std::function<void(const Node&)>& fn) {
  for_each_body(f, [&](const Body& b) {
    for (const Node* n : b.nodes) fn(*n);
  });
}

Uses::Uses(const Function& f) {
  for_each_body(f, [&](const Body& b) {
    for (const Node* n : b.nodes)
      for (std::uint32_t i = 0; i < n->operands.size(); ++i)
        uses_[n->operands[i]].push_back({n, i});
    for (std::uint32_t i = 0; i < b.results.size(); ++i)
      uses_[b.results[i]].push_back({nullptr, i});
  });
}

std::span<const Uses::Use> Uses::of(Value v) const {
  auto it = uses_.find(v);
  return it == uses_.end() ? std::span<const Use>() : std::span<const Use>(it->second);
}

Constant constant_of(Value v) {
  if (!v || v.node->op != node::constant) return nullptr;
  const Constant* c = v.node->attrs.get<Constant>("value");
  return c ? *c : nullptr;
}

}  // namespace tenon
