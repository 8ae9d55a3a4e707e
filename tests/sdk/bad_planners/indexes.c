// strides
/* Reaches tokens by indexing: a newer host's are longer. */
#include <stdlib.h>

#include "tenon/c/planner.h"

static int plan(const tn_request* q, const tn_host* h) {
  tn_slot* slots = malloc(((size_t)q->n_tokens + 1) * sizeof *slots);
  uint64_t end = 0;
  if (!slots) return TN_FAILED;
  for (uint32_t i = 0; i < q->n_tokens; ++i) {
    const tn_token* t = &q->tokens[i];
    if (q->n_pools > 1 || t->at != TN_ANY || q->pools[0].capacity != TN_ANY || h->tick(h, 1)) {
      free(slots);
      return TN_UNSUPPORTED;
    }
    const uint64_t align = t->align > q->pools[0].granule ? t->align : q->pools[0].granule;
    slots[i].pool = 0;
    slots[i].offset = (end + align - 1) & ~(align - 1);
    end = slots[i].offset + t->size;
  }
  h->offer(h, slots, 0);
  free(slots);
  return TN_OK;
}

TENON_PLANNER("bad.indexes", "1.0.0", "Indexes tokens", 0, plan, TN_NO_OPTIONS);
