// Which pool each token lives in, judged by load alone: a pool holds a set of tokens when in no
// section they take more than its capacity (the max-live relaxation; packing then nearly always
// succeeds). Start by density, then exchange: a token moves into a cheaper pool, those that lose
// least make room. Uses no parts and no joins. Stable tier, header-only, std library only.
#ifndef TENON_PLANNING_ASSIGNMENT_H
#define TENON_PLANNING_ASSIGNMENT_H

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <vector>

#include "tenon/planner.hpp"
#include "tenon/planning/candidates.h"
#include "tenon/planning/first_fit.h"
#include "tenon/planning/ranking.h"
#include "tenon/planning/sections.h"

namespace tenon::planning {

class Assignment {
 public:
  explicit Assignment(const Request& q)
      : q_(q),
        home_(q.size(), kNone),
        dearest_(sorted(q, Order::dearest)),
        banned_(std::size_t{q.size()} * q.n_pools(), 0) {
    std::vector<Span> steps;
    for (std::uint32_t i = 0; i < q.size(); ++i) steps.push_back({q[i].first, q[i].end});
    sections_ = cut_sections(steps);
    loads_.assign(q.n_pools(), std::vector<std::uint64_t>(sections_.count, 0));
    for (std::uint32_t i = 0; i < q.size(); ++i) {
      pools_.push_back(pools_by_cost(q, i));
      if (q[i].at != TN_ANY) settle(i, q[i].pools[0]);
    }
  }

  const std::vector<std::uint32_t>& home() const { return home_; }
  std::uint64_t work() const { return work_; }

  /// Tokens in `order` go to the cheapest pool that has room for them; false when one has none.
  bool fill(const std::vector<std::uint32_t>& order) {
    for (const std::uint32_t i : order)
      if (home_[i] == kNone && !settle_cheapest(i)) return false;
    return true;
  }

  /// Moves token i into a cheaper pool when, with all that moves because of it, the cost falls.
  bool improve(std::uint32_t i) {
    if (q_[i].at != TN_ANY) return false;
    for (const std::uint32_t p : pools_[i]) {
      if (p == home_[i] || cost(i, p) >= cost(i, home_[i])) return false;
      if (!banned(i, p) && exchange(i, p)) return true;
    }
    return false;
  }

  /// Moves token i out of its pool for good, to the cheapest other one with room.
  bool evict(std::uint32_t i) {
    const std::uint32_t from = home_[i];
    const std::uint32_t to = refuge(i, from);
    if (to == kNone) return false;
    banned_[std::size_t{i} * q_.n_pools() + from] = 1;
    move(i, to);
    return true;
  }

  /// Of pool p's tokens that share a section with token `with` and have somewhere to go, the one
  /// that loses least per byte; kNone: none.
  std::uint32_t cheapest_victim(std::uint32_t p, std::uint32_t with) {
    return victim(p, sections_.of[with], kNone);
  }

 private:
  std::uint64_t cost(std::uint32_t i, std::uint32_t p) const { return cost_of(q_, i, p); }
  std::uint64_t bytes(std::uint32_t i, std::uint32_t p) const {
    return round_up(q_[i].size, q_.pool(p).granule);
  }
  bool banned(std::uint32_t i, std::uint32_t p) const {
    return banned_[std::size_t{i} * q_.n_pools() + p] != 0;
  }
  void settle(std::uint32_t i, std::uint32_t p) {
    home_[i] = p;
    for (std::uint32_t s = sections_.of[i].first; s < sections_.of[i].end; ++s)
      loads_[p][s] += bytes(i, p);
    work_ += (sections_.of[i].end - sections_.of[i].first) / 4 + 1;
  }
  void leave(std::uint32_t i) {
    const std::uint32_t p = home_[i];
    for (std::uint32_t s = sections_.of[i].first; s < sections_.of[i].end; ++s)
      loads_[p][s] -= bytes(i, p);
    home_[i] = kNone;
  }
  void move(std::uint32_t i, std::uint32_t p) {
    leave(i);
    settle(i, p);
  }

