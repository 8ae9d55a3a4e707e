// Never shares: every token gets bytes of its own in the first of its pools that has room. The
// reference that other planners are compared with, and the safe choice when debugging: no storage
// is ever reused. Prefer it over greedy for nothing else. Cost: O(n log n).
#include <algorithm>
#include <vector>

#include "tenon/planner.hpp"

namespace {

struct Range {
  std::uint64_t lo, hi;  // bytes
};

// The lowest offset >= `from` that meets no pinned range. `pins` ascend by lo.
std::uint64_t past_pins(const std::vector<Range>& pins, std::uint64_t from, std::uint64_t size,
                        std::uint64_t step) {
  std::uint64_t at = tenon::round_up(from, step);
  for (const Range& r : pins) {
    if (r.lo >= at + size) break;
    if (r.hi > at) at = tenon::round_up(r.hi, step);
  }
  return at;
}

int plan(const tn_request* raw, const tn_host* h) {
  const tenon::Request q(*raw);
  std::vector<std::vector<Range>> pins(q.n_pools());
  std::vector<std::uint64_t> used(q.n_pools(), 0);
  std::vector<tn_slot> slots(q.size());
  for (std::uint32_t i = 0; i < q.size(); ++i)
    if (q[i].at != TN_ANY) {
      slots[i] = {q[i].pools[0], q[i].at};
      pins[slots[i].pool].push_back({q[i].at, q[i].at + q[i].size});
    }
  for (auto& p : pins)
    std::sort(p.begin(), p.end(), [](const Range& x, const Range& y) { return x.lo < y.lo; });
  for (std::uint32_t i = 0; i < q.size(); ++i) {
    if (q[i].at != TN_ANY) continue;
    bool done = false;
    for (const std::uint32_t p : q.pools(i)) {
      const tn_pool& pool = q.pool(p);
      const std::uint64_t size = tenon::round_up(q[i].size, pool.granule);
      const std::uint64_t at =
          past_pins(pins[p], used[p], size, std::max(q[i].align, pool.granule));
      if (pool.capacity != TN_ANY && (size > pool.capacity || at > pool.capacity - size)) continue;
      slots[i] = {p, at};
      used[p] = at + size;
      done = true;
      break;
    }
    if (!done) return h->say(h, i, "no room in any of its pools without sharing"), TN_NO_FIT;
  }
  h->tick(h, q.size());
  h->offer(h, slots.data(), 0);
  return TN_OK;
}

}  // namespace

TENON_PLANNER("tenon.naive", "0.1.0", "Never shares: every token has bytes of its own",
              TN_POOLS | TN_PINS, plan, TN_NO_OPTIONS);
