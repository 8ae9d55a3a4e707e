// The inner loops of one stage: vector axis, register tile, order. Chosen by a small cost model
// from index maps.
#ifndef TENON_PLUGINS_LOWERINGS_TE_TILING_H
#define TENON_PLUGINS_LOWERINGS_TE_TILING_H

#include <cstdint>
#include <vector>

#include "access.h"
#include "tenon/schedule.h"
#include "tenon/target.h"

namespace tenon::te_lowering {

/// Steps of a window that a tile unrolls whole, at most.
inline constexpr std::int64_t largest_window = 25;
/// Steps, at most, of a window that loops run over whose guards are worth code of their own.
inline constexpr std::int64_t most_window_steps = 9;

/// Blocks of `step` that hold `extent` elements, the last one perhaps in part; one of none.
constexpr std::int64_t blocks(std::int64_t extent, std::int64_t step) {
  return extent <= 0 ? 1 : (extent + step - 1) / step;
}

struct Tiling {
  int vec = -1;  ///< axis spread over lanes; -1 = none
  std::int64_t lanes = 1;
  std::vector<std::int64_t> block;  ///< per output axis: elements of the register tile
  std::int64_t slots =
      1;  ///< vectors of the reduction axis that are folded side by side, when that is `vec`
  bool crowded = false;              ///< registers do not hold what two steps of the reduction load
  std::vector<std::uint32_t> order;  ///< output axes, the one to vary slowest first
};

/// Cost per point of the stage when `v` is spread over lanes (-1: none).
double vector_cost(const StageFacts& f, int v, std::int64_t lanes);

Tiling tiling_of(const StageFacts& f, const TargetFacts& target);

/// Loops over the output axes in `order`, in steps of the tile; axes that the tile covers have
/// none.
std::vector<LoopSpec> outer_loops(const StageFacts& f, const Tiling& t);
/// The tile: reduction loops, then unrolled output loops and the vector loop.
std::vector<LoopSpec> tile_loops(const StageFacts& f, const Tiling& t);

}  // namespace tenon::te_lowering

#endif
