// A plugin of one pass. Copy it, rename `acme`, write a rule.
#include "tenon/plugin.h"
#include "tenon/rewrite.h"

namespace {

struct Options {
  std::int64_t most = 1000000;
  static constexpr auto fields() {
    return std::tuple{tenon::Field{"most", &Options::most, "pairs to cancel, at most", {.min = 0}}};
  }
};

/// Before: neg(neg(x))   After: x
/// Cost:   one walk, O(nodes). Not here: negations across other ops.
tenon::Status run(tenon::Module& m, tenon::PassContext& ctx) {
  const auto options = tenon::read_options<Options>(ctx.options());
  const tenon::OpId neg = m.ops().at("neg");
  std::int64_t pairs = 0;
  const tenon::Rule cancel = [&](tenon::Builder&,
                                 const tenon::Node& n) -> std::vector<tenon::Value> {
    if (n.op != neg || n.operands[0].node->op != neg || pairs == options.most) return {};
    ++pairs;
    return {n.operands[0].node->operands[0]};
  };
  tenon::rewrite(m, std::span(&cancel, 1));
  ctx.count("pairs", pairs);
  return {};
}

void describe(tenon::Registration& r) {
  tenon::PassInfo pass;
  pass.id = "acme.neg-neg";
  pass.doc = "Cancel pairs of negations.";
  pass.options = tenon::option_rows<Options>();
  pass.run = run;
  r.add(std::move(pass));
}

}  // namespace

TENON_PLUGIN("acme", "1.0.0", "Passes of Acme", describe, TN_KIND_PASS);
