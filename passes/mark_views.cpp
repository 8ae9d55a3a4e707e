#include "tenon/op.h"
#include "tenon/pass.h"
#include "tenon/rewrite.h"

namespace tenon::passes {
namespace {

/// Before: %1 = reshape(%0) {shape = [4, 2]}   After: %1 = view(%0) {offset = 0}
/// Law: where an op's view fact says that its result is a byte range of its operand, the node is
/// that view.
/// Cost: one walk, O(nodes).
/// Not here: views of a storage that must stay apart (planning inserts the copies that outputs
/// need).
Status run(Module& m, PassContext& ctx) {
  std::int64_t marked = 0;
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
    if (!f.attrs.get_or("primitive", false)) rewrite(m, f, std::span(&mark, 1));
  }
  ctx.count("views", marked);
  return {};
}

}  // namespace

PassInfo mark_views() {
  return {.id = "tenon.mark-views",
          .doc = "Turn ops whose result is a byte range of an operand into views.",
          .needs = {"shapes-static"},
          .gives = {},
          .destroys = {},
          .options = {},
          .run = run};
}

}  // namespace tenon::passes
