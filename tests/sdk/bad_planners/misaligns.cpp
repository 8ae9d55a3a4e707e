// cases
// Forgets the granule of the pool: an offset is a multiple of the larger of both.
#include "first_fit.hpp"

static int plan(const tn_request* q, const tn_host* h) {
  std::vector<tn_slot> slots;
  const int status = bad::first_fit(*q, h, bad::in_order(*q), slots);
  if (status != TN_OK) return status;
  for (std::uint32_t i = 0; i < q->n_tokens; ++i)
    if (slots[i].offset && tn_token_at(q, i)->at == TN_ANY) slots[i].offset -= 1;
  return h->offer(h, slots.data(), 0), TN_OK;
}

BAD_PLANNER("misaligns", "One byte too low");
