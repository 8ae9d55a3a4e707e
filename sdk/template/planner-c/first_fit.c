/* First fit: tokens in the order given, each at the lowest free offset of the first of its pools
 * that has room. Right for every request; O(tokens^2). Prefer `greedy` of Tenon where memory
 * matters: it places large tokens first. */
#include <stdlib.h>

#include "tenon/c/planner.h"

static uint64_t max_u64(uint64_t a, uint64_t b) { return a > b ? a : b; }
static uint64_t round_up(uint64_t x, uint64_t m) {
  return (x + m - 1) & ~(m - 1);
} /* m: a power of two */

static int share_a_step(const tn_token* a, const tn_token* b) {
  return a->first < b->end && b->first < a->end;
}

/* Lowest offset of token i in `pool`, or TN_ANY. Each token in its way moves it up, so this ends
 * after n moves. */
static uint64_t lowest(const tn_request* q, uint32_t i, uint32_t pool, const tn_slot* slots,
                       const char* placed) {
  const tn_token* t = tn_token_at(q, i);
  const tn_pool* p = tn_pool_at(q, pool);
  const uint64_t align = max_u64(t->align, p->granule), size = round_up(t->size, p->granule);
  uint64_t at = 0;
  for (int moved = 1; moved;) {
    moved = 0;
    for (uint32_t k = 0; k < q->n_tokens; ++k) {
      const tn_token* o = tn_token_at(q, k);
      if (!placed[k] || slots[k].pool != pool || !share_a_step(t, o)) continue;
      if (at >= slots[k].offset + round_up(o->size, p->granule) || slots[k].offset >= at + size)
        continue;
      at = round_up(slots[k].offset + o->size, align);
      moved = 1;
    }
  }
  return p->capacity == TN_ANY || (at <= p->capacity && size <= p->capacity - at) ? at : TN_ANY;
}

static int place_all(const tn_request* q, const tn_host* h, tn_slot* slots, char* placed) {
  for (uint32_t i = 0; i < q->n_tokens; ++i) { /* pins first: they do not collide */
    const tn_token* t = tn_token_at(q, i);
    if (t->at == TN_ANY) continue;
    slots[i].pool = t->pools[0];
    slots[i].offset = t->at;
    placed[i] = 1;
  }
  for (uint32_t i = 0; i < q->n_tokens; ++i) {
    const tn_token* t = tn_token_at(q, i);
    for (uint32_t k = 0; k < t->n_pools && !placed[i]; ++k) {
      slots[i].pool = t->pools[k];
      slots[i].offset = lowest(q, i, t->pools[k], slots, placed);
      placed[i] = slots[i].offset != TN_ANY;
    }
    if (!placed[i]) {
      h->say(h, i, "no room in any of its pools");
      return TN_NO_FIT;
    }
    if (h->tick(h, q->n_tokens)) return TN_STOPPED;
  }
  h->offer(h, slots, 0);
  return TN_OK;
}

static int plan(const tn_request* q, const tn_host* h) {
  tn_slot* slots = calloc((size_t)q->n_tokens + 1, sizeof *slots);
  char* placed = calloc((size_t)q->n_tokens + 1, 1);
  const int result = slots && placed ? place_all(q, h, slots, placed) : TN_FAILED;
  free(placed);
  free(slots);
  return result;
}

TENON_PLANNER("acme.first-fit-c", "1.0.0", "Tokens in order, each at its lowest free offset",
              TN_POOLS | TN_PINS, plan, TN_NO_OPTIONS);
