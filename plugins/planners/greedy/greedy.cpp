// Largest first, each at the lowest free offset of the first of its pools that has room; uses parts
// and joins. A few more orders are tried while that is cheap, and the host keeps the best. Never
// worse than tenon.naive where that one is loaded. Prefer it as the default. Cost: O(n^2) at worst,
// with a small factor; 60 000 tokens of a network take a second.
#include <algorithm>
#include <cstdlib>
#include <numeric>
#include <vector>

#include "tenon/planner.hpp"

namespace {

constexpr std::uint64_t kCheap =
    100'000'000;  // units of work, about 1 s: beyond, the orders tried have to do

using Order = std::vector<std::uint32_t>;
using Key = std::uint64_t (*)(const tn_token&);

std::uint64_t by_size(const tn_token& t) { return t.size; }
std::uint64_t by_start(const tn_token&) {
  return 0;
}  // stable: canonical order, which begins with the first step
std::uint64_t by_area(const tn_token& t) { return t.size / 64 * (t.end - t.first); }
constexpr Key kOrders[] = {by_size, by_area, by_start};

// Places all tokens in `order`; the token without room, or UINT32_MAX. Returns early when the host
// says stop.
std::uint32_t place(const tenon::Request& q, const tn_host* h, const Order& order,
                    tenon::Placer& placer, bool& stopped) {
  std::uint64_t told = 0;
  for (const std::uint32_t i : order) {
    if (placer.placed(i)) continue;
    std::optional<tn_slot> s;
    for (const std::uint32_t p : q.pools(i))
      if ((s = placer.lowest(i, p))) break;
    if (!s) return i;
    placer.put(i, *s);
    if (placer.work() - told > 100'000) {
      if ((stopped = h->tick(h, placer.work() - told) != 0)) return UINT32_MAX;
      told = placer.work();
    }
  }
  h->tick(h, placer.work() - told);  // a finished layout is worth its offer, whatever the answer
  return UINT32_MAX;
}

int plan(const tn_request* raw, const tn_host* h) {
  const tenon::Request q(*raw);
  const auto tries = static_cast<std::size_t>(std::strtoul(h->option(h, "orders"), nullptr, 10));
  Order order(q.size());
  bool fits = false, stopped = false;
  std::uint32_t homeless = UINT32_MAX;
  std::uint64_t work = 0;
  for (std::size_t k = 0; k < std::min(tries, std::size(kOrders)) && (!fits || work < kCheap);
       ++k) {
    std::iota(order.begin(), order.end(), 0u);
    std::stable_sort(order.begin(), order.end(),
                     [&](auto a, auto b) { return kOrders[k](q[a]) > kOrders[k](q[b]); });
    tenon::Placer placer(q, tenon::Placer::Hints::exact);
    const std::uint32_t left = place(q, h, order, placer, stopped);
    if (stopped) return TN_STOPPED;
    work += placer.work();
    if (left != UINT32_MAX) {
      homeless = left;
      continue;
    }
    fits = true;
    if (h->offer(h, placer.data(), 0) != 0) return TN_OK;
  }
  // A sharing order may crowd a small pool that an unsharing one leaves to better-paying tokens.
  if (std::vector<tn_slot> slots(q.size());
      (q.n_pools() > 1 || !fits) && h->plan(h, "tenon.naive", 0, slots.data()) <= TN_PROVED) {
    h->offer(h, slots.data(), 0);
    fits = true;
  }
  if (!fits) h->say(h, homeless, "no room in any of its pools");
  return fits ? TN_OK : TN_NO_FIT;
}

const tn_option kOptions[] = {
    {"orders", "int", "3", "1..3",
     "how many orders to try: largest first, largest area first, earliest first"}};

}  // namespace

TENON_PLANNER("tenon.greedy", "0.1.0",
              "Largest first, lowest free offset, in every pool; uses parts and joins",
              TN_POOLS | TN_PINS, plan, kOptions);
