// Largest token first, at the lowest free offset of the first of its pools that has room.
#include <algorithm>
#include <cstdint>
#include <functional>
#include <numeric>
#include <optional>
#include <vector>

#include "tenon/planner.hpp"

static int plan(const tn_request* raw,
                const tn_host* h) {  // largest first; the first pool with room
  tenon::Request q{*raw};
  std::vector<std::uint32_t> order(q.size());
  std::iota(order.begin(), order.end(), 0u);
  std::ranges::stable_sort(order, std::greater{}, [&](auto i) { return q[i].size; });
  tenon::Placer placer(q);  // pins are in
  for (auto i : order) {
    if (placer.placed(i)) continue;
    std::optional<tn_slot> s;
    for (auto p : q.pools(i))
      if ((s = placer.lowest(i, p))) break;
    if (!s) return h->say(h, i, "no room in any of its pools"), TN_NO_FIT;
    placer.put(i, *s);
  }
  return h->offer(h, placer.data(), 0), TN_OK;
}

TENON_PLANNER("acme.first-fit", "1.0.0", "Largest first, the first pool with room",
              TN_POOLS | TN_PINS, plan, TN_NO_OPTIONS);
