// Another planner's plan, as a start for one's own. Stable tier, header-only, std library only.
#ifndef TENON_PLANNING_ASK_H
#define TENON_PLANNING_ASK_H

#include <cstdint>
#include <vector>

#include "tenon/planner.hpp"

namespace tenon::planning {

/// Runs planner `id` with at most `work` units (0: what is left). False, and `slots` are of no use,
/// when it is not there or has no plan.
inline bool ask(const Request& q, const tn_host* h, const char* id, std::uint64_t work,
                std::vector<tn_slot>& slots) {
  slots.assign(q.size() + std::size_t{1}, {});  // a request without tokens needs an address too
  const int status = h->plan(h, id, work, slots.data());
  slots.resize(q.size());
  return status == TN_OK || status == TN_PROVED;
}

}  // namespace tenon::planning

#endif
