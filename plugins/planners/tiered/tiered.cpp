// Several pools at least cost: which tokens live in the fast, small pools is chosen by their loads
// (tenon/planning/assignment.h), then each pool is packed by dives, and where a pool cannot be
// packed the token that loses least around the one without room moves on to its next pool. Rounds
// differ in the order tokens choose in. Starts from tenon.greedy's plan, so it is never worse.
// Prefer it when pools have capacities and costs; where every token has its cheapest pool it adds
// nothing. Cost: O(n^2) a round at worst. Parts and joins are used only as far as greedy does.
#include <algorithm>
#include <cstdlib>
#include <numeric>
#include <vector>

#include "tenon/planner.hpp"
#include "tenon/planning/assignment.h"
#include "tenon/planning/dives.h"
#include "tenon/planning/first_fit.h"
#include "tenon/planning/host.h"
#include "tenon/planning/ranking.h"

namespace {

using tenon::planning::Assignment;
using tenon::planning::Dives;
using tenon::planning::kNone;
using tenon::planning::Ranking;

constexpr std::uint64_t kImprove = 100'000'000;             // units of work of one round's choice
constexpr std::uint32_t kFirstDives = 24, kMoreDives = 40;  // until a pool fits; to lower its peak

class Tiered {
 public:
  Tiered(const tn_request* raw, const tn_host* h)
      : q_(*raw),
        h_(h),
        rounds_(std::strtoull(h->option(h, "rounds"), nullptr, 10)),
        random_(std::strtoull(h->option(h, "seed"), nullptr, 10)) {}

  int plan() {
    std::vector<tn_slot> slots;
    if (tenon::planning::ask(q_, h_, "tenon.greedy", 0, slots)) offer(slots);
    if (have_ && rank_.cost == least_cost()) return TN_OK;
    const auto order = tenon::planning::sorted(q_, tenon::planning::Order::dearest);
    for (std::uint64_t k = 0; k < rounds_ && !over_ && !stopped_; ++k) round(shaken(order, k));
    if (have_) return stopped_ ? TN_STOPPED : TN_OK;
    h_->say(h_, UINT32_MAX, "found no set of tokens for each pool that can be packed");
    return stopped_ ? TN_STOPPED : TN_NO_FIT;
  }

 private:
  // Each token in its cheapest pool.
  std::uint64_t least_cost() const {
    std::uint64_t sum = 0;
    for (std::uint32_t i = 0; i < q_.size(); ++i) {
      const std::uint64_t c =
          tenon::planning::cost_of(q_, i, tenon::planning::pools_by_cost(q_, i).front());
      sum = sum > UINT64_MAX - c ? UINT64_MAX : sum + c;
    }
    return sum;
  }

  bool spend(std::uint64_t work) {
    stopped_ = h_->tick(h_, work) != 0 || stopped_;
    return stopped_;
  }

  void offer(const std::vector<tn_slot>& slots) {
    Ranking rank = tenon::planning::rank(q_, slots);
    if (have_ && rank >= rank_) return;
    over_ = h_->offer(h_, slots.data(), 0) != 0;
    rank_ = std::move(rank);
    have_ = true;
  }

  // The first round takes the order as it is, later ones with more and more neighbours exchanged.
  std::vector<std::uint32_t> shaken(std::vector<std::uint32_t> order, std::uint64_t round) {
    if (order.size() < 2) return order;
    for (std::uint64_t k = 0; k < round * (1 + order.size() / 8); ++k) {
      const std::size_t i = random_.below(order.size() - 1);
      std::swap(order[i], order[i + 1]);
    }
    return order;
  }

  void round(const std::vector<std::uint32_t>& order) {
    Assignment chosen(q_);
    std::uint64_t told = 0;
    const auto tell = [&] { return spend(chosen.work() - std::exchange(told, chosen.work())); };
    if (!chosen.fill(order)) return;
    for (bool again = true; again && !stopped_ && chosen.work() < kImprove;) {
      again = false;
      for (const std::uint32_t i : order) {
        again = chosen.improve(i) || again;
        if (tell() || chosen.work() > kImprove)
          break;  // what was chosen so far is packed all the same
      }
    }
    pack(chosen);
  }

  void pack(Assignment& chosen) {
    std::vector<tn_slot> slots(q_.size());
    for (std::uint32_t i = 0; i < q_.size(); ++i)
      if (q_[i].at != TN_ANY) slots[i] = {q_[i].pools[0], q_[i].at};
    std::vector<char> ready(q_.n_pools(), 0);
    while (true) {
      const auto next = std::find(ready.begin(), ready.end(), 0);
      if (next == ready.end()) break;
      const auto p = static_cast<std::uint32_t>(next - ready.begin());
      Dives dives = packed(chosen.home(), p);
      if (dives.count() == 0) return;
      if (dives.fits()) {
        dives.write(slots);
        ready[p] = 1;
        continue;
      }
      const std::uint32_t out = chosen.cheapest_victim(p, dives.homeless());
      if (out == kNone || !chosen.evict(out)) return;
      ready[chosen.home()[out]] = 0;
    }
    offer(slots);
  }

  // Pool p's tokens by dives, until they fit and a little longer.
  Dives packed(const std::vector<std::uint32_t>& home, std::uint32_t p) {
    std::vector<std::uint32_t> mine;
    for (std::uint32_t i = 0; i < q_.size(); ++i)
      if (home[i] == p) mine.push_back(i);
    Dives dives(tenon::planning::pool_items(q_, p, mine), q_.pool(p).capacity, q_.pool(p).granule);
    while (!dives.done() && dives.count() < (dives.fits() ? kMoreDives : kFirstDives))
      if (!dives.step([&](std::uint64_t work) { return spend(work); })) break;
    return dives;
  }

  tenon::Request q_;
  const tn_host* h_;
  std::uint64_t rounds_;
  tenon::planning::Random random_;
  Ranking rank_;
  bool have_ = false, over_ = false, stopped_ = false;
};

int plan(const tn_request* raw, const tn_host* h) {
  return tenon::planning::guarded(h, [&] { return Tiered(raw, h).plan(); });
}

const tn_option kOptions[] = {
    {"rounds", "int", "8", "1..1000000", "how many orders of choice to try"},
    {"seed", "int", "1", "0..1000000000", "of the orders after the first"}};

}  // namespace

TENON_PLANNER(
    "tenon.tiered", "0.1.0",
    "Several pools at least cost: chooses by load, packs by dives, moves out what loses least",
    TN_POOLS | TN_PINS, plan, kOptions);
