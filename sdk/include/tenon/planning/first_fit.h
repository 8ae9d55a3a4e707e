// One token after the other, in an order, at the lowest free offset (or in the tightest gap) of the
// first of its pools that has room. Uses parts and joins; the way to fill pools that cannot hold
// all that would like to live there. Cost: O(n^2) at worst, with a small factor.
// Stable tier, header-only, std library only.
#ifndef TENON_PLANNING_FIRST_FIT_H
#define TENON_PLANNING_FIRST_FIT_H

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <optional>
#include <vector>

#include "tenon/planner.hpp"
#include "tenon/planning/candidates.h"
#include "tenon/planning/ranking.h"

namespace tenon::planning {

enum class Order : std::uint8_t {
  dearest,   ///< what loses most per byte and step when it lives elsewhere; then the largest
  largest,   ///< most bytes
  area,      ///< most bytes times steps
  earliest,  ///< first step
  longest    ///< most steps
};
inline constexpr Order kOrders[] = {Order::largest, Order::area, Order::dearest, Order::earliest,
                                    Order::longest};

/// Tokens in that order; equal ones in canonical order.
inline std::vector<std::uint32_t> sorted(const Request& q, Order order) {
  std::vector<double> key(q.size());
  for (std::uint32_t i = 0; i < q.size(); ++i) {
    const tn_token& t = q[i];
    const double steps = t.end - t.first, size = double(t.size);
    switch (order) {
      case Order::largest:
        key[i] = size;
        break;
      case Order::area:
        key[i] = size * steps;
        break;
      case Order::earliest:
        key[i] = -double(t.first);
        break;
      case Order::longest:
        key[i] = steps;
        break;
      case Order::dearest:
        if (t.n_pools > 1 && t.cost) {
          const auto [least, most] = std::minmax_element(t.cost, t.cost + t.n_pools);
          key[i] = double(*most - *least) / (size * steps);
        }
        break;
    }
  }
  std::vector<std::uint32_t> out(q.size());
  std::iota(out.begin(), out.end(), 0u);
  std::stable_sort(out.begin(), out.end(), [&](auto a, auto b) {
    return key[a] != key[b] ? key[a] > key[b] : order == Order::dearest && q[a].size > q[b].size;
  });
  return out;
}

struct FirstFit {
  bool stopped = false;
  std::uint32_t homeless = kNone;  ///< the first token without room, or kNone: all are placed
};

/// Places what is not placed yet. Stops early when stop(work since its last call) says so.
template <class Stop>
FirstFit first_fit(const Request& q, const std::vector<std::uint32_t>& order, Placer& placer,
                   Fit fit, Stop stop) {
  std::uint64_t told = placer.work(), sorting = 0;
  const auto since = [&] {
    return placer.work() - std::exchange(told, placer.work()) + std::exchange(sorting, 0);
  };
  for (const std::uint32_t i : order) {
    if (placer.placed(i)) continue;
    std::optional<tn_slot> s;
    sorting += 3 * q[i].n_pools;
    for (const std::uint32_t p : pools_by_cost(q, i))
      if ((s = placer.find(i, p, fit))) break;
    if (!s) return {false, i};
    placer.put(i, *s);
    if (placer.work() - told + sorting > 100'000 && stop(since())) return {true, kNone};
  }
  stop(since());
  return {};
}

}  // namespace tenon::planning

#endif
