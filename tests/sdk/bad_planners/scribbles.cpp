// read-only
// Marks what it has placed in the request itself.
#include "first_fit.hpp"

static int plan(const tn_request* q, const tn_host* h) {
  std::vector<tn_slot> slots;
  const int status = bad::first_fit(*q, h, bad::in_order(*q), slots);
  for (std::uint32_t i = 0; i < q->n_tokens && status == TN_OK; ++i)
    const_cast<tn_token*>(tn_token_at(q, i))->name = "placed";
  if (status == TN_OK) h->offer(h, slots.data(), 0);
  return status;
}

BAD_PLANNER("scribbles", "Writes into the request");
