// Which operands of an anchor are worth a copy, and the stages that make it.
#include <algorithm>
#include <numeric>

#include "access.h"
#include "lowering.h"
#include "rows.h"
#include "tensorise.h"
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

/// A load that is worth a copy, and the axis that the copy lays side by side.
struct Choice {
  const Access* load = nullptr;
  int vec = -1;
};

/// An operand of which a copy lets lanes run over an output axis, where as things are they run over
/// the reduction and are folded for every element.
Choice instead_of_folds(const te::Compute& c, const StageFacts& f, const Tiling& t) {
  for (int v = static_cast<int>(f.n_out) - 1; v >= 0; --v) {
    const Access* strided = nullptr;
    bool one = true;
    for (const Access& a : f.loads) {
      if (!a.in_reduction || a.step[v] == 0 || a.step[v] == 1) continue;
      one &= strided == nullptr && c.is_input(a.tensor);
      strided = &a;
    }
    if (!one || !strided || f.extent[v] < t.lanes) continue;
    std::int64_t reuse = 1;
    std::uint64_t volume = bits(c.dtype_of(strided->tensor)) / 8;
    bool regular = true;
    for (std::size_t k = 0; k < f.extent.size(); ++k) {
      regular &= strided->step[k] != irregular && strided->step[k] >= 0;
      if (strided->step[k] == 0 && k < f.n_out) reuse *= f.extent[k];
      const bool in_panel = k >= f.n_out || static_cast<int>(k) == v;
      if (strided->step[k] != 0 && in_panel) volume *= static_cast<std::uint64_t>(f.extent[k]);
    }
    if (!regular || reuse < 16 || volume > most_scratch) continue;
    StageFacts with_copy = f;
    with_copy.loads[static_cast<std::size_t>(strided - f.loads.data())].step[v] = 1;
    const double copying = 2.0 / static_cast<double>(reuse);  // strided loads, per element used
    if (vector_cost(with_copy, v, t.lanes) + copying < 0.6 * vector_cost(f, t.vec, t.lanes))
      return {strided, v};
  }
  return {};
}

Choice choose(const te::Compute& c, const StageFacts& f, const TargetFacts& target) {
  if (!f.reduction || f.tensor >= 0) return {};
  const Tiling t = tiling_of(f, target);
  if (t.vec < 0) return {};
  if (t.vec >= static_cast<int>(f.n_out)) return instead_of_folds(c, f, t);
  for (const Access& a : f.loads)
    if (worth_a_copy(c, f, t, a)) return {&a, t.vec};
  return {};
}

}  // namespace

te::Compute pack_operands(const te::Compute& c, const TargetFacts& target, const Options& options) {
  if (c.stages.empty() || c.outputs.size() != 1 || c.outputs[0] + 1 != c.stages.size()) return c;
  std::uint64_t work = 0;
  std::vector<StageFacts> facts;
  for (const te::Stage& s : c.stages) {
    facts.push_back(facts_for(c, s, target));
    work = checked_add(work, work_of(c, s)).value_or(UINT64_MAX);
  }
  if (work < static_cast<std::uint64_t>(options.parallel_work)) return c;
  if (c.stages.size() > 1 && !rows(c, facts, target, true)) return c;
  std::vector<Choice> choices;
  for (const StageFacts& f : facts) {
    choices.push_back(choose(c, f, target));
    if (const Access* a = choices.back().load; a && c.exprs[a->load].args.size() != 1)
      choices.back() = {};
  }
  if (std::ranges::none_of(choices, [](const Choice& x) { return x.load != nullptr; })) return c;

  te::Compute r{.inputs = c.inputs, .stages = {}, .outputs = {}, .exprs = {}};
  te::Builder b(c.inputs);
  std::vector<std::uint32_t> tensor(c.inputs.size() + c.stages.size());  // old -> new
  std::iota(tensor.begin(), tensor.end(), 0u);
  for (std::size_t n = 0; n < c.stages.size(); ++n) {
    te::Stage s = c.stages[n];
    const Choice& chosen = choices[n];
    std::vector<std::size_t> order;
    if (chosen.load) r.stages.push_back(copy_of(b, c, s, *chosen.load, chosen.vec, order));
    const auto copy = static_cast<std::uint32_t>(c.inputs.size() + r.stages.size() - 1);
    std::vector<te::ExprId> map(s.value + 1, te::none);
    for (te::ExprId id : te::reachable(c, s.value)) {
      te::Expr e = c.exprs[id];
      if (e.kind == te::Kind::load) e.n = tensor[e.n];
      if (chosen.load && id == chosen.load->load) {
        e.n = copy;
        e.args.clear();
        for (std::size_t k : order)
          e.args.push_back(b.add(
              {.kind = te::Kind::axis, .dtype = DType::i64, .n = static_cast<std::uint32_t>(k)}));
      } else {
        for (te::ExprId& a : e.args) a = map[a];
      }
      map[id] = b.add(std::move(e));
    }
    s.value = map[s.value];
    tensor[c.inputs.size() + n] = static_cast<std::uint32_t>(c.inputs.size() + r.stages.size());
    r.stages.push_back(std::move(s));
  }
  r.outputs = {static_cast<std::uint32_t>(r.stages.size() - 1)};
  r.exprs = b.take().exprs;
  return r;
}

}  // namespace tenon::te_lowering
