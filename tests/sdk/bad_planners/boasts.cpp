// claims
// Every plan is the best one, in its own eyes.
#include "first_fit.hpp"

static int plan(const tn_request* q, const tn_host* h) {
  const int status = bad::offer_first_fit(*q, h, bad::in_order(*q));
  return status == TN_OK ? TN_PROVED : status;
}

BAD_PLANNER("boasts", "Proves everything");
