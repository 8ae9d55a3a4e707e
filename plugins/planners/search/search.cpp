// Anytime local search, not complete: starts from tenon.greedy's plan and looks for better ones
// until the work is used up, a plan stands at its bound, or `patience` attempts in a row gained
// nothing. Two walks take turns. One keeps the pool of each token and searches every pool by
// skyline dives (tenon/planning/dives.h). The other, for several pools, parts or joins, places the
// whole request in an order, keeps the order when the plan is no worse, and else goes back. Prefer
// it over greedy when seconds may be spent, and over a complete search on large requests.
#include <algorithm>
#include <cstdlib>
#include <numeric>
#include <optional>
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

constexpr std::uint64_t kTurn = 1'000'000;  // units of work, about 10 ms

class Search {
 public:
  Search(const tn_request* raw, const tn_host* h)
      : q_(*raw),
        h_(h),
        seed_(std::strtoull(h->option(h, "seed"), nullptr, 10)),
        patience_(std::strtoull(h->option(h, "patience"), nullptr, 10)),
        random_(seed_),
        best_(q_.size()) {}

  int plan() {
    std::vector<tn_slot> slots;
    if (tenon::planning::ask(q_, h_, "tenon.greedy", 0, slots)) offer(slots);
    const bool orders = q_.n_pools() > 1 || hints();
    begin_orders();
    while (!over_ && !stopped_ && idle_ < patience_) {
      bool moved = false;
      if (have_) moved = dive();
      if (orders || !have_) moved = walk() || moved;
      if (!moved) break;
    }
    if (!have_) h_->say(h_, homeless_, "no room in any of its pools in any order tried");
    if (stopped_) return TN_STOPPED;
    return have_ ? TN_OK : TN_NO_FIT;
  }

 private:
  bool hints() const {
    if (!q_.joins().empty()) return true;
    for (std::uint32_t i = 0; i < q_.size(); ++i)
      if (!q_.parts(i).empty()) return true;
    return false;
  }

  bool spend(std::uint64_t work) {
    turn_ += work;
    stopped_ = h_->tick(h_, work) != 0 || stopped_;
    return stopped_;
  }

  void offer(const std::vector<tn_slot>& slots) {
    Ranking rank = tenon::planning::rank(q_, slots);
    if (have_ && rank >= rank_) return;
    over_ = h_->offer(h_, slots.data(), 0) != 0;
    best_ = slots;
    rank_ = std::move(rank);
    have_ = true;
    idle_ = 0;
  }

  // A turn of dives in each pool that is not at its bound; false when there is none.
  bool dive() {
    if (homes_differ()) begin_dives();
    bool any = false;
    for (Dives& d : pools_) {
      if (d.done()) continue;
      any = true;
      const std::uint32_t p = d.pool().pool;
      for (turn_ = 0; turn_ < kTurn && !over_ && !d.done() && idle_ < patience_; ++idle_) {
        if (!d.step([&](std::uint64_t work) { return spend(work); })) return true;
        if (d.peak() >= rank_.peaks[p]) continue;
        std::vector<tn_slot> slots = best_;
        d.write(slots);
        offer(slots);
      }
    }
    return any;
  }

  bool homes_differ() const {
    if (home_.empty()) return true;
    for (std::uint32_t i = 0; i < q_.size(); ++i)
      if (home_[i] != best_[i].pool) return true;
    return false;
  }

  void begin_dives() {
    home_.clear();
    pools_.clear();
    for (const tn_slot& s : best_) home_.push_back(s.pool);
    for (std::uint32_t p = 0; p < q_.n_pools(); ++p) {
      std::vector<std::uint32_t> mine;
      for (std::uint32_t i = 0; i < q_.size(); ++i)
        if (home_[i] == p) mine.push_back(i);
      pools_.emplace_back(tenon::planning::pool_items(q_, p, mine), q_.pool(p).capacity,
                          q_.pool(p).granule, seed_);
    }
  }

  void begin_orders() {
    order_ = tenon::planning::sorted(q_, tenon::planning::Order::largest);
    moved_ = order_;
  }

  // A turn of orders of the whole request; false when there is but one.
  bool walk() {
    if (q_.size() < 2 && idle_ > 0) return false;
    for (turn_ = 0; turn_ < kTurn && !over_ && idle_ < patience_; ++idle_) {
      tenon::Placer placer(q_, tenon::Placer::Hints::exact);
      const auto run = tenon::planning::first_fit(
          q_, moved_, placer, random_.below(4) == 0 ? tenon::Fit::best : tenon::Fit::first,
          [&](std::uint64_t work) { return spend(work); });
      if (run.stopped) return true;
      if (spend(30ull * q_.size())) return true;
      judge(run, placer);
      move(run.homeless);
    }
    return true;
  }

  // Keeps the order when its plan is no worse than that of the one kept.
  void judge(const tenon::planning::FirstFit& run, const tenon::Placer& placer) {
    if (run.homeless != kNone) {
      homeless_ = run.homeless;
      if (kept_) moved_ = order_;
      return;
    }
    std::vector<tn_slot> slots(placer.data(), placer.data() + q_.size());
    Ranking rank = tenon::planning::rank(q_, slots);
    if (kept_ && rank > order_rank_) {
      moved_ = order_;
      return;
    }
    order_ = moved_;
    order_rank_ = std::move(rank);
    kept_ = true;
    offer(slots);
  }

  // Some tokens move ahead to a random place; the one without room always does.
  void move(std::uint32_t homeless) {
    if (moved_.empty()) return;
    for (std::uint64_t times = 1 + random_.below(3); times > 0; --times) {
      std::size_t from = random_.below(moved_.size());
      if (homeless != kNone && !kept_)
        from = static_cast<std::size_t>(std::find(moved_.begin(), moved_.end(), homeless) -
                                        moved_.begin());
      const std::size_t to = random_.below(from + 1);
      const auto at = [&](std::size_t k) {
        return moved_.begin() + static_cast<std::ptrdiff_t>(k);
      };
      std::rotate(at(to), at(from), at(from + 1));
      homeless = kNone;
    }
  }

  tenon::Request q_;
  const tn_host* h_;
  std::uint64_t seed_, patience_;
  tenon::planning::Random random_;
  std::vector<tn_slot> best_;
  Ranking rank_, order_rank_;
  std::vector<std::uint32_t> home_;  // pools of the plan that the dives improve
  std::vector<Dives> pools_;
  std::vector<std::uint32_t> order_, moved_;  // kept; tried next
  std::uint64_t turn_ = 0, idle_ = 0;
  std::uint32_t homeless_ = UINT32_MAX;
  bool have_ = false, kept_ = false, over_ = false, stopped_ = false;
};

int plan(const tn_request* raw, const tn_host* h) {
  return tenon::planning::guarded(h, [&] { return Search(raw, h).plan(); });
}

const tn_option kOptions[] = {{"seed", "int", "1", "0..1000000000", "of the random moves"},
                              {"patience", "int", "100000", "1..1000000000",
                               "ends after so many attempts in a row that gained nothing"}};

}  // namespace

TENON_PLANNER("tenon.search", "0.1.0",
              "Anytime local search over skyline dives and orders; better with more work",
              TN_POOLS | TN_PINS, plan, kOptions);
