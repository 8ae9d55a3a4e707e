// Figures of requests and plans: bounds, peaks, cost, rank.
#include <algorithm>

#include "core/storage/request.h"

namespace tenon {
namespace {

struct Event {
  std::uint32_t step;
  std::uint64_t bytes;
  bool up;
};

void add_events(std::vector<Event>& events, std::uint32_t first, std::uint32_t end,
                std::uint64_t bytes) {
  if (first >= end) return;
  events.push_back({first, bytes, true});
  events.push_back({end, bytes, false});
}

// Without hints in play, whole granules are taken; a part may share the granule of another token's
// end.
bool plain(const StorageRequest& r) {
  return r.joins.empty() && std::all_of(r.tokens.begin(), r.tokens.end(),
                                        [](const auto& t) { return t.parts.empty(); });
}

std::uint64_t coarsest_common_granule(const StorageRequest& r, const StorageToken& t) {
  std::uint64_t g = UINT64_MAX;
  for (const std::uint32_t p : t.pools) g = std::min(g, r.pools[p].granule);
  return t.pools.empty() ? 1 : g;
}

std::uint64_t add_capped(std::uint64_t a, std::uint64_t b) {
  return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

}  // namespace

MaxLive max_live(const StorageRequest& r, std::span<const char> in) {
  std::vector<char> joined(r.tokens.size(), 0);
  for (const TokenJoin& j : r.joins) joined[j.a] = 1;
  const bool whole = plain(r);
  std::vector<Event> events;
  for (std::uint32_t i = 0; i < r.tokens.size(); ++i) {
    const StorageToken& t = r.tokens[i];
    if (!in[i] || t.size == 0) continue;
    const std::uint32_t last = std::max(t.end, t.first + 1) - (joined[i] ? 1 : 0);
    if (t.parts.empty())
      add_events(events, t.first, last,
                 whole ? round_up_to(t.size, coarsest_common_granule(r, t)) : t.size);
    for (const TokenPart& p : t.parts)
      add_events(events, p.first, std::min(p.end, last), p.hi - p.lo);
  }
  std::sort(events.begin(), events.end(), [](const Event& a, const Event& b) {
    return a.step != b.step ? a.step < b.step : a.up < b.up;
  });
  MaxLive best;
  std::uint64_t now = 0;
  for (const Event& e : events) {
    if (!e.up) {
      now -= e.bytes;
      continue;
    }
    now += e.bytes;
    if (now > best.bytes) best = {now, e.step};
  }
  return best;
}

std::vector<std::uint64_t> pool_bounds(const StorageRequest& r) {
  std::vector<std::uint64_t> out;
  std::vector<char> in(r.tokens.size());
  for (std::uint32_t p = 0; p < r.pools.size(); ++p) {
    std::uint64_t pinned = 0;
    for (std::uint32_t i = 0; i < r.tokens.size(); ++i) {
      const StorageToken& t = r.tokens[i];
      in[i] = t.pools.size() == 1 && t.pools[0] == p;
      if (in[i] && t.at) pinned = std::max(pinned, *t.at + t.size);
    }
    out.push_back(round_up_to(std::max(pinned, max_live(r, in).bytes), r.pools[p].granule));
  }
  return out;
}

std::strong_ordering compare(const Rank& a, const Rank& b) {
  if (a.feasible != b.feasible)
    return a.feasible ? std::strong_ordering::less : std::strong_ordering::greater;
  if (auto c = a.cost <=> b.cost; c != 0) return c;
  return a.peaks <=> b.peaks;
}

Rank rank_of(const StoragePlan& p) {
  Rank r{true, p.cost, {}};
  for (const PoolUse& u : p.pools) r.peaks.push_back(u.peak);
  return r;
}

void measure(const StorageRequest& r, StoragePlan& plan) {
  plan.pools.assign(r.pools.size(), {});
  plan.cost = 0;
  for (std::uint32_t i = 0; i < r.tokens.size(); ++i) {
    const StorageToken& t = r.tokens[i];
    const Slot s = plan.slots[i];
    PoolUse& use = plan.pools[s.pool];
    const std::uint64_t end = round_up_to(s.offset + t.size, r.pools[s.pool].granule);
    if (end > use.peak || (end == use.peak && t.first < use.peak_step)) {
      use.peak = end;
      use.peak_step = t.first;
    }
    const auto k = std::find(t.pools.begin(), t.pools.end(), s.pool) - t.pools.begin();
    if (static_cast<std::size_t>(k) < t.cost.size()) plan.cost = add_capped(plan.cost, t.cost[k]);
  }
  const auto bounds = pool_bounds(r);
  for (std::size_t p = 0; p < bounds.size(); ++p) plan.pools[p].bound = bounds[p];
}

std::uint64_t least_cost(const StorageRequest& r) {
  std::uint64_t sum = 0;
  for (const StorageToken& t : r.tokens)
    if (!t.cost.empty()) sum = add_capped(sum, *std::min_element(t.cost.begin(), t.cost.end()));
  return sum;
}

}  // namespace tenon
