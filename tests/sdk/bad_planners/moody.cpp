// determinism
// Lets an address decide.
#include <algorithm>

#include "first_fit.hpp"

static int plan(const tn_request* q, const tn_host* h) {
  bad::Order order = bad::in_order(*q);
  const auto mood = reinterpret_cast<std::uintptr_t>(&order) / 4096 % 7;
  std::rotate(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(mood % (q->n_tokens + 1)),
              order.end());
  return bad::offer_first_fit(*q, h, order);
}

BAD_PLANNER("moody", "Another plan every day");
