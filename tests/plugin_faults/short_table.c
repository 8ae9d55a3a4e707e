/* A planner whose table ends before its function. */
#include "tenon/c/planner.h"

static const tn_planner planner = {16, "acme.short", "Too short.", 0, 0, 0, 0};

TN_DESCRIPTOR(TN_TIER_STABLE, TN_KIND_PLANNER, "acme.short", "1.0.0", "a short table",
              TN_FINGERPRINT_STABLE);
TN_EXPORT const tn_planner* tenon_planner_at(uint32_t i) { return i == 0 ? &planner : 0; }
