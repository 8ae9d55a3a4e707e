// Figures of requests and plans: bounds, peaks, cost, rank.
#include <algorithm>

#include "core/storage/request.h"

namespace tenon {
namespace {

struct Event {
  std::uint32_t step;
  std::uint64_t bytes, granules;  ///< what is occupied, and that in whole granules
  bool part, up;
};

/// Bytes occupied in one step. Whole tokens begin at multiples of the granule and so take whole
/// granules from each other; a part may stand in the unused end of another token's last granule.
struct Sums {
  std::uint64_t bytes = 0, granules = 0, parts = 0;

  void add(const Event& e) {
    const std::uint64_t sign = e.up ? 1 : UINT64_MAX;  // unsigned arithmetic wraps back
    bytes += sign * e.bytes;
    granules += sign * e.granules;
    parts += sign * (e.part ? 1 : 0);
  }
  std::uint64_t needed() const { return parts ? bytes : granules; }
};

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
  std::vector<Event> events;
  for (std::uint32_t i = 0; i < r.tokens.size(); ++i) {
    const StorageToken& t = r.tokens[i];
    if (!in[i] || t.size == 0) continue;
    const std::uint32_t last = std::max(t.end, t.first + 1) - (joined[i] ? 1 : 0);
    const std::uint64_t granule = coarsest_common_granule(r, t);
    const auto add = [&](std::uint32_t first, std::uint32_t end, std::uint64_t bytes, bool part) {
      if (first >= end) return;
      const std::uint64_t granules = part ? bytes : round_up_to(bytes, granule);
      events.push_back({first, bytes, granules, part, true});
      events.push_back({end, bytes, granules, part, false});
    };
    if (t.parts.empty()) add(t.first, last, t.size, false);
    for (const TokenPart& p : t.parts) add(p.first, std::min(p.end, last), p.hi - p.lo, true);
  }
  std::ranges::sort(events, {}, &Event::step);
  MaxLive best;
  Sums now;
  for (std::size_t k = 0; k < events.size();) {
    const std::uint32_t step = events[k].step;
    for (; k < events.size() && events[k].step == step; ++k) now.add(events[k]);
    if (now.needed() > best.bytes) best = {now.needed(), step};
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

bool cannot_be_better(const StorageRequest& r, const StoragePlan& p) {
  return p.cost == least_cost(r) &&
         std::ranges::all_of(p.pools, [](const PoolUse& u) { return u.peak == u.bound; });
}

}  // namespace tenon
