// stop
// Asks, and does not listen to the answer.
#include "first_fit.hpp"

static int plan(const tn_request* q, const tn_host* h) {
  std::vector<tn_slot> slots;
  const int status = bad::first_fit(*q, h, bad::in_order(*q), slots);
  for (int k = 0; k < 3000; ++k) h->tick(h, 1000);
  if (status == TN_OK) h->offer(h, slots.data(), 0);
  return status;
}

BAD_PLANNER("goes-on", "Does not stop");
