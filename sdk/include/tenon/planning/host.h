// What planners do with their host beyond offers. Stable tier, header-only, std library only.
#ifndef TENON_PLANNING_HOST_H
#define TENON_PLANNING_HOST_H

#include <cstdint>
#include <new>
#include <vector>

#include "tenon/planner.hpp"

namespace tenon::planning {

/// Runs planner `id` with at most `work` units (0: what is left). False, and `slots` are of no use,
/// when it is not there or has no plan.
inline bool ask(const Request& q, const tn_host* h, const char* id, std::uint64_t work,
                std::vector<tn_slot>& slots) {
  slots.resize(q.size());
  const int status = h->plan(h, id, work, slots.data());
  return status == TN_OK || status == TN_PROVED;
}

/// run(), and TN_FAILED where memory is short: no exception leaves a planner.
template <class Run>
int guarded(const tn_host* h, Run run) {
  try {
    return run();
  } catch (const std::bad_alloc&) {
    h->say(h, UINT32_MAX, "out of memory");
    return TN_FAILED;
  }
}

}  // namespace tenon::planning

#endif
