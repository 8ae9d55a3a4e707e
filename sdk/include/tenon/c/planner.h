/* A memory planner: the C boundary (stable tier). Works as C99, C11 and C++; one binary serves
 * every compiler, standard library and minor version of Tenon. C++ authors include
 * tenon/planner.hpp as well.
 *
 * You get pools and tokens. You give each token a slot. Hard rules, judged after you return:
 *   1  slot.pool is one of token.pools
 *   2  slot.offset is a multiple of max(token.align, pool.granule)
 *   3  slot.offset + round_up(token.size, pool.granule) <= pool.capacity
 *   4  token.at != TN_ANY: slot.offset == token.at (such a token has one pool)
 *   5  two tokens of one pool that share a step share no byte
 *
 * Guaranteed on entry: size > 0, first < end <= n_steps, align and granule are powers of two,
 * n_pools > 0, pinned tokens fit and do not collide, all sizes together stay below 2^63, tokens
 * stand in canonical order: no permutation of the user's input reaches you. `parts` and `joins`
 * only relax rule 5: to ignore them is always right, only larger.
 *
 * The same request and options must give the same offers: no globals, no clock, no environment.
 * plan() may be called from several threads at once. The host owns the request for the length of
 * the call; the author owns his scratch. No exception leaves plan().
 *
 * Growth: structs that are reached through a stride or carry struct_size grow at their end, and
 * appended fields only relax or hint. A new hard rule takes a bit in `needs`; the host refuses a
 * planner that does not understand a bit of it. tn_part, tn_join, tn_slot and tn_option never grow.
 */
#ifndef TENON_C_PLANNER_H
#define TENON_C_PLANNER_H

#include <stddef.h>
#include <stdint.h>
#ifdef __cplusplus
#include <exception>
#endif

#include "tenon/c/descriptor.h"

#ifdef __cplusplus
extern "C" {
#endif

#define TN_ANY UINT64_MAX /* no pin; no capacity */

/* Features: bits of tn_request.needs and tn_planner.understands. */
#define TN_POOLS 1u /* more than one pool */
#define TN_PINS 2u  /* some token has a pinned offset */

enum {
  TN_OK,          /* at least one offer was made; the best judged one is the answer */
  TN_PROVED,      /* the last offer is optimal under the ranking */
  TN_NO_FIT,      /* gave up; another planner may fit */
  TN_INFEASIBLE,  /* proved: nothing fits */
  TN_STOPPED,     /* obeyed tick; what was offered before counts */
  TN_UNSUPPORTED, /* this kind of request is not for me */
  TN_FAILED       /* anything else; say() why */
};

typedef struct {
  const char* name;
  uint64_t capacity; /* bytes; TN_ANY: no limit */
  uint64_t granule;  /* bytes */
} tn_pool;

typedef struct {
  uint32_t first, end; /* steps, half-open */
  uint64_t lo, hi;     /* bytes [lo, hi) of the token are occupied in these steps */
} tn_part;

typedef struct {
  const char* name;         /* for messages; unique */
  uint64_t size, align, at; /* bytes; at = pinned offset or TN_ANY */
  uint32_t first, end;      /* steps, half-open */
  const uint32_t* pools;    /* n_pools pool indices, in order of preference */
  const uint64_t*
      cost; /* cost[k]: of living in pools[k]; additive; the sum is ranked before any peak */
  uint32_t n_pools, n_parts;
  const tn_part* parts; /* hint; disjoint; n_parts = 0: all of it, always */
} tn_token;

typedef struct {
  uint32_t a, b;
  uint64_t delta;
} tn_join; /* hint: b may overlap a if b stands at a's offset + delta in a's pool; says nothing of
              other pairs */

typedef struct {
  uint32_t struct_size, pool_stride, token_stride, n_pools, n_tokens, n_joins, n_steps;
  uint64_t needs;         /* features that a planner must know to be right */
  const tn_pool* pools;   /* through tn_pool_at */
  const tn_token* tokens; /* through tn_token_at */
  const tn_join* joins;
} tn_request;

typedef struct {
  uint32_t pool;
  uint64_t offset; /* bytes from the pool's begin */
} tn_slot;

/* What the host offers to a running planner. Ranking of offers: least total cost, then the pools'
 * peaks in order. */
typedef struct tn_host {
  uint32_t struct_size;
  void* self; /* the host's */
  /* Work done since the last call; one unit is about one candidate looked at, 10 ns. Nonzero: stop
   * soon. Call it at least every 10 ms of work. Budgets are counted in these units, so they must
   * not depend on time or threads. */
  int (*tick)(const struct tn_host*, uint64_t work);
  /* One slot per token; copied and judged at once. `bound`: a lower bound that you proved, on the
   * peak (one pool) or on the total cost (several); 0 claims nothing. Nonzero: good enough, no
   * better plan exists. */
  int (*offer)(const struct tn_host*, const tn_slot* slots, uint64_t bound);
  /* A remark about a token (UINT32_MAX: about all). Copied. */
  void (*say)(const struct tn_host*, uint32_t token, const char* utf8);
  /* The value of an option of your table, checked against it: never null for a key of the table,
   * the default when unset; null for other keys. Lives as long as the call. */
  const char* (*option)(const struct tn_host*, const char* key);
  /* Run another planner on this request with at most `work` units. TN_OK or TN_PROVED: `out` has
   * n_tokens slots. */
  int (*plan)(const struct tn_host*, const char* planner, uint64_t work, tn_slot* out);
} tn_host;

/* type: bool | int | float | string | enum | bytes. range: "lo..hi" (either may be missing) for
 * numbers, "a|b|c" for an enum, "" for none. */
typedef struct {
  const char *key, *type, *dflt, *range, *doc;
} tn_option;

typedef struct {
  uint32_t struct_size;
  const char *id, *doc;
  uint64_t understands; /* features; see tn_request.needs */
  const tn_option* options;
  uint32_t n_options;
  /* A function: no object, no state, callable from any thread. */
  int (*plan)(const tn_request*, const tn_host*);
} tn_planner;

/* Elements are reached through strides, never by indexing: a newer host has longer ones. */
static inline const tn_token* tn_token_at(const tn_request* q, uint32_t i) {
  return (const tn_token*)(const void*)((const char*)q->tokens + (size_t)i * q->token_stride);
}
static inline const tn_pool* tn_pool_at(const tn_request* q, uint32_t i) {
  return (const tn_pool*)(const void*)((const char*)q->pools + (size_t)i * q->pool_stride);
}

#ifdef __cplusplus
}
#endif

