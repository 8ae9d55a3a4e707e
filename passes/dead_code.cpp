#include "tenon/pass.h"
#include "tenon/rewrite.h"

namespace tenon::passes {
namespace {

/// Before: %1 = relu(%0)  %2 = neg(%0)  return %1   After: %1 = relu(%0)  return %1
/// Cost: two walks, O(nodes).
/// Not here: parameters (callers rely on them) and nodes with an effect.
Status run(Module& m, PassContext& ctx) {
  std::size_t before = 0, after = 0;
  for (const Function& f : m.functions) for_each_node(f, [&](const Node&) { ++before; });
  remove_dead(m);
  for (const Function& f : m.functions) for_each_node(f, [&](const Node&) { ++after; });
  ctx.count("removed", static_cast<std::int64_t>(before - after));
  return {};
}

}  // namespace

PassInfo dead_code() {
  return {.id = "tenon.dead-code",
          .doc = "Remove nodes without effect whose results nobody uses.",
          .needs = {},
          .gives = {},
          .destroys = {},
          .options = {},
          .run = run};
}

}  // namespace tenon::passes
