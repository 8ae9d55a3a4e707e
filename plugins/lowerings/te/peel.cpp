// Which padding needs no copy: that of a small window that reads each element only a few times, and
// that of a window of few steps in a long reduction over a small image, where the steps in the
// border are worth skipping.
//
// The padded stage goes into the reduction that loads it. The loops over the output are then cut
// where the conditions change (cuts.h), so that every part of the output has its own body: inside
// there is no condition left, at the borders the steps of the window that would read the padding
// are not there at all.
#include <algorithm>

#include "access.h"
#include "lowering.h"
#include "tensorise.h"
#include "tiling.h"

namespace tenon::te_lowering {

namespace {

constexpr std::int64_t few_readers = 4;    // outputs that share an element, the window aside
constexpr std::int64_t shortest_run = 16;  // of the reduction, in each step of such a window
constexpr std::int64_t longest_side = 32;  // of an output of which the border is worth it
constexpr double least_work = 200;         // kernels worth a thread that are worth the code

/// Axes of the padded tensor that its guards look at.
std::vector<bool> guarded_axes(const te::Compute& c, const te::Stage& pad) {
  std::vector<bool> conditional(pad.axes.size(), false);
  for (te::ExprId id : te::reachable(c, pad.value)) {
    const te::Expr& e = c.exprs[id];
    if (e.kind != te::Kind::scalar || !is_comparison(e.op)) continue;
    for (te::ExprId a : te::reachable(c, id))
      if (c.exprs[a].kind == te::Kind::axis) conditional[c.exprs[a].n] = true;
  }
  return conditional;
}

/// Whether the anchor is a long reduction over few steps of a window of an image so small that the
/// steps in its border count.
bool is_bordered(const te::Compute& c, const std::vector<bool>& guarded, const te::Stage& anchor,
                 const StageFacts& f, const Options& options) {
  std::vector<bool> looks(f.extent.size(), false);
  for (te::ExprId id : te::reachable(c, anchor.value)) {
    const te::Expr& e = c.exprs[id];
    if (e.kind != te::Kind::load || c.is_input(e.n)) continue;
    for (std::size_t d = 0; d < e.args.size(); ++d) {
      const te::Affine a = te::affine_of(c, anchor, e.args[d]);
      if (!a.ok) return false;
      for (std::size_t k = 0; k < a.coeff.size(); ++k)
        looks[k] = looks[k] || (guarded[d] && a.coeff[k] != 0);
    }
  }
  double steps = 1, work = 1;
  std::int64_t side = INT64_MAX;
  for (std::size_t k = 0; k < looks.size(); ++k) {
    work *= static_cast<double>(f.extent[k]);
    if (looks[k] && k < f.n_out) side = std::min(side, f.extent[k]);
    if (looks[k] && k >= f.n_out) steps *= static_cast<double>(f.extent[k]);
  }
  return steps > 1 && steps <= static_cast<double>(most_window_steps) && side <= longest_side &&
         work >= least_work * static_cast<double>(options.parallel_work) &&
         static_cast<double>(f.reduction_volume()) >= steps * shortest_run;
}

/// Whether the anchor loads the padded tensor at affine positions, in no lane needs another
/// condition than in the others, and at most `most` outputs share an element, the window aside.
bool loads_well(const te::Compute& c, const std::vector<bool>& conditional, const te::Stage& anchor,
                const Tiling& t, const StageFacts& f, std::int64_t most) {
  for (te::ExprId id : te::reachable(c, anchor.value)) {
    const te::Expr& e = c.exprs[id];
    if (e.kind != te::Kind::load || c.is_input(e.n)) continue;
    std::int64_t readers = 1;
    std::vector<bool> moved(f.n_out, false);
    for (std::size_t d = 0; d < e.args.size(); ++d) {
      const te::Affine a = te::affine_of(c, anchor, e.args[d]);
      if (!a.ok || (conditional[d] && a.coeff[t.vec] != 0)) return false;
      for (std::size_t k = 0; k < f.n_out; ++k) moved[k] = moved[k] || a.coeff[k] != 0;
    }
    for (std::size_t k = 0; k < f.n_out; ++k)
      if (!moved[k]) readers *= std::max<std::int64_t>(f.extent[k], 1);
    if (readers > most) return false;
  }
  return true;
}

}  // namespace

te::Compute peel_padding(const te::Compute& c, const TargetFacts& target, const Options& options) {
  if (c.stages.size() != 2 || c.outputs != std::vector<std::uint32_t>{1}) return c;
  const te::Stage &pad = c.stages[0], &anchor = c.stages[1];
  const te::Expr& value = c.exprs[pad.value];
  if (!te::is_guarded_load(c, value) || c.exprs[value.args[2]].kind != te::Kind::imm) return c;
  const StageFacts f = facts_for(c, anchor, target);
  if (!f.reduction || f.tensor >= 0) return c;  // an instruction takes no bytes one by one
  const std::vector<bool> guarded = guarded_axes(c, pad);
  const bool small = f.reduction_volume() <= largest_window;
  if (!small && !is_bordered(c, guarded, anchor, f, options)) return c;
  const Tiling t = tiling_of(f, target);
  if (t.vec < 0 || t.vec >= static_cast<int>(f.n_out) ||
      !loads_well(c, guarded, anchor, t, f, small ? few_readers : INT64_MAX))
    return c;

  te::Compute r{.inputs = c.inputs, .stages = {anchor}, .outputs = {0}, .exprs = {}};
  te::Builder b(c.inputs);
  std::vector<te::ExprId> map(c.exprs.size(), te::none);
  const auto mapped = [&](te::Expr e, const std::vector<te::ExprId>& by) {
    for (te::ExprId& a : e.args) a = by[a];
    return e;
  };
  for (te::ExprId id : te::reachable(c, anchor.value)) {
    const te::Expr e = mapped(c.exprs[id], map);
    if (e.kind != te::Kind::load || c.is_input(e.n)) {
      map[id] = b.add(e);
      continue;
    }
    std::vector<te::ExprId> inner(c.exprs.size(), te::none);
    for (te::ExprId x : te::reachable(c, pad.value))
      inner[x] = c.exprs[x].kind == te::Kind::axis ? e.args[c.exprs[x].n]
                                                   : b.add(mapped(c.exprs[x], inner));
    map[id] = inner[pad.value];
  }
  r.stages[0].value = map[anchor.value];
  r.exprs = b.take().exprs;
  return r;
}

}  // namespace tenon::te_lowering
