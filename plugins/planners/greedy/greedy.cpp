// Fast and good at any size. First each token goes to its cheapest pool and every pool is packed by
// skyline dives, a portfolio of rules, until a packing stands at its bound. Where that does not
// fit, or where tokens have parts or joins that dives do not use, first-fit and best-fit runs over
// several orders follow, and what they put into each pool is packed again by dives. The host keeps
// the best. Never worse than tenon.naive where that one is loaded and the request has several
// pools. Prefer it whenever milliseconds count. Cost: a dive is O(n log n) in practice, 60 000
// tokens in 0.1 s; the first dive always ends and is offered, whatever the budget.
#include <cstdlib>
#include <numeric>
#include <optional>
#include <string>
#include <vector>

#include "tenon/planner.hpp"
#include "tenon/planning/dives.h"
#include "tenon/planning/first_fit.h"
#include "tenon/planning/host.h"
#include "tenon/planning/ranking.h"

namespace {

using tenon::planning::Dives;
using tenon::planning::kNone;
using tenon::planning::Ranking;

// Units of work, about a second and the time of two dives: beyond, what was tried has to do.
std::uint64_t enough(const tenon::Request& q) { return 80'000'000 + 300ull * q.size(); }

class Greedy {
 public:
  Greedy(const tn_request* raw, const tn_host* h)
      : q_(*raw),
        h_(h),
        dives_(static_cast<std::uint32_t>(std::strtoul(h->option(h, "dives"), nullptr, 10))),
        best_(q_.size()) {}

  int plan() {
    std::vector<std::uint32_t> home(q_.size());
    for (std::uint32_t i = 0; i < q_.size(); ++i)
      home[i] = tenon::planning::pools_by_cost(q_, i).front();
    pack(home, true);
    if (!over_ && (!have_ || hints())) fill();
    if (!over_ && (!have_ || q_.n_pools() > 1)) ask("tenon.naive");
    if (have_) return stopped_ && !over_ ? TN_STOPPED : TN_OK;
    h_->say(h_, homeless_, "no room in any of its pools");
    return stopped_ ? TN_STOPPED : TN_NO_FIT;
  }

 private:
  bool hints() const {
    if (!q_.joins().empty()) return true;
    for (std::uint32_t i = 0; i < q_.size(); ++i)
      if (!q_.parts(i).empty()) return true;
    return false;
  }

  bool spend(std::uint64_t work) {
    spent_ += work;
    stopped_ = h_->tick(h_, work) != 0 || stopped_;
    return stopped_ || spent_ > enough(q_);
  }

  // Offers what is better than all before; over_: nothing better exists.
  void offer(const std::vector<tn_slot>& slots) {
    Ranking rank = tenon::planning::rank(q_, slots);
    if (have_ && rank >= rank_) return;
    over_ = h_->offer(h_, slots.data(), 0) != 0;
    best_ = slots;
    rank_ = std::move(rank);
    have_ = true;
  }

  // Packs each pool with its tokens by dives. The first dive of each is made `always`.
  void pack(const std::vector<std::uint32_t>& home, bool always) {
    std::vector<Dives> pools;
    for (std::uint32_t p = 0; p < q_.n_pools(); ++p) {
      std::vector<std::uint32_t> mine;
      for (std::uint32_t i = 0; i < q_.size(); ++i)
        if (home[i] == p) mine.push_back(i);
      pools.emplace_back(tenon::planning::pool_items(q_, p, mine), q_.pool(p).capacity,
                         q_.pool(p).granule);
    }
    for (Dives& d : pools) {
      d.step([&](std::uint64_t work) { return spend(work) && !always; });
      if (!always && stopped_) return;
    }
    offer_all(pools);
    for (Dives& d : pools)
      while (!over_ && !d.done() && d.count() < dives_ &&
             d.step([&](std::uint64_t work) { return spend(work); }))
        if (q_.n_pools() == 1) offer_all(pools);
    if (!over_) offer_all(pools);
  }

  void offer_all(const std::vector<Dives>& pools) {
    std::vector<tn_slot> slots(q_.size());
    for (std::uint32_t i = 0; i < q_.size(); ++i)
      if (q_[i].at != TN_ANY) slots[i] = {q_[i].pools[0], q_[i].at};
    for (const Dives& d : pools) {
      if (!d.fits()) {
        homeless_ = d.homeless();
        return;
      }
      d.write(slots);
    }
    offer(slots);
  }

  // First and best fit over the orders, where the first run is made always; then dives over the
  // best of the assignments.
  void fill() {
    bool packed = false;
    for (const auto order : tenon::planning::kOrders)
      for (const auto fit : {tenon::Fit::first, tenon::Fit::best}) {
        const bool always = !have_ && !tried_;
        if (over_ || (!always && (stopped_ || spent_ > enough(q_)))) continue;
        tenon::Placer placer(q_, tenon::Placer::Hints::exact);
        const auto run =
            tenon::planning::first_fit(q_, tenon::planning::sorted(q_, order), placer, fit,
                                       [&](std::uint64_t work) { return spend(work) && !always; });
        tried_ = true;
        if (run.stopped) continue;
        if (run.homeless != kNone)
          homeless_ = run.homeless;
        else
          offer({placer.data(), placer.data() + q_.size()}), packed = true;
      }
    if (!packed || over_ || q_.n_pools() == 1) return;
    std::vector<std::uint32_t> home;
    for (const tn_slot& s : best_) home.push_back(s.pool);
    pack(home, false);
  }

  void ask(const char* planner) {
    std::vector<tn_slot> slots;
    if (tenon::planning::ask(q_, h_, planner, 0, slots)) offer(slots);
  }

  tenon::Request q_;
  const tn_host* h_;
  std::uint32_t dives_;
  std::vector<tn_slot> best_;
  Ranking rank_;
  std::uint64_t spent_ = 0;
  std::uint32_t homeless_ = UINT32_MAX;
  bool have_ = false, over_ = false, stopped_ = false, tried_ = false;
};

int plan(const tn_request* raw, const tn_host* h) {
  return tenon::planning::guarded(h, [&] { return Greedy(raw, h).plan(); });
}

const tn_option kOptions[] = {{"dives", "int", "12", "1..1000000",
                               "at most so many skyline dives per pool: 12 rules, then a local "
                               "search over their order"}};

}  // namespace

TENON_PLANNER("tenon.greedy", "0.2.0",
              "Skyline dives and a portfolio of orders and fits; any size, in milliseconds",
              TN_POOLS | TN_PINS, plan, kOptions);
