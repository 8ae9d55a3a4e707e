#include <algorithm>

#include "tenon/eval.h"
#include "tenon/op.h"
#include "tenon/pass.h"
#include "tenon/rewrite.h"

namespace tenon::passes {
namespace {

struct FoldOptions {
  Bytes max_growth{1 << 20};
  std::int64_t max_work = 1 << 30;  // about a second
  static constexpr auto fields() {
    return std::tuple{
        Field{"max_growth", &FoldOptions::max_growth,
              "leave a node alone when its results exceed its operands by more than this"},
        Field{"max_work",
              &FoldOptions::max_work,
              "leave a node alone when evaluating it visits more points than this",
              {.min = 0}}};
  }
};

std::uint64_t bytes_of(const TensorType& t) { return byte_size(t).value_or(UINT64_MAX); }

/// Before: %2 = add(constant 1, constant 2)   After: constant 3
/// Law: a node without effect over constants equals its value under the evaluator.
/// Cost: one walk plus the evaluation of what is folded.
/// Not here: dead operands (dead-code removes them); nodes that blow up, such as a large `full`,
/// and nodes that cost too much.
Status run(Module& m, PassContext& ctx) {
  const auto options = read_options<FoldOptions>(ctx.options());
  std::int64_t folded = 0;
  Diags errors;
  const Rule fold = [&](Builder& b, const Node& n) -> std::vector<Value> {
    const OpDef& def = m.ops()[n.op];
    if (!def.compute || def.effect) return {};
    std::uint64_t in = 0, out = 0;
    std::vector<Constant> operands;
    for (Value v : n.operands) {
      Constant c = constant_of(v);
      if (!c) return {};
      in += c->bytes.size();
      operands.push_back(std::move(c));
    }
    for (const NodeResult& r : n.results) {
      if (!r.type.is_static()) return {};
      out = checked_add(out, bytes_of(r.type)).value_or(UINT64_MAX);
    }
    if (out > in && out - in > options.max_growth.n) return {};
    const auto compute = compute_of(m, n);
    if (!compute || evaluation_work(*compute) > static_cast<std::uint64_t>(options.max_work))
      return {};
    auto values = evaluate(m, n, operands, {.threads = ctx.threads()});
    if (!values) {
      errors.insert(errors.end(), values.errors().begin(), values.errors().end());
      return {};
    }
    std::vector<Value> made;
    for (Constant& c : *values) made.push_back(b.constant(std::move(c), n.loc));
    ++folded;
    return made;
  };
  rewrite(m, std::span(&fold, 1));
  remove_dead(m);
  ctx.count("folded", folded);
  return errors;
}

}  // namespace

PassInfo fold_constants() {
  return {.id = "tenon.fold-constants",
          .doc = "Evaluate nodes whose operands are all constants.",
          .needs = {},
          .gives = {},
          .destroys = {},
          .options = option_rows<FoldOptions>(),
          .run = run};
}

}  // namespace tenon::passes
