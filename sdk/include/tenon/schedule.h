// Schedules: how the stages of a Compute become loops. Data: printed, parsed, changed by plugins.
//
// A stage's loops are listed from outermost to innermost as `axis/step kind`. A loop runs over its
// axis in steps of `step`, inside the range that the enclosing loop of the same axis (or the whole
// axis) leaves, so
//   i/6 parallel, j/64, k, i unroll, j/16 unroll, j vector 16
// is a register-tiled matrix product. Output axes and reduction axes are numbered as in te.h.
#ifndef TENON_SCHEDULE_H
#define TENON_SCHEDULE_H

#include <cstdint>
#include <string>
#include <vector>

namespace tenon {

enum class LoopKind : std::uint8_t {
  serial,
  parallel,  ///< part of the kernel's parallel range; such loops come first
  unroll,    ///< unrolled by lowering
  vector,    ///< `step` lanes at once; the innermost loop of its axis
  tensor,    ///< `step` steps of the reduction by one instruction. Of 4 steps of a sum of products
             ///< i32(u8) * i32(i8), whose bytes lie side by side: one multiplies the four and adds
};

struct LoopSpec {
  std::uint32_t axis = 0;
  std::int64_t step = 1;
  LoopKind kind = LoopKind::serial;
  bool operator==(const LoopSpec&) const = default;
};

enum class Place : std::uint8_t {
  output,  ///< the stage is an output of the compute: stored to its buffer
  shared,  ///< computed whole before its consumers, into shared scratch (extent of the kernel is
           ///< then 1)
  worker,  ///< computed in the part its consumer needs, at that loop of the consumer, into worker
           ///< scratch
};

struct StageSchedule {
  Place place = Place::output;
  std::uint32_t at_stage = 0;  ///< worker: the consumer ...
  std::uint32_t at_loop = 0;   ///< ... and how many of its loops enclose this stage
  std::vector<LoopSpec> loops;
  bool operator==(const StageSchedule&) const = default;
};

struct Schedule {
  std::string family;                 ///< who chose it: "naive", "tile", ...; for people
  std::vector<StageSchedule> stages;  ///< one per stage of the compute
  bool operator==(const Schedule&) const = default;
};

}  // namespace tenon

#endif
