// Where the elements of a block stand in a tensor.
//
// The lanes of a block are consecutive points, row-major, of the space that some axes of a stage
// span. An affine load takes lane j from  base + offset(j): `offset` depends on the block alone,
// `base` on the axes outside of the space.
#ifndef TENON_CORE_EVAL_LANES_H
#define TENON_CORE_EVAL_LANES_H

#include <cstddef>
#include <cstdint>
#include <vector>

namespace tenon::eval {

/// A row-major space with a linear function on it, brought to the fewest axes.
class LaneMap {
 public:
  LaneMap() = default;
  /// Elements per axis and the coefficient of each; axes are merged where the function is linear
  /// across them.
  LaneMap(const std::vector<std::int64_t>& extents, const std::vector<std::int64_t>& coeffs);

  /// Moves to the lanes [first, first + count).
  void place(std::int64_t first, std::size_t count);
  /// out[j] = in[offset(j)] for the lanes placed; elements of `width` bytes.
  void copy(std::size_t width, std::byte* out, const std::byte* in) const;
  /// Where the lanes lie side by side in memory: the offset of the first one.
  bool contiguous() const { return runs_.size() == 1 && stride_ == 1; }
  std::int64_t first() const { return runs_.empty() ? offsets_.front() : runs_.front().offset; }
  /// Offset of every lane.
  std::vector<std::int64_t> offsets() const;

 private:
  struct Run {
    std::size_t lane, count;
    std::int64_t offset;
  };
  std::vector<std::int64_t> extents_, coeffs_;
  std::int64_t stride_ = 0;            // between the lanes of a run
  std::vector<Run> runs_;              // when the innermost axis is long,
  std::vector<std::int64_t> offsets_;  // else lane by lane
  std::size_t count_ = 0;
};

}  // namespace tenon::eval

#endif
