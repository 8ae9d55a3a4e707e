// table
// Two options of one key, one of them without a word of what it does.
#include "first_fit.hpp"

static int plan(const tn_request* q, const tn_host* h) {
  return bad::offer_first_fit(*q, h, bad::in_order(*q));
}

static constexpr tn_option options[] = {{"tries", "int", "1", "1..8", "how often to try"},
                                        {"tries", "int", "2", "1..8", ""}};

TENON_PLANNER("bad.promises", "1.0.0", "Says one thing twice", TN_POOLS | TN_PINS, plan, options);
