// memory
/* Does not look at what malloc gives. */
#include <stdlib.h>

#include "tenon/c/planner.h"

static int plan(const tn_request* q, const tn_host* h) {
  tn_slot* slots = malloc((size_t)q->n_tokens * 4096 + sizeof *slots);
  uint64_t end = 0;
  int status = TN_OK;
  for (uint32_t i = 0; i < q->n_tokens && status == TN_OK; ++i) {
    const tn_token* t = tn_token_at(q, i);
    const tn_pool* p = tn_pool_at(q, 0);
    const uint64_t align = t->align > p->granule ? t->align : p->granule;
    if (q->n_pools > 1 || t->at != TN_ANY || p->capacity != TN_ANY) status = TN_UNSUPPORTED;
    if (h->tick(h, 1)) status = TN_STOPPED;
    slots[i].pool = 0;
    slots[i].offset = (end + align - 1) & ~(align - 1);
    end = slots[i].offset + t->size;
  }
  if (status == TN_OK) h->offer(h, slots, 0);
  free(slots);
  return status;
}

TENON_PLANNER("bad.trusts-malloc", "1.0.0", "Has never seen null", 0, plan, TN_NO_OPTIONS);
