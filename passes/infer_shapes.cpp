#include <unordered_map>

#include "tenon/op.h"
#include "tenon/pass.h"
#include "tenon/rewrite.h"

namespace tenon::passes {
namespace {

/// What stays symbolic: its first value, and the symbols that it needs.
void refuse_unknown(const Module& m, Diags& errors) {
  std::vector<std::string> names;
  for (const SymbolInfo& s : m.symbols) names.push_back(s.name);
  const auto check = [&](const Node& n) {
    for (const NodeResult& r : n.results)
      if (!r.type.is_static() && errors.empty())
        errors.push_back(
            {.code = 4202,
             .loc = n.loc,
             .what = "the size of `" + (r.name.empty() ? std::string("a value") : r.name) + "`, " +
                     to_string(r.type, &names) + ", is not known before the run",
             .fix =
                 "give every symbolic dimension a number: `--shape` for inputs of an ONNX model, "
                 "in the text form itself for others"});
  };
  for (const Function& f : m.functions)
    for_each_body(f, [&](const Body& b) {
      if (b.entry) check(*b.entry);
      for (const Node* n : b.nodes) check(*n);
    });
}

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
  if (errors.empty()) refuse_unknown(m, errors);
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
