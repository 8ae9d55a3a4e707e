// claims
// Takes "I found nothing" for "there is nothing".
#include "first_fit.hpp"

static int plan(const tn_request* q, const tn_host* h) {
  const int status = bad::offer_first_fit(*q, h, bad::in_order(*q));
  return status == TN_NO_FIT ? TN_INFEASIBLE : status;
}

BAD_PLANNER("despairs", "Gives up for everybody");
