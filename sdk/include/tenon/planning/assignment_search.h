// Complete search over which token lives in which pool, under the ranking of tenon/c/planner.h:
// least total cost, then the pools' peaks in order. Each full assignment is packed pool by pool: by
// tenon/planning/packing.h where no part or join of it asks for more, else by
// tenon/planning/order_search.h. Complete for small requests; else the best so far.
#ifndef TENON_PLANNING_ASSIGNMENT_SEARCH_H
#define TENON_PLANNING_ASSIGNMENT_SEARCH_H

#include "tenon/planning/order_search.h"
#include "tenon/planning/ranking.h"

namespace tenon::planning {

class AssignmentSearch {
 public:
  enum class End : std::uint8_t { complete, incomplete, stopped, enough };
  /// A better plan; true: no better one exists.
  using Offer = std::function<bool(const std::vector<tn_slot>&)>;

  AssignmentSearch(const Request& q, SectionSearch::Tick tick, Offer offer)
      : q_(q), tick_(std::move(tick)), offer_(std::move(offer)), lists_(q.n_pools()) {
    for (std::uint32_t i = 0; i < q_.size(); ++i) order_.push_back(i);
    std::stable_sort(order_.begin(), order_.end(), [&](auto a, auto b) {
      return spread(a) != spread(b) ? spread(a) > spread(b) : q_[a].size > q_[b].size;
    });
    taken_over_.assign(q_.size(), 0);
    for (const tn_join& j : q_.joins()) taken_over_[j.a] = 1;
    rest_.assign(q_.size() + 1, 0);
    for (std::size_t k = q_.size(); k-- > 0;) rest_[k] = add(rest_[k + 1], least(order_[k]));
  }

  /// A plan that is known already.
  void know(const std::vector<tn_slot>& slots) { best_ = rank(q_, slots); }

  /// Packs the assignment of a known plan anew.
  End repack(const std::vector<tn_slot>& slots, std::uint64_t nodes) {
    for (auto& l : lists_) l.clear();
    for (std::uint32_t i = 0; i < q_.size(); ++i) lists_[slots[i].pool].push_back(i);
    return pack_all(rank(q_, slots).cost, nodes);
  }

  /// Every assignment that may be better, `nodes` nodes of search per pool of each. complete: the
  /// best known plan is the best there is, or there is none.
  End run(std::uint64_t nodes);

 private:
  static std::uint64_t add(std::uint64_t a, std::uint64_t b) {
    return a > UINT64_MAX - b ? UINT64_MAX : a + b;
  }
  std::uint64_t least(std::uint32_t i) const {
    return cost_of(q_, i, pools_by_cost(q_, i).front());
  }
  std::uint64_t spread(std::uint32_t i) const {
    return cost_of(q_, i, pools_by_cost(q_, i).back()) - least(i);
  }
  Units capacity(std::uint32_t p) const {
    const std::uint64_t c = q_.pool(p).capacity;
    return c < static_cast<std::uint64_t>(kNever) ? static_cast<Units>(c) : kNever;
  }
  Units load(std::uint32_t p) const;
  bool promising(std::uint64_t cost, std::size_t decided) const;
  End pack_all(std::uint64_t cost, std::uint64_t nodes);
  End pack(std::uint32_t p, std::uint64_t nodes, std::vector<Units>& offsets, Units& peak);

