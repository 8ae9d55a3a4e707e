// work
// Works on without telling anybody.
#include "first_fit.hpp"

static int plan(const tn_request* q, const tn_host* h) {
  std::vector<tn_slot> slots;
  const int status = bad::first_fit(*q, h, bad::in_order(*q), slots);
  if (status != TN_OK) return status;
  volatile std::uint64_t sum = 0;
  for (std::uint64_t k = 0; k < std::uint64_t{q->n_tokens} * 200'000; ++k) sum = sum + k;
  return h->offer(h, slots.data(), 0), TN_OK;
}

BAD_PLANNER("deaf", "Never looks up");
