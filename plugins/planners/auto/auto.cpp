// The planner to use when there is no reason for another: a quick layout by tenon.greedy, then
// complete search by tenon.exact with the work that is left, and for what that does not support
// tenon.greedy at length and tenon.search. Stops as soon as a plan is known to be best. Each of
// them may be missing. Cost: all the work it is given, unless a plan meets the bound, as most do at
// once.
#include <new>
#include <vector>

#include "tenon/planner.hpp"

namespace {

class Auto {
 public:
  // One slot more: the place of a result is never null, not even of a request without tokens.
  Auto(const tn_request* raw, const tn_host* h) : q_(*raw), h_(h), slots_(q_.size() + 1) {}

  int run() {
    // Enough for a few dives, and little beside the 50 ms of a hurried caller.
    ask("tenon.greedy", 500'000 + 300ull * q_.size());
    if (q_.n_pools() > 1) ask("tenon.tiered", 0);
    ask("tenon.exact", 0);
    if (!over_ && !infeasible_) {
      ask("tenon.greedy", 0);
      ask("tenon.search", 0);
    }
    if (proved_) return TN_PROVED;
    if (any_) return TN_OK;
    if (infeasible_) return TN_INFEASIBLE;
    if (over_) return TN_STOPPED;
    h_->say(h_, UINT32_MAX, "none of tenon.greedy, tenon.exact and tenon.search found a plan");
    return TN_NO_FIT;
  }

 private:
  // `work`: at most, 0: all that is left.
  void ask(const char* planner, std::uint64_t work) {
    if (over_) return;
    const int status = h_->plan(h_, planner, work, slots_.data());
    infeasible_ = infeasible_ || status == TN_INFEASIBLE;
    if (status == TN_OK || status == TN_PROVED) {
      any_ = true;
      proved_ = status == TN_PROVED;
      over_ = h_->offer(h_, slots_.data(), 0) != 0 || proved_;
    }
    over_ = over_ || h_->tick(h_, 0) != 0;
  }

  tenon::Request q_;
  const tn_host* h_;
  std::vector<tn_slot> slots_;
  bool any_ = false, proved_ = false, infeasible_ = false;
  bool over_ = false;  // nothing better exists, or the work is used up
};

int plan(const tn_request* raw, const tn_host* h) {
  try {
    return Auto(raw, h).run();
  } catch (const std::bad_alloc&) {
    h->say(h, UINT32_MAX, "out of memory");
    return TN_FAILED;
  }
}

}  // namespace

TENON_PLANNER("tenon.auto", "0.1.0", "A quick plan, then complete search: the default",
              TN_POOLS | TN_PINS, plan, TN_NO_OPTIONS);