  Request q_;
  SectionSearch::Tick tick_;
  Offer offer_;
  std::vector<std::vector<std::uint32_t>> lists_;  // tokens by pool, of the open assignment
  std::vector<std::uint32_t> order_;
  std::vector<std::uint64_t> rest_;  // least cost of order_[k..]
  std::vector<char> taken_over_;     // by a join, in its last step
  std::optional<Ranking> best_;
};

// Bytes that the tokens of pool `p` need at once: a lower bound of its peak. A token that may be
// taken over in its last step counts up to there.
inline Units AssignmentSearch::load(std::uint32_t p) const {
  std::vector<std::pair<std::uint32_t, Units>> events;
  Units least_peak = 0;
  for (const std::uint32_t i : lists_[p]) {
    const tn_token& t = q_[i];
    const std::uint32_t last = t.end - (taken_over_[i] ? 1 : 0);
    const auto occupy = [&](std::uint32_t first, std::uint32_t end, std::uint64_t bytes) {
      if (first >= std::min(end, last)) return;
      events.emplace_back(first, static_cast<Units>(bytes));
      events.emplace_back(std::min(end, last), -static_cast<Units>(bytes));
    };
    if (t.n_parts == 0) occupy(t.first, t.end, t.size);
    for (const tn_part& x : q_.parts(i)) occupy(x.first, x.end, x.hi - x.lo);
    const std::uint64_t at = t.at == TN_ANY ? 0 : t.at;
    least_peak = std::max(least_peak, static_cast<Units>(at + t.size));
  }
  std::sort(events.begin(), events.end());  // at one step, ends (negative) first
  Units now = 0;
  for (const auto& [step, bytes] : events) least_peak = std::max(least_peak, now += bytes);
  return static_cast<Units>(
      tenon::round_up(static_cast<std::uint64_t>(least_peak), q_.pool(p).granule));
}

inline bool AssignmentSearch::promising(std::uint64_t cost, std::size_t decided) const {
  Ranking bound{add(cost, rest_[decided]), {}};
  if (best_ && bound.cost > best_->cost) return false;
  for (std::uint32_t p = 0; p < q_.n_pools(); ++p) {
    const Units needed = load(p);
    if (needed > capacity(p)) return false;
    bound.peaks.push_back(static_cast<std::uint64_t>(needed));
  }
  return !best_ || bound < *best_;
}

inline AssignmentSearch::End AssignmentSearch::pack(std::uint32_t p, std::uint64_t nodes,
                                                    std::vector<Units>& offsets, Units& peak) {
  const std::vector<std::uint32_t>& tokens = lists_[p];
  std::vector<Block> blocks;
  bool plain = true;
  for (const std::uint32_t i : tokens) blocks.push_back(block_of(q_, i, p, plain));
  for (const tn_join& j : q_.joins())
    plain = plain && !(std::count(tokens.begin(), tokens.end(), j.a) &&
                       std::count(tokens.begin(), tokens.end(), j.b));
  const Units limit = std::min(enough(blocks), capacity(p));
  if (!plain) {
    OrderSearch search(q_, p, nodes, tick_);
    const OrderSearch::End e = search.solve(tokens, limit);
    peak = search.peak().value_or(kNever);
    offsets = search.offsets();
    return e == OrderSearch::End::stopped  ? End::stopped
           : e == OrderSearch::End::solved ? End::complete
                                           : End::incomplete;
  }
  Packing packing(std::move(blocks), limit, 0, tick_);
  Restarts::Step s = Restarts::Step::nothing;
  for (std::uint64_t k = 0; !packing.too_large() && k * 20 < nodes; ++k) {
    s = packing.step();
    if (s == Restarts::Step::closed || s == Restarts::Step::stopped) break;
  }
  peak = packing.peak().value_or(kNever);
  offsets = packing.offsets();
  return s == Restarts::Step::stopped  ? End::stopped
         : s == Restarts::Step::closed ? End::complete
                                       : End::incomplete;
}

inline AssignmentSearch::End AssignmentSearch::pack_all(std::uint64_t cost, std::uint64_t nodes) {
  std::vector<tn_slot> slots(q_.size(), tn_slot{0, 0});
  Ranking got{cost, std::vector<std::uint64_t>(q_.n_pools(), 0)};
  End worst = End::complete;
  for (std::uint32_t p = 0; p < q_.n_pools(); ++p) {
    if (lists_[p].empty()) continue;
    std::vector<Units> offsets;
    Units peak = kNever;
    const End e = pack(p, nodes, offsets, peak);
    if (e != End::complete) worst = e;
    if (peak == kNever) return worst;
    got.peaks[p] = static_cast<std::uint64_t>(peak);
    for (std::size_t k = 0; k < offsets.size(); ++k)
      slots[lists_[p][k]] = {p, static_cast<std::uint64_t>(offsets[k])};
    if (e == End::stopped) break;
  }
  if (worst == End::stopped || (best_ && got >= *best_)) return worst;
  best_ = got;
  return offer_(slots) ? End::enough : worst;
}

inline AssignmentSearch::End AssignmentSearch::run(std::uint64_t nodes) {
  struct Level {
    std::vector<std::uint32_t> pools;  // of order_[level], cheapest first
    std::size_t next;
    std::uint64_t cost;  // of the tokens before
  };
  std::vector<Level> stack;
  for (auto& l : lists_) l.clear();
  const auto descend = [&](std::uint64_t cost) {
    const std::size_t k = stack.size();
    stack.push_back(
        {k < order_.size() ? pools_by_cost(q_, order_[k]) : std::vector<std::uint32_t>(), 0, cost});
  };
  bool complete = true;
  descend(0);
  while (!stack.empty()) {
    Level& level = stack.back();
    const std::size_t k = stack.size() - 1;
    if (k == order_.size()) {
      const End e = pack_all(level.cost, nodes);
      if (e == End::stopped || e == End::enough) return e;
      complete = complete && e == End::complete;
    }
    if (level.next > 0) lists_[level.pools[level.next - 1]].pop_back();
    if (level.next == level.pools.size()) {
      stack.pop_back();
      continue;
    }
    const std::uint32_t pool = level.pools[level.next++];
    lists_[pool].push_back(order_[k]);
    if (tick_(5 * (q_.size() + q_.n_pools()))) return End::stopped;
    const std::uint64_t cost = add(level.cost, cost_of(q_, order_[k], pool));
    if (promising(cost, k + 1)) descend(cost);
  }
  return complete ? End::complete : End::incomplete;
}

}  // namespace tenon::planning

#endif