  // The sections of token i in which pool p would hold too much with `more` bytes of it.
  Span crowded(std::uint32_t i, std::uint32_t p, std::uint64_t more) {
    const std::uint64_t capacity = q_.pool(p).capacity;
    if (capacity == TN_ANY) return {};
    Span out;
    std::uint64_t worst = 0;
    for (std::uint32_t s = sections_.of[i].first; s < sections_.of[i].end; ++s)
      if (loads_[p][s] + more > std::max(capacity, worst)) {
        worst = loads_[p][s] + more;
        out = {s, s + 1};
      }
    work_ += (sections_.of[i].end - sections_.of[i].first) / 4 + 1;
    return out;
  }
  bool room(std::uint32_t i, std::uint32_t p) {
    return !banned(i, p) && crowded(i, p, bytes(i, p)) == Span{};
  }
  bool settle_cheapest(std::uint32_t i) {
    for (const std::uint32_t p : pools_[i])
      if (room(i, p)) return settle(i, p), true;
    return false;
  }
  // The cheapest pool with room for token i beside `from`.
  std::uint32_t refuge(std::uint32_t i, std::uint32_t from) {
    for (const std::uint32_t p : pools_[i])
      if (p != from && room(i, p)) return p;
    return kNone;
  }

  // What loses least per byte among pool p's tokens that meet `where`, but for one.
  std::uint32_t victim(std::uint32_t p, Span where, std::uint32_t but) {
    std::uint32_t best = kNone;
    double least = 0;
    work_ += q_.size() / 4;
    for (std::uint32_t k = 0; k < q_.size(); ++k) {
      const Span s = sections_.of[k];
      if (home_[k] != p || k == but || q_[k].at != TN_ANY || s.first >= where.end ||
          where.first >= s.end)
        continue;
      const std::uint32_t to = refuge(k, p);
      if (to == kNone) continue;
      const std::uint64_t loss = cost(k, to) > cost(k, p) ? cost(k, to) - cost(k, p) : 0;
      const double each = double(loss) / double(q_[k].size);
      if (best == kNone || each < least) best = k, least = each;
    }
    return best;
  }

  struct Moved {
    std::uint32_t token, from;
  };

  // Token i enters pool p, what loses least makes room, and where that loses more than it gains,
  // others enter what they left free. Undone unless it gains in all.
  bool exchange(std::uint32_t i, std::uint32_t p) {
    std::uint64_t gain = cost(i, home_[i]) - cost(i, p), loss = 0;
    std::vector<Moved> moved{{i, home_[i]}};
    move(i, p);
    for (Span full = crowded(i, p, 0); full != Span{}; full = crowded(i, p, 0)) {
      const std::uint32_t k = loss / 4 < gain ? victim(p, full, i) : kNone;
      if (k == kNone) return undo(moved);
      const std::uint32_t to = refuge(k, p);
      loss += cost(k, to) - std::min(cost(k, to), cost(k, p));
      moved.push_back({k, p});
      move(k, to);
    }
    if (loss >= gain) gain += refill(p, moved);
    return loss < gain || undo(moved);
  }

  // Tokens that share a section with one that left pool p and are cheaper there enter while there
  // is room; what they gain.
  std::uint64_t refill(std::uint32_t p, std::vector<Moved>& moved) {
    Span where = sections_.of[moved[0].token];
    std::vector<char> known(q_.size(), 0);
    for (const Moved& m : moved) {
      where.first = std::min(where.first, sections_.of[m.token].first);
      where.end = std::max(where.end, sections_.of[m.token].end);
      known[m.token] = 1;
    }
    std::uint64_t gain = 0;
    work_ += q_.size() / 2;
    for (const std::uint32_t k : dearest_) {
      const Span s = sections_.of[k];
      if (known[k] || s.first >= where.end || where.first >= s.end || !allows(k, p)) continue;
      if (cost(k, p) >= cost(k, home_[k]) || !room(k, p)) continue;
      gain += cost(k, home_[k]) - cost(k, p);
      moved.push_back({k, home_[k]});
      move(k, p);
    }
    return gain;
  }

  bool allows(std::uint32_t i, std::uint32_t p) const {
    return std::find(pools_[i].begin(), pools_[i].end(), p) != pools_[i].end();
  }
  bool undo(const std::vector<Moved>& moved) {
    for (auto m = moved.rbegin(); m != moved.rend(); ++m) move(m->token, m->from);
    return false;
  }

  Request q_;
  Sections sections_;
  std::vector<std::vector<std::uint64_t>> loads_;  // by pool and section
  std::vector<std::vector<std::uint32_t>> pools_;  // by token, cheapest first
  std::vector<std::uint32_t> home_, dearest_;
  std::vector<char> banned_;  // by token and pool: evicted from there
  std::uint64_t work_ = 0;
};

}  // namespace tenon::planning

#endif