/* The i-th planner of the file; null past the end. What a stable-tier planner plugin exports,
 * beside its descriptor. */
TN_EXTERN_C TN_EXPORT const tn_planner* tenon_planner_at(uint32_t i);

#define TN_NO_OPTIONS 0

/* What TENON_PLANNER exports: in C++ a function around plan() that lets no exception out. */
#if defined(__cplusplus) && defined(__cpp_exceptions)
namespace tenon {
namespace detail {
template <int (*Plan)(const tn_request*, const tn_host*)>
int guarded_plan(const tn_request* q, const tn_host* h) noexcept {
  try {
    return Plan(q, h);
  } catch (const std::exception& e) {
    h->say(h, UINT32_MAX, e.what());
  } catch (...) {
    h->say(h, UINT32_MAX, "an exception of unknown type");
  }
  return TN_FAILED;
}
}  // namespace detail
}  // namespace tenon
#define TN_GUARDED_PLAN(plan_) tenon::detail::guarded_plan<plan_>
#else
#define TN_GUARDED_PLAN(plan_) plan_
#endif

/* At file scope, once per plugin: writes the descriptor and exports the planner. In C++ an
 * exception that leaves plan_ becomes TN_FAILED with its text.
 *
 *   TENON_PLANNER("acme.first-fit", "1.0.0", "one line of doc", TN_POOLS | TN_PINS, plan_fn, opts)
 *
 * `opts` is an array of tn_option (the array itself, not a pointer), or TN_NO_OPTIONS. */
#define TENON_PLANNER(id_, version_, doc_, understands_, plan_, options_)                     \
  TN_DESCRIPTOR(TN_TIER_STABLE, TN_KIND_PLANNER, id_, version_, doc_, TN_FINGERPRINT_STABLE); \
  TN_EXTERN_C TN_EXPORT const tn_planner* tenon_planner_at(uint32_t i) {                      \
    static const tn_planner the_planner = {(uint32_t)sizeof(tn_planner),                      \
                                           id_,                                               \
                                           doc_,                                              \
                                           understands_,                                      \
                                           options_,                                          \
                                           (uint32_t)(sizeof(options_) / sizeof(tn_option)),  \
                                           TN_GUARDED_PLAN(plan_)};                           \
    return i == 0 ? &the_planner : NULL;                                                      \
  }                                                                                           \
  TN_EXTERN_C TN_EXPORT const tn_planner* tenon_planner_at(uint32_t i)

#endif
