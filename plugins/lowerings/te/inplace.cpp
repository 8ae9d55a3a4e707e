// Which inputs an output may overwrite, read off the scheduled kernel.
//
// Law (tir::Kernel::inplace): an input element is read only where the output element at the same
// place is written, before that, by the same chunk. It holds when the output's stage loads the
// input outside its reduction and always at its own index: the emitter computes the value of a
// point before it stores it, and points are disjoint. Stages that are computed for a block of the
// output (rows of a softmax) may load it too, when what they read for a block is what the output
// writes there: they are done before the first element of the block is stored.
#include <algorithm>

#include "access.h"
#include "lowering.h"
#include "rows.h"

namespace tenon::te_lowering {

namespace {

/// Whether `load` of stage `s` reads the element number that the stage writes.
bool reads_own_element(const te::Compute& c, const te::Stage& s, const te::Expr& load) {
  std::vector<std::int64_t> want(s.axes.size() + s.reduce.size(), 0), have = want;
  std::int64_t stride = 1, constant = 0;
  for (std::size_t d = s.axes.size(); d-- > 0; stride *= s.axes[d].extent)
    want[d] = s.axes[d].extent > 1 ? stride : 0;
  const Shape shape = c.shape_of(load.n);
  stride = 1;
  for (std::size_t d = shape.size(); d-- > 0; stride *= shape[d]) {
    const te::Affine a = te::affine_of(c, s, load.args[d]);
    if (!a.ok) return false;
    constant += stride * a.constant;
    for (std::size_t k = 0; k < have.size(); ++k) have[k] += stride * a.coeff[k];
  }
  for (std::size_t k = 0; k < s.axes.size(); ++k)
    if (s.axes[k].extent <= 1) have[k] = 0;
  return constant == 0 && have == want;
}

/// Whether what `load` of the worker stage `s` reads inside the loops around it is what the root
/// writes inside them: it follows their axes with the root's own steps, and walks the same other
/// axes.
bool reads_own_block(const te::Compute& c, const Schedule& schedule, std::uint32_t s,
                     const Access& load, const InStep& step) {
  const auto root = static_cast<std::uint32_t>(c.stages.size() - 1);
  const StageSchedule& x = schedule.stages[s];
  if (x.place != Place::worker || x.at_stage != root) return false;
  const std::vector<LoopSpec>& around = schedule.stages[root].loops;
  for (std::size_t k = x.at_loop; k < around.size(); ++k)  // every chunk would read it all
    if (around[k].kind == LoopKind::parallel) return false;
  const te::Expr& e = c.exprs[load.load];
  const te::Affine index =
      e.args.size() == 1 ? te::affine_of(c, c.stages[s], e.args[0]) : te::Affine{};
  if (!index.ok || index.constant != 0) return false;
  using Walk = std::pair<std::int64_t, std::int64_t>;  // extent, step
  std::vector<Walk> read, written;
  const StageFacts own = facts_of(c, c.stages[root]), f = facts_of(c, c.stages[s]);
  std::vector<bool> outside(own.n_out, false);  // axes of the loops around stage s
  for (std::size_t k = 0; k < x.at_loop; ++k) outside[around[k].axis] = true;
  for (std::size_t a = 0; a < own.n_out; ++a)
    if (!outside[a] && own.extent[a] > 1) written.emplace_back(own.extent[a], own.store[a]);
  for (std::size_t a = 0; a < f.extent.size(); ++a) {
    const int followed = a < f.n_out ? step.follows[s][a] : -1;
    if (followed >= 0 && outside[static_cast<std::size_t>(followed)]) {
      if (load.step[a] != own.store[static_cast<std::size_t>(followed)]) return false;
      outside[static_cast<std::size_t>(followed)] = false;
    } else if (load.step[a] != 0 && f.extent[a] > 1) {
      read.emplace_back(f.extent[a], load.step[a]);
    }
  }
  if (std::ranges::count(outside, true) != 0) return false;
  std::ranges::sort(read);
  std::ranges::sort(written);
  return read == written;
}

}  // namespace

std::vector<std::pair<std::uint32_t, std::uint32_t>> inplace_pairs(const te::Compute& c,
                                                                   const Schedule& schedule) {
  const std::size_t n = c.inputs.size();
  std::vector<StageFacts> facts;
  for (const te::Stage& s : c.stages) facts.push_back(facts_of(c, s));
  const bool one_root = c.outputs.size() == 1 && c.outputs[0] + 1 == c.stages.size();
  const InStep step = one_root ? in_step(c, facts) : InStep{};
  // Per input: the output stage that alone writes over what is read of it, if there is one.
  std::vector<std::uint32_t> owner(n, te::none);
  std::vector<bool> barred(n, false);
  for (std::uint32_t s = 0; s < c.stages.size(); ++s) {
    const bool root = one_root && s + 1 == c.stages.size();
    for (const Access& a : facts[s].loads) {
      if (!c.is_input(a.tensor)) continue;
      const bool within = one_root && !root && reads_own_block(c, schedule, s, a, step);
      const bool own = !a.in_reduction && reads_own_element(c, c.stages[s], c.exprs[a.load]);
      const std::uint32_t by = within ? c.outputs[0] : s;
      if ((owner[a.tensor] != te::none && owner[a.tensor] != by) || (!within && !own))
        barred[a.tensor] = true;
      owner[a.tensor] = by;
    }
  }
  std::vector<std::pair<std::uint32_t, std::uint32_t>> pairs;
  for (std::uint32_t i = 0; i < n; ++i)
    for (std::uint32_t k = 0; k < c.outputs.size(); ++k) {
      if (barred[i] || owner[i] != c.outputs[k]) continue;
      const auto size = byte_size(c.inputs[i]);
      if (size && *size > 0 && size == byte_size(c.output_type(k)) &&
          bits(c.inputs[i].dtype) == bits(c.output_type(k).dtype))
        pairs.emplace_back(i, static_cast<std::uint32_t>(n) + k);
    }
  return pairs;
}

}  // namespace tenon::te_lowering
