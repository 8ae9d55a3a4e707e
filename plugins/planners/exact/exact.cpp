// Complete search: the optimum proved, infeasibility proved, or the best so far with its bound.
// Prefer it for requests of up to some hundred tokens where each byte counts; it takes all the work
// it is given unless it can prove that it is done. One pool: up to 2000 tokens that no point of
// time separates. Several pools: complete for a dozen tokens; else it packs the assignment of
// another planner better.
#include <cstdlib>
#include <new>
#include <string_view>

#include "tenon/planning/assignment_search.h"

namespace {

namespace planning = tenon::planning;
using planning::Restarts;
using planning::Units;

class Exact {
 public:
  Exact(const tn_request* raw, const tn_host* h)
      : q_(*raw),
        h_(h),
        seed_(std::strtoull(h->option(h, "seed"), nullptr, 10)),
        fit_(std::string_view(h->option(h, "goal")) == "fit") {}

  int run() {
    if (q_.size() == 0) return h_->offer(h_, nullptr, 0), TN_PROVED;
    if (!planning::fits_units(q_)) return too_large();
    if (q_.n_pools() > 1) return assign();
    bool exact = true;
    const std::vector<planning::Group> single = planning::single_groups(q_, exact);
    if (exact) return pack(single, true, 0);
    // Layouts of joined and of single tokens first; what they leave open is for the search that
    // knows every rule, as far as it gets.
    const bool small = q_.size() <= kSmall;
    for (const auto& groups : {planning::joined_groups(q_), single}) {
      const int status = pack(groups, false, small ? 5'000'000 : 0);
      if (status != TN_NO_FIT) return status;
    }
    if (small) return search_all();
    return known_.empty() ? TN_NO_FIT : TN_OK;
  }

 private:
  static constexpr std::uint32_t kSmall = 64;  // tokens

  bool tick(std::uint64_t work) {
    work += work / 2;
    spent_ += work;
    return h_->tick(h_, work) != 0;
  }

  // `exact`: the groups are the whole truth. `work`: give up after that, 0: never.
  int pack(const std::vector<planning::Group>& groups, bool exact, std::uint64_t work) {
    std::vector<planning::Block> blocks;
    for (const planning::Group& g : groups) blocks.push_back(g.block);
    const std::uint64_t capacity = q_.pool(0).capacity, begun = spent_;
    planning::Packing packing(
        std::move(blocks),
        capacity < planning::kNever ? static_cast<Units>(capacity) : planning::kNever, seed_,
        [this](std::uint64_t w) { return tick(w); });
    if (packing.too_large()) return too_large();
    for (;;) {
      switch (packing.step()) {
        case Restarts::Step::nothing:
          if (work > 0 && spent_ - begun > work) return TN_NO_FIT;
          break;
        case Restarts::Step::better: {
          std::vector<tn_slot> slots(q_.size(), tn_slot{0, 0});
          for (std::size_t k = 0; k < groups.size(); ++k)
            for (const std::uint32_t i : groups[k].tokens)
              slots[i].offset = static_cast<std::uint64_t>(packing.offsets()[k]);
          if (offer(slots, exact ? packing.lower() : 0)) return TN_PROVED;
          if (fit_) return TN_OK;
          break;
        }
        case Restarts::Step::closed:
          if (!exact) return TN_NO_FIT;
          return packing.peak() ? TN_PROVED : TN_INFEASIBLE;
        case Restarts::Step::stopped:
          return TN_STOPPED;
      }
    }
  }

  // Several pools: an assignment that another planner found, packed better; then all of them.
  int assign() {
    for (const char* planner : {"tenon.tiered", "tenon.greedy"}) {
      std::vector<tn_slot> slots(q_.size(), tn_slot{0, 0});
      const int status = h_->plan(h_, planner, 0, slots.data());
      if (status != TN_OK && status != TN_PROVED) continue;
      if (offer(slots, 0)) return TN_PROVED;
      if (fit_) return TN_OK;
    }
    return search_all();
  }

  int search_all() {
    using End = planning::AssignmentSearch::End;
    planning::AssignmentSearch search(
        q_, [this](std::uint64_t w) { return tick(w); },
        [this](const std::vector<tn_slot>& slots) { return offer(slots, 0) || fit_; });
    if (!known_.empty()) search.know(known_);
    for (std::uint64_t nodes = 100;; nodes *= 4) {
      End e = known_.empty() ? End::incomplete : search.repack(known_, nodes);
      if (e == End::complete || e == End::incomplete) e = search.run(nodes);
      if (e == End::enough) return fit_ ? TN_OK : TN_PROVED;
      if (e == End::stopped) return TN_STOPPED;
      if (e == End::complete) return known_.empty() ? TN_INFEASIBLE : TN_PROVED;
    }
  }

  // True: no better plan exists.
  bool offer(const std::vector<tn_slot>& slots, Units bound) {
    const planning::Ranking rank = planning::rank(q_, slots);
    if (!known_.empty() && rank >= known_rank_) return false;
    known_ = slots;
    known_rank_ = rank;
    return h_->offer(h_, slots.data(), static_cast<std::uint64_t>(bound)) != 0;
  }

  int too_large() {
    h_->say(h_, UINT32_MAX, "more tokens overlap in time than complete search can hold");
    return TN_UNSUPPORTED;
  }

  tenon::Request q_;
  const tn_host* h_;
  std::uint64_t seed_;
  bool fit_;
  std::uint64_t spent_ = 0;
  std::vector<tn_slot> known_;  // the best offer; empty: none yet
  planning::Ranking known_rank_;
};

int plan(const tn_request* raw, const tn_host* h) {
  try {
    return Exact(raw, h).run();
  } catch (const std::bad_alloc&) {
    h->say(h, UINT32_MAX, "out of memory");
    return TN_FAILED;
  }
}

const tn_option kOptions[] = {
    {"goal", "enum", "optimal", "optimal|fit",
     "optimal: the least peak; fit: stop at the first plan that fits the capacities"},
    {"seed", "int", "0", "0..", "of the noise in the order of trying; any is as good as another"}};

}  // namespace

TENON_PLANNER("tenon.exact", "0.1.0",
              "Complete search: proves the optimum, or that nothing fits, or says how far it is",
              TN_POOLS | TN_PINS, plan, kOptions);
