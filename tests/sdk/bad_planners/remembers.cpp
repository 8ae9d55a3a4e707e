// threads
// Keeps its scratch between calls, and shares it.
#include "first_fit.hpp"

static std::vector<tn_slot> slots;
static std::uint32_t calls;

static int plan(const tn_request* q, const tn_host* h) {
  const std::uint32_t mine = ++calls;
  bad::Order order = bad::in_order(*q);
  std::vector<tn_slot> fresh;
  const int status = bad::first_fit(*q, h, order, fresh);
  if (mine % 2 == 0) std::swap(slots, fresh);
  const std::vector<tn_slot>& answer = mine % 2 == 0 ? slots : fresh;
  if (status != TN_OK || answer.size() != q->n_tokens) return TN_NO_FIT;
  h->offer(h, answer.data(), mine % 3);
  return TN_OK;
}

BAD_PLANNER("remembers", "Knows what you asked last time");
