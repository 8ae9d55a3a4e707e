// Where conditions on one axis change: loops that are cut there need no conditions inside.
#ifndef TENON_PLUGINS_LOWERINGS_TE_CUTS_H
#define TENON_PLUGINS_LOWERINGS_TE_CUTS_H

#include <cstdint>
#include <optional>
#include <vector>

#include "tenon/te.h"

namespace tenon::te_lowering {

/// A comparison of indices: `op` compares constant + sum of coeff[k] * axis k with 0.
struct Guard {
  ScalarOp op;
  std::vector<std::int64_t> coeff;  ///< by axis number of the stage
  std::int64_t constant;
};
/// `e` of stage `s` as one; none when it is no comparison, or not of affine indices.
std::optional<Guard> guard_of(const te::Compute& c, const te::Stage& s, const te::Expr& e);

/// By output axis of `s`: the positions k, ascending, 0 < k < extent, such that a comparison of the
/// stage has one value at k - 1 and may have another at k. Only of comparisons that look at that
/// axis, reduction axes of few steps aside, alone. Axes that would make more than `most_parts`
/// parts of the nest have none.
std::vector<std::vector<std::int64_t>> cuts_of(const te::Compute& c, const te::Stage& s,
                                               std::size_t most_parts);

/// `count` blocks of `size` from `first` on.
struct Segment {
  std::int64_t first = 0, size = 0, count = 0;
  bool operator==(const Segment&) const = default;
};
/// The same blocks in the same order, in runs that hold no cut inside, or that are one block.
/// `base` is the position of the range that the blocks are part of.
std::vector<Segment> cut(const std::vector<Segment>& blocks, std::int64_t base,
                         const std::vector<std::int64_t>& cuts);

}  // namespace tenon::te_lowering

#endif
