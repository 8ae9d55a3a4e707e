// What the bad planners have in common: tokens in an order, each at its lowest free offset. Each of
// them breaks one law; the first line of its file names the check of the kit that finds it.
#ifndef TENON_TESTS_SDK_BAD_PLANNERS_FIRST_FIT_HPP
#define TENON_TESTS_SDK_BAD_PLANNERS_FIRST_FIT_HPP

#include <cstdint>
#include <numeric>
#include <optional>
#include <vector>

#include "tenon/planner.hpp"

namespace bad {

using Order = std::vector<std::uint32_t>;

inline Order in_order(const tn_request& q) {
  Order order(q.n_tokens);
  std::iota(order.begin(), order.end(), 0u);
  return order;
}

/// TN_OK with `slots` filled, TN_NO_FIT, or TN_STOPPED.
inline int first_fit(const tn_request& raw, const tn_host* h, const Order& order,
                     std::vector<tn_slot>& slots) {
  tenon::Request q(raw);
  tenon::Placer placer(q);
  for (std::uint32_t i : order) {
    if (h->tick(h, 10)) return TN_STOPPED;
    if (placer.placed(i)) continue;
    std::optional<tn_slot> s;
    for (std::uint32_t p : q.pools(i))
      if ((s = placer.lowest(i, p))) break;
    if (!s) return TN_NO_FIT;
    placer.put(i, *s);
  }
  slots.assign(placer.data(), placer.data() + q.size());
  return TN_OK;
}

inline int offer_first_fit(const tn_request& q, const tn_host* h, const Order& order) {
  std::vector<tn_slot> slots;
  const int status = first_fit(q, h, order, slots);
  if (status == TN_OK) h->offer(h, slots.data(), 0);
  return status;
}

}  // namespace bad

#define BAD_PLANNER(name, doc) \
  TENON_PLANNER("bad." name, "1.0.0", doc, TN_POOLS | TN_PINS, plan, TN_NO_OPTIONS)

#endif
