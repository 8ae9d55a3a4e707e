#include <algorithm>
#include <unordered_set>

#include "tenon/op.h"
#include "tenon/pass.h"
#include "tenon/rewrite.h"

namespace tenon::passes {
namespace {

bool is_map(const OpDef& d) { return d.compute && d.fusion <= FusionKind::injective; }

/// Concatenations whose operands can be written where the result stands, at less cost than by a
/// kernel: their bytes follow each other, most of them come from kernels that cannot take in the
/// concatenation, and no kernel that reads the result could either.
std::vector<ValueId> joinable(const Module& m, const Function& f) {
  std::vector<ValueId> found;
  std::vector<const Node*> concats;
  const OpId concat = m.ops().at("concat");
  for (const Node* n : f.body.nodes)
    if (n->op == concat && n->operands.size() > 1 && n->results[0].type.is_static())
      concats.push_back(n);
  if (concats.empty()) return found;
  const Uses uses(f);
  const std::unordered_set<const Node*> here(f.body.nodes.begin(), f.body.nodes.end());
  for (const Node* n : concats) {
    const auto& dims = n->results[0].type.dims;
    const std::int64_t given = *n->attrs.get<std::int64_t>("axis");
    const std::int64_t axis = given < 0 ? given + static_cast<std::int64_t>(dims.size()) : given;
    bool apart = false;
    for (std::int64_t d = 0; d < axis; ++d) apart |= dims[static_cast<std::size_t>(d)].value() != 1;
    const auto users = uses.of({n, 0});
    const bool fuses = users.size() == 1 && users[0].user && is_map(m.ops()[users[0].user->op]);
    const bool returned = std::ranges::any_of(users, [](const Uses::Use& u) { return !u.user; });
    if (apart || fuses || returned || users.empty()) continue;
    std::uint64_t moved = 0, in_place = 0;
    std::unordered_set<Value, ValueHash> once;
    for (Value v : n->operands) {
      const std::uint64_t bytes = byte_size(v.type()).value_or(0);
      const OpDef& maker = m.ops()[v.node->op];
      // A relu behind a convolution is its epilogue: look for what it stands on.
      Value anchor = v;
      while (anchor.node->operands.size() >= 1 && is_map(m.ops()[anchor.node->op]) &&
             m.ops()[anchor.node->op].fusion <= FusionKind::broadcast)
        anchor = anchor.node->operands[0];
      const OpDef& root = m.ops()[anchor.node->op];
      const bool kernel = maker.compute && !maker.view && root.compute && !is_map(root);
      const bool free = here.contains(v.node) && once.insert(v).second;
      moved += bytes;
      if (kernel && free) in_place += bytes;
    }
    if (2 * in_place > moved) found.push_back(n->results[0].id);
  }
  return found;
}

/// Before: %1 = reshape(%0) {shape = [4, 2]}   After: %1 = view(%0) {offset = 0}
/// Before: %3 = concat(%1, %2) {axis = 0}      After: %3 = join(%1, %2)
/// Laws: where an op's view fact says that its result is a byte range of its operand, the node is
/// that view; a concatenation whose operands' bytes follow each other is their join.
/// Cost: one walk, O(nodes).
/// Not here: views of a storage that must stay apart (planning inserts the copies that outputs
/// need).
Status run(Module& m, PassContext& ctx) {
  std::int64_t marked = 0, joined = 0;
  std::unordered_set<ValueId> joins;
  const Rule join = [&](Builder& b, const Node& n) -> std::vector<Value> {
    if (n.results.empty() || joins.erase(n.results[0].id) == 0) return {};
    ++joined;
    return b.raw(node::join, n.operands, {}, {n.results[0]}, n.loc);
  };
  const Rule mark = [&](Builder& b, const Node& n) -> std::vector<Value> {
    const OpDef& def = m.ops()[n.op];
    if (!def.view || n.results.size() != 1) return {};
    std::vector<TensorType> types;
    for (Value v : n.operands) types.push_back(v.type());
    const auto fact = def.view(OpContext{&m, types, &n.attrs, n.regions, n.loc, def.name});
    if (!fact) return {};
    ++marked;
    return b.raw(node::view, {n.operands[fact->operand]},
                 Attrs{{"offset", static_cast<std::int64_t>(fact->offset)}}, {n.results[0]}, n.loc);
  };
  for (Function& f : m.functions) {
    // Inside a primitive a view would need storage between its neighbours; there the op is inlined
    // instead.
    if (!f.body.entry || f.attrs.get_or("primitive", false)) continue;
    for (ValueId id : joinable(m, f)) joins.insert(id);
    const Rule rules[] = {mark, join};
    rewrite(m, f, rules);
    joins.clear();
  }
  ctx.count("views", marked);
  ctx.count("joins", joined);
  return {};
}

}  // namespace

PassInfo mark_views() {
  return {.id = "tenon.mark-views",
          .doc =
              "Turn ops whose result is a byte range of an operand into views, and concatenations "
              "that their "
              "operands can be written into into joins.",
          .needs = {"shapes-static"},
          .gives = {},
          .destroys = {},
          .options = {},
          .run = run};
}

}  // namespace tenon::passes
