// What plans are ranked by, as planners need it to choose between their own: least total cost, then
// the pools' peaks in order. The host ranks offers by the same law.
// Stable tier, header-only, std library only.
#ifndef TENON_PLANNING_RANKING_H
#define TENON_PLANNING_RANKING_H

#include <algorithm>
#include <compare>
#include <cstdint>
#include <numeric>
#include <span>
#include <vector>

#include "tenon/planner.hpp"

namespace tenon::planning {

struct Ranking {
  std::uint64_t cost = 0;
  std::vector<std::uint64_t> peaks;  ///< rounded up to the granule
  auto operator<=>(const Ranking&) const = default;
};

/// Cost of token i in its k-th pool; sums saturate.
inline std::uint64_t cost_of(const Request& q, std::uint32_t i, std::uint32_t pool) {
  for (std::uint32_t k = 0; k < q[i].n_pools; ++k)
    if (q[i].pools[k] == pool) return q[i].cost ? q[i].cost[k] : 0;
  return 0;
}

inline Ranking rank(const Request& q, std::span<const tn_slot> slots) {
  Ranking out{0, std::vector<std::uint64_t>(q.n_pools(), 0)};
  for (std::uint32_t i = 0; i < q.size(); ++i) {
    const tn_slot s = slots[i];
    const std::uint64_t cost = cost_of(q, i, s.pool);
    out.cost = out.cost > UINT64_MAX - cost ? UINT64_MAX : out.cost + cost;
    out.peaks[s.pool] =
        std::max(out.peaks[s.pool], round_up(s.offset + q[i].size, q.pool(s.pool).granule));
  }
  return out;
}

/// Token i's pools, the cheapest first, equal ones in order of preference.
inline std::vector<std::uint32_t> pools_by_cost(const Request& q, std::uint32_t i) {
  const auto pools = q.pools(i);
  const std::uint64_t* cost = q[i].cost;
  std::vector<std::uint32_t> out(pools.begin(), pools.end());
  if (!cost || std::is_sorted(cost, cost + pools.size())) return out;
  std::iota(out.begin(), out.end(), 0u);
  std::stable_sort(out.begin(), out.end(), [&](auto a, auto b) { return cost[a] < cost[b]; });
  for (std::uint32_t& k : out) k = pools[k];
  return out;
}

}  // namespace tenon::planning

#endif
