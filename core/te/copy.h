// Moving expressions and stages between computes.
#ifndef TENON_CORE_TE_COPY_H
#define TENON_CORE_TE_COPY_H

#include <vector>

#include "tenon/te.h"

namespace tenon::te {

/// `e` with its operands renumbered by `map`.
inline Expr mapped(Expr e, const std::vector<ExprId>& map) {
  for (ExprId& a : e.args) a = map[a];
  return e;
}

/// A stage that copies `tensor`, the tensor of stage `of`.
inline Stage copy_stage(Builder& b, const Stage& of, std::uint32_t tensor) {
  Stage s{.name = of.name + "_copy",
          .dtype = of.dtype,
          .axes = of.axes,
          .align = of.align,
          .pools = of.pools};
  Expr load{.kind = Kind::load, .dtype = of.dtype, .n = tensor};
  for (std::uint32_t k = 0; k < of.axes.size(); ++k)
    load.args.push_back(b.add(Expr{.kind = Kind::axis, .dtype = DType::i64, .n = k}));
  s.value = b.add(std::move(load));
  return s;
}

/// `c` without the expressions that no stage uses, renumbered in the order in which the stages need
/// them.
Compute compact(const Compute& c);

}  // namespace tenon::te

#endif
