#include <algorithm>

#include "tenon/op.h"
#include "tenon/pass.h"
#include "tenon/rewrite.h"

namespace tenon::passes {
namespace {

struct FastMathOptions {
  std::vector<std::string> ops;
  static constexpr auto fields() {
    return std::tuple{Field{"ops", &FastMathOptions::ops,
                            "only primitives with one of these ops; empty = all primitives"}};
  }
};

/// Before: %1 = primitive(%0) { exp }   After: %1 = primitive(%0) {fast_math = true} { exp }
/// Law: a primitive with this attribute may compute transcendentals within the wider bounds that
/// its lowering states (plugins/lowerings/te/README.md); nothing else may differ.
/// Cost: one walk, O(nodes).
/// Not here: what the bounds are; the lowering has an option `fast_math`, or none and stays exact.
Status run(Module& m, PassContext& ctx) {
  const auto options = read_options<FastMathOptions>(ctx.options());
  Diags unknown;
  const Loc where = ctx.options().empty() ? Loc{} : ctx.options()[0].loc;
  for (const std::string& name : options.ops)
    if (!m.ops().find(name))
      unknown.push_back(Diag{
          .code = 2105,
          .loc = where,
          .what = "the option `ops` of `fast-math` names `" + name + "`, and there is no such op",
          .fix = "`tenon op list` prints the ops"});
  if (!unknown.empty()) return unknown;
  const auto wanted = [&](const Node& n) {
    return options.ops.empty() || std::ranges::any_of(n.regions[0].nodes, [&](const Node* inner) {
             return std::ranges::count(options.ops, m.ops()[inner->op].name) > 0;
           });
  };
  std::int64_t marked = 0;
  const Rule mark = [&](Builder& b, const Node& n) -> std::vector<Value> {
    if (n.op != node::primitive || n.attrs.get_or("fast_math", false) || !wanted(n)) return {};
    ++marked;
    Attrs attrs = n.attrs;
    attrs.set("fast_math", true);
    return b.raw(n.op, n.operands, std::move(attrs), n.results, n.loc, n.regions);
  };
  rewrite(m, std::span(&mark, 1));
  ctx.count("primitives marked", marked);
  return {};
}

}  // namespace

PassInfo fast_math() {
  return {.id = "tenon.fast-math",
          .doc = "Let primitives compute transcendentals faster, within wider bounds.",
          .needs = {"primitives-only"},
          .gives = {},
          .destroys = {},
          .options = option_rows<FastMathOptions>(),
          .run = run};
}

}  // namespace tenon::passes
