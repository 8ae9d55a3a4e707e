// The family `rows`: stages that walk axes of the last one in step with it.
#ifndef TENON_PLUGINS_LOWERINGS_TE_ROWS_H
#define TENON_PLUGINS_LOWERINGS_TE_ROWS_H

#include <cstdint>
#include <optional>
#include <vector>

#include "access.h"
#include "tenon/schedule.h"
#include "tenon/target.h"

namespace tenon::te_lowering {

/// How the stages of a compute stand to the axes of its last stage, the root.
struct InStep {
  /// follows[s][a]: the axis of the root that axis `a` of stage `s` is wherever the stage is
  /// loaded, or -1.
  std::vector<std::vector<int>> follows;
  std::vector<std::uint32_t> axes;  ///< of the root: those that every stage with a reduction before
                                    ///< it follows, and what is made of such stages
  std::vector<bool> copy;           ///< stages that only rearrange inputs
};
InStep in_step(const te::Compute& c, const std::vector<StageFacts>& facts);

/// Loops over blocks of the axes that are in step; all stages but the root are computed for a block
/// in worker scratch. Nothing when no stage before the root has a reduction, when no axis is in
/// step, or when the scratch would be large.
std::optional<Schedule> rows(const te::Compute& c, const std::vector<StageFacts>& facts,
                             const TargetFacts& target, bool parallel);

}  // namespace tenon::te_lowering

#endif
