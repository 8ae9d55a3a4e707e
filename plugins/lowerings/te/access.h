// What schedules are chosen from: how each load of a stage moves when an axis does.
#ifndef TENON_PLUGINS_LOWERINGS_TE_ACCESS_H
#define TENON_PLUGINS_LOWERINGS_TE_ACCESS_H

#include <cstdint>
#include <vector>

#include "tenon/te.h"

namespace tenon::te_lowering {

inline constexpr std::int64_t irregular =
    INT64_MIN;  ///< the index is no affine function of the axis

struct Access {
  te::ExprId load = te::none;
  std::uint32_t tensor = 0;
  bool in_reduction = false;       ///< evaluated once per point of the reduction
  std::vector<std::int64_t> step;  ///< elements moved per step of each axis of the stage
};

struct StageFacts {
  std::vector<std::int64_t>
      extent;  ///< by axis number; a schedule may take an axis as 1 when a loop outside fixes it
  std::size_t n_out = 0;
  std::vector<Access> loads;
  std::vector<std::int64_t> store;  ///< elements moved per step of each output axis
  const te::Expr* reduction = nullptr;
  unsigned element_bytes = 1;  ///< widest type that is computed with
  unsigned operations = 1;     ///< scalar operations per point of the reduction, or of the output
  bool transcendental = false;
  int tensor = -1;  ///< reduction axis that an instruction takes whole (tensorise.h), or -1: the
                    ///< axis then has one element, and loads of the reduction move by its groups
  std::int64_t reduction_volume() const {
    std::int64_t n = 1;
    for (std::size_t a = n_out; a < extent.size(); ++a) n *= extent[a] > 0 ? extent[a] : 1;
    return n;
  }
};

StageFacts facts_of(const te::Compute& c, const te::Stage& s);

}  // namespace tenon::te_lowering

#endif
