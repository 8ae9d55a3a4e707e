// Which operands of an anchor are worth a copy, and the stages that make it.
#include <algorithm>

#include "access.h"
#include "lowering.h"
#include "tiling.h"

namespace tenon::te_lowering {

namespace {

constexpr std::int64_t page = 4096;  // rows this far apart share the sets of the first cache
constexpr std::uint64_t most_scratch = 2 << 20;

bool worth_a_copy(const te::Compute& c, const StageFacts& f, const Tiling& t, const Access& a) {
  if (!a.in_reduction || !c.is_input(a.tensor)) return false;
  const std::int64_t bytes = bits(c.dtype_of(a.tensor)) / 8, along = a.step[t.vec];
  std::int64_t reuse = 1;
  std::uint64_t volume = 1, panel = static_cast<std::uint64_t>(bytes);
  bool far_apart = false;
  for (std::size_t k = 0; k < f.extent.size(); ++k) {
    if (a.step[k] == irregular || a.step[k] < 0) return false;
    if (a.step[k] == 0) {
      if (k < f.n_out) reuse *= f.extent[k];
      continue;
    }
    volume *= static_cast<std::uint64_t>(f.extent[k]);
    panel *=
        static_cast<std::uint64_t>(k < f.n_out ? std::min(t.block[k], f.extent[k]) : f.extent[k]);
    far_apart |= k >= f.n_out && f.extent[k] >= 32 && a.step[k] * bytes % page == 0;
  }
  // Windows that overlap would be copied several times over.
  if (volume > elements(c.inputs[a.tensor]).value_or(0) || panel > most_scratch) return false;
  return (along == 1 && far_apart && reuse >= 32) || (along >= 2 && reuse >= 16);
}

/// The copy of what `a` loads: axes that it moves with, the vector axis innermost. `order` gets the
/// anchor's axes.
te::Stage copy_of(te::Builder& b, const te::Compute& c, const te::Stage& s, const Access& a,
                  int vec, std::vector<std::size_t>& order) {
  te::Stage r{.name = s.name + "_packed", .dtype = c.dtype_of(a.tensor), .axes = {}, .reduce = {}};
  for (std::size_t k = 0; k < a.step.size(); ++k)
    if (a.step[k] != 0 && static_cast<int>(k) != vec) order.push_back(k);
  order.push_back(static_cast<std::size_t>(vec));
  te::E index = b.i64(te::affine_of(c, s, c.exprs[a.load].args[0]).constant);
  for (std::uint32_t d = 0; d < order.size(); ++d) {
    const std::size_t k = order[d];
    r.axes.push_back(k < s.axes.size() ? s.axes[k] : s.reduce[k - s.axes.size()]);
    const te::E axis{&b, b.add({.kind = te::Kind::axis, .dtype = DType::i64, .n = d})};
    index = axis * a.step[k] + index;
  }
  r.value = b.add({.kind = te::Kind::load, .dtype = r.dtype, .n = a.tensor, .args = {index.id}});
  return r;
}

}  // namespace

te::Compute pack_operands(const te::Compute& c, const TargetFacts& target, const Options& options) {
  if (c.stages.size() != 1 || c.outputs.size() != 1) return c;
  const te::Stage& s = c.stages[0];
  const StageFacts f = facts_of(c, s);
  if (!f.reduction || work_of(c, s) < static_cast<std::uint64_t>(options.parallel_work)) return c;
  const Tiling t = tiling_of(f, target);
  if (t.vec < 0 || t.vec >= static_cast<int>(f.n_out)) return c;
  const auto chosen = std::find_if(f.loads.begin(), f.loads.end(),
                                   [&](const Access& a) { return worth_a_copy(c, f, t, a); });
  if (chosen == f.loads.end() || c.exprs[chosen->load].args.size() != 1) return c;

  te::Compute r{.inputs = c.inputs, .stages = {}, .outputs = {1}, .exprs = {}};
  te::Builder b(c.inputs);
  std::vector<std::size_t> order;
  r.stages.push_back(copy_of(b, c, s, *chosen, t.vec, order));
  r.stages.push_back(s);
  std::vector<te::ExprId> map(s.value + 1, te::none);
  for (te::ExprId id : te::reachable(c, s.value)) {
    te::Expr e = c.exprs[id];
    if (id == chosen->load) {
      e.n = static_cast<std::uint32_t>(c.inputs.size());
      e.args.clear();
      for (std::size_t k : order)
        e.args.push_back(b.add(
            {.kind = te::Kind::axis, .dtype = DType::i64, .n = static_cast<std::uint32_t>(k)}));
    } else {
      for (te::ExprId& a : e.args) a = map[a];
    }
    map[id] = b.add(std::move(e));
  }
  r.stages[1].value = map[s.value];
  r.exprs = b.take().exprs;
  return r;
}

}  // namespace tenon::te_lowering
