// The loops of scheduled stages. Knows no family: it follows the loop list of each stage.
//
// The list of a stage with a reduction is cut at its first reduction loop, that of another stage at
// its trailing unroll and vector loops: what stands before the cut becomes loops; what output loops
// stand behind it make the register tile. All extents are constants: where a loop does not divide
// its range, its body is emitted once per size of block.
#ifndef TENON_PLUGINS_LOWERINGS_TE_NEST_H
#define TENON_PLUGINS_LOWERINGS_TE_NEST_H

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "code.h"
#include "cuts.h"
#include "eval.h"
#include "tenon/schedule.h"
#include "tenon/te.h"

namespace tenon::te_lowering {

/// Part of an axis: [base, base + extent).
struct Range {
  Lin base;
  std::int64_t extent = 0;
  bool operator==(const Range&) const = default;
};

/// Cuts [0, extent) into blocks of `step`, or, when `balanced`, into as few blocks of nearly equal
/// size, all but the last one multiples of `quantum`. Larger blocks first.
std::vector<Segment> split(std::int64_t extent, std::int64_t step, std::int64_t quantum,
                           bool balanced);

class Nest {
 public:
  Nest(Code& code, const te::Compute& c, const Schedule& s, bool fast_math);
  /// Memory of tensor `t`; set for inputs, outputs and shared stages before emit().
  void set_memory(std::uint32_t t, Memory m) { memory_[t] = std::move(m); }
  /// All stages that are not attached to others, in order. Sets extent.
  void emit();
  std::uint64_t worker_bytes() const { return worker_bytes_; }

 private:
  struct Active;  // a stage under emission
  void stage(std::uint32_t s, const std::vector<Range>& axes);
  void loops(Active& a, std::size_t i);
  void parallel(Active& a);
  void decode(Active& a, std::size_t i, const std::vector<VarId>& index);
  void decode_among(Active& a, std::size_t i, const std::vector<VarId>& index,
                    std::span<const Segment> parts, std::int64_t seen);
  void attached(Active& a, std::size_t i);
  void request(const te::Stage& s, const std::vector<Range>& ranges,
               std::vector<std::vector<Range>>& regions);
  void allocate(std::uint32_t s, const std::vector<Range>& region);
  void tile(Active& a);
  void fold(Active& a);
  bool unrolls_reduction(const Active& a) const;
  void find_window(Active& a) const;
  bool is_decided(const Active& a, std::uint32_t axis) const;
  void positions(Active& a, std::size_t i, Point p, std::vector<Range> ranges);
  void reduce(Active& a, std::size_t i, std::size_t slot);
  void accumulate(Active& a, std::size_t slot);
  void finish(Active& a);
  std::vector<Segment> segments(const Active& a, std::size_t i) const;

  Code& code_;
  const te::Compute& c_;
  const Schedule& schedule_;
  std::vector<Memory> memory_;
  std::vector<std::vector<std::int64_t>> allocated_;  // worker stages: extents
  std::uint64_t worker_bytes_ = 0;
  Eval eval_;
};

}  // namespace tenon::te_lowering

#endif
