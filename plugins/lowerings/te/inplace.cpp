// Which inputs an output may overwrite, read off the scheduled kernel.
//
// Law (tir::Kernel::inplace): an input element is read only where the output element at the same
// place is written, before that, by the same chunk. It holds when no stage but the output's loads
// the input, outside its reduction, and always at the output's own index: the emitter computes the
// value of a point before it stores it, and points are disjoint.
#include "lowering.h"

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

}  // namespace

std::vector<std::pair<std::uint32_t, std::uint32_t>> inplace_pairs(const te::Compute& c,
                                                                   const Schedule&) {
  const std::size_t n = c.inputs.size();
  // Per input: the only stage that loads it, if it may be overwritten by that stage; else none.
  std::vector<std::uint32_t> owner(n, te::none);
  std::vector<bool> barred(n, false);
  for (std::uint32_t s = 0; s < c.stages.size(); ++s) {
    std::vector<bool> folded(c.exprs.size(), false);
    for (te::ExprId id : te::reachable(c, c.stages[s].value))
      if (c.exprs[id].kind == te::Kind::reduce)
        for (te::ExprId in : te::reachable(c, c.exprs[id].args[0])) folded[in] = true;
    for (te::ExprId id : te::reachable(c, c.stages[s].value)) {
      const te::Expr& e = c.exprs[id];
      if (e.kind != te::Kind::load || !c.is_input(e.n)) continue;
      const bool other_stage = owner[e.n] != te::none && owner[e.n] != s;
      if (other_stage || folded[id] || !reads_own_element(c, c.stages[s], e)) barred[e.n] = true;
      owner[e.n] = s;
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
