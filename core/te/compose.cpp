// One Compute out of several: expressions are renumbered into one builder, stages are concatenated.
#include <algorithm>

#include "core/te/copy.h"
#include "tenon/diag.h"

namespace tenon::te {

Compute compose(std::vector<TensorType> inputs, std::span<const Part> parts,
                std::span<const std::pair<std::uint32_t, std::uint32_t>> results) {
  Builder b(inputs);
  Compute out;
  out.inputs = std::move(inputs);
  const auto n_inputs = static_cast<std::uint32_t>(out.inputs.size());
  std::vector<std::uint32_t> first_stage;  // of each part, in the result
  for (const Part& p : parts) {
    const Compute& c = *p.compute;
    TENON_CHECK(p.inputs.size() == c.inputs.size());
    const auto base = static_cast<std::uint32_t>(out.stages.size());
    first_stage.push_back(base);
    auto tensor = [&](std::uint32_t t) {
      if (!c.is_input(t))
        return n_inputs + base + (t - static_cast<std::uint32_t>(c.inputs.size()));
      auto [part, index] = p.inputs[t];
      if (part < 0) return index;
      const auto q = static_cast<std::size_t>(part);
      return n_inputs + first_stage[q] + parts[q].compute->outputs[index];
    };
    std::vector<ExprId> map(c.exprs.size(), none);
    for (ExprId id = 0; id < c.exprs.size(); ++id) {
      Expr e = mapped(c.exprs[id], map);
      if (e.kind == Kind::load) e.n = tensor(e.n);
      map[id] = b.add(std::move(e));
    }
    for (Stage s : c.stages) {
      s.value = map[s.value];
      out.stages.push_back(std::move(s));
    }
  }
  for (auto [part, k] : results) {
    std::uint32_t s = first_stage[part] + parts[part].compute->outputs[k];
    if (std::find(out.outputs.begin(), out.outputs.end(), s) != out.outputs.end()) {
      out.stages.push_back(copy_stage(b, out.stages[s], n_inputs + s));
      s = static_cast<std::uint32_t>(out.stages.size() - 1);
    }
    out.outputs.push_back(s);
  }
  out.exprs = b.take().exprs;
  return out;
}

}  // namespace tenon::te
