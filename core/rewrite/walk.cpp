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

namespace {

/// Calls `fn(value, use)` for every use, in order.
template <class Fn>
void for_each_use(const Function& f, Fn fn) {
  for_each_body(f, [&](const Body& b) {
    for (const Node* n : b.nodes)
      for (std::uint32_t i = 0; i < n->operands.size(); ++i) fn(n->operands[i], Uses::Use{n, i});
    for (std::uint32_t i = 0; i < b.results.size(); ++i) fn(b.results[i], Uses::Use{nullptr, i});
  });
}

}  // namespace

Uses::Uses(const Function& f) : values_(f.next_id), first_(f.next_id + std::size_t{1}) {
  for_each_use(f, [&](Value v, const Use&) {
    values_[v.id()] = v;
    ++first_[v.id()];
  });
  std::uint32_t sum = 0;
  for (std::uint32_t& n : first_) n = std::exchange(sum, sum + n);
  uses_.resize(sum);
  std::vector<std::uint32_t> next(first_.begin(), first_.end() - 1);
  for_each_use(f, [&](Value v, const Use& use) { uses_[next[v.id()]++] = use; });
}

std::span<const Uses::Use> Uses::of(Value v) const {
  const ValueId id = v.id();
  if (id >= values_.size() || values_[id] != v) return {};
  return std::span(uses_).subspan(first_[id], first_[id + 1] - first_[id]);
}

Constant constant_of(Value v) {
  if (!v || v.node->op != node::constant) return nullptr;
  const Constant* c = v.node->attrs.get<Constant>("value");
  return c ? *c : nullptr;
}

}  // namespace tenon
