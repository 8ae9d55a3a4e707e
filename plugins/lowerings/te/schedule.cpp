// The second sub-slot: which family schedules a compute.
#include <algorithm>

#include "lowering.h"

namespace tenon::te_lowering {

namespace {

Schedule naive(const te::Compute& c) {
  Schedule r{.family = "naive", .stages = {}};
  for (std::uint32_t s = 0; s < c.stages.size(); ++s) {
    StageSchedule x;
    x.place = std::find(c.outputs.begin(), c.outputs.end(), s) != c.outputs.end() ? Place::output : Place::shared;
    const std::size_t n = c.stages[s].axes.size() + c.stages[s].reduce.size();
    for (std::uint32_t a = 0; a < n; ++a) x.loops.push_back({a, 1, LoopKind::serial});
    r.stages.push_back(std::move(x));
  }
  return r;
}

}  // namespace

Result<Schedule> schedule(const te::Compute& c, const TargetFacts&, const OptionValues&) { return naive(c); }

}  // namespace tenon::te_lowering
