// Lookup, copying and compaction of modules.
#include "core/support/flat_map.h"
#include "tenon/ir.h"

namespace tenon {
namespace {

template <class List, class Name>
auto* find_in(List& list, std::string_view name, Name name_of) {
  for (auto& x : list)
    if (name_of(x) == name) return &x;
  return static_cast<decltype(list.data())>(nullptr);
}

enum class From { kept, given_up };  // what becomes of the nodes that are copied

// Copies bodies into `arena`; what nodes own moves along where they are given up. Regions nest to
// 64, so the depth of body() is bounded.
class BodyCopier {
 public:
  BodyCopier(std::deque<Node>& arena, From from) : arena_(arena), from_(from) {}

  Body body(const Body& b) {
    Body out;
    out.entry = node(*b.entry);
    out.nodes.reserve(b.nodes.size());
    for (const Node* n : b.nodes) out.nodes.push_back(node(*n));
    out.results.reserve(b.results.size());
    for (Value v : b.results) out.results.push_back(at(v));
    return out;
  }

 private:
  Value at(Value v) const { return {*made_.find(v.node), v.index}; }

  const Node* node(const Node& n) {
    if (const Node* const* twice = made_.find(&n)) return *twice;
    Node c = from_ == From::kept ? n : std::move(const_cast<Node&>(n));
    for (Value& v : c.operands) v = at(v);
    for (Body& r : c.regions) r = body(r);
    return made_[&n] = &arena_.emplace_back(std::move(c));
  }

  std::deque<Node>& arena_;
  From from_;
  FlatMap<const Node*, const Node*> made_;
};

}  // namespace

Function* Module::function(std::string_view n) {
  return find_in(functions, n, [](auto& f) -> std::string_view { return f.name; });
}
const Function* Module::function(std::string_view n) const {
  return const_cast<Module*>(this)->function(n);
}
const ComputeFunction* Module::compute(std::string_view n) const {
  return find_in(computes, n, [](auto& c) -> std::string_view { return c.name; });
}
const KernelFunction* Module::kernel(std::string_view n) const {
  return find_in(kernels, n, [](auto& k) -> std::string_view { return k.kernel.symbol; });
}

namespace {

std::size_t count_nodes(const Body& b) {
  std::size_t n = 1 + b.nodes.size();
  for (const Node* x : b.nodes)
    for (const Body& r : x->regions) n += count_nodes(r);
  return n;
}

}  // namespace

void Module::compact() {
  std::size_t live = 0;
  for (const Function& f : functions) live += f.body.entry ? count_nodes(f.body) : 0;
  if (arena_->size() <= 2 * live) return;  // copying costs more than it frees
  auto fresh = std::make_unique<std::deque<Node>>();
  BodyCopier copier(*fresh, From::given_up);
  for (Function& f : functions)
    if (f.body.entry) f.body = copier.body(f.body);
  arena_ = std::move(fresh);
}

Module Module::clone() const {
  Module m(ops_);
  m.name = name;
  m.symbols = symbols;
  m.computes = computes;
  m.kernels = kernels;
  m.attrs = attrs;
  m.plan = plan;
  for (const Function& f : functions) {
    Function g{f.name, {}, f.result_names, f.attrs, f.next_id, f.loc};
    if (f.body.entry) g.body = BodyCopier(*m.arena_, From::kept).body(f.body);
    m.functions.push_back(std::move(g));
  }
  return m;
}

}  // namespace tenon
