#include "core/ir/facts.h"

#include <algorithm>

#include "tenon/rewrite.h"
#include "tenon/storage.h"

namespace tenon {
namespace {

bool shapes_static(const Module& m, const FactContext&) {
  bool all = true;
  const auto check = [&](const Node& n) {
    all = all &&
          std::ranges::all_of(n.results, [](const NodeResult& r) { return r.type.is_static(); });
  };
  for (const Function& f : m.functions)
    for_each_body(f, [&](const Body& b) {
      if (b.entry) check(*b.entry);
      for (const Node* n : b.nodes) check(*n);
    });
  return all;
}

/// Every node of `main` and of its control regions satisfies `allowed`. The inside of primitives is
/// not looked at.
bool every_outer_node(const Module& m, bool (*allowed)(const Node&)) {
  const Function* f = m.main();
  if (!f) return false;
  std::vector<const Body*> stack{&f->body};
  while (!stack.empty()) {
    const Body& b = *stack.back();
    stack.pop_back();
    for (const Node* n : b.nodes) {
      if (!allowed(*n)) return false;
      if (n->op == node::branch || n->op == node::loop)
        for (const Body& r : n->regions) stack.push_back(&r);
    }
  }
  return true;
}

bool primitives_only(const Module& m, const FactContext&) {
  return every_outer_node(m, [](const Node& n) { return n.op.v < node::count; });
}

bool kernels_lowered(const Module& m, const FactContext&) {
  return every_outer_node(m, [](const Node& n) {
    return n.op.v < node::count && n.op != node::primitive && n.op != node::call;
  });
}

bool memory_planned(const Module& m, const FactContext& c) {
  return m.plan && (!c.request_hash || m.plan->request_hash == c.request_hash(m));
}

constexpr CoreFact facts[] = {
    {"shapes-static", "every type of every graph function is static", shapes_static},
    {"primitives-only", "every computing node of main stands in a primitive", primitives_only},
    {"kernels-lowered", "main consists of structural nodes and kernel calls only", kernels_lowered},
    {"memory-planned", "the module has a plan, made for the storage that it asks for now",
     memory_planned},
};

}  // namespace

std::span<const CoreFact> core_facts() { return facts; }

bool is_core_fact(std::string_view name) {
  return std::ranges::find(facts, name, &CoreFact::name) != std::end(facts);
}

bool holds(std::string_view fact, const Module& m, const FactContext& context) {
  const auto it = std::ranges::find(facts, fact, &CoreFact::name);
  return it != std::end(facts) && it->holds(m, context);
}

}  // namespace tenon
