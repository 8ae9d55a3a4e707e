/* A good stable plugin of two planners, one of which has options. */
#include "tenon/c/planner.h"

static int plan(const tn_request* q, const tn_host* h) {
  (void)q;
  (void)h;
  return TN_NO_FIT;
}

static const tn_option options[] = {{"tries", "int", "3", "1..64", "orders to try"}};
static const tn_planner planners[] = {
    {(uint32_t)sizeof(tn_planner), "acme.one", "First of two.", TN_POOLS, options, 1, plan},
    {(uint32_t)sizeof(tn_planner), "acme.two", "Second of two.", TN_POOLS, 0, 0, plan}};

TN_DESCRIPTOR(TN_TIER_STABLE, TN_KIND_PLANNER, "acme", "2.0.0", "two planners",
              TN_FINGERPRINT_STABLE);
TN_EXPORT const tn_planner* tenon_planner_at(uint32_t i) { return i < 2 ? &planners[i] : 0; }
