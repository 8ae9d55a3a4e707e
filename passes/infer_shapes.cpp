#include <unordered_map>

#include "tenon/op.h"
#include "tenon/pass.h"
#include "tenon/rewrite.h"

namespace tenon::passes {
namespace {

/// Before: %1 = relu(%0) : f32[s0]   After, when %0 is f32[4]: %1 = relu(%0) : f32[4]
/// Cost: one walk, O(nodes); allocates only for nodes whose types change.
/// Not here: shapes that depend on data (the frontend folds what it can; the rest is refused
/// there).
Status run(Module& m, PassContext& ctx) {
  Diags errors;
  std::int64_t changed = 0;
  const Rule again = [&](Builder& b, const Node& n) -> std::vector<Value> {
    if (!m.ops()[n.op].infer) return {};  // structural: its types are given
    auto types = infer_types(m, n.op, n.operands, n.attrs, n.regions, n.loc);
    if (!types) {
      errors.insert(errors.end(), types.errors().begin(), types.errors().end());
      return {};
    }
    std::vector<NodeResult> results = n.results;
    bool same = true;
    for (std::size_t k = 0; k < results.size(); ++k) {
      same = same && results[k].type == (*types)[k];
      results[k].type = (*types)[k];
    }
    if (same) return {};
    ++changed;
    return b.raw(n.op, n.operands, n.attrs, std::move(results), n.loc, n.regions);
  };
  rewrite(m, std::span(&again, 1));
  ctx.count("types changed", changed);
  return errors;
}

}  // namespace

PassInfo infer_shapes() {
  return {.id = "tenon.infer-shapes",
          .doc = "Re-derive every result type from the operands by the ops' type rules.",
          .needs = {},
          .gives = {"shapes-static"},
          .destroys = {},
          .options = {},
          .run = run};
}

}  // namespace tenon::passes
