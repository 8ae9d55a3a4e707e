// Complete search for the lowest layout of some tokens of one pool under every rule of
// tenon/c/planner.h: parts of any shape, joins, alignment, granule, pins. For small sets: where
// tokens are flat-bottomed and not joined, tenon/planning/packing.h is far quicker.
//
// Two boxes that share a step are either one below the other or parts of a join that stands
// exactly. Each of these is a constraint offset(b) >= round_up(offset(a) + w); for given
// constraints there is a least solution, with every offset and so every peak least at once. The
// search starts without constraints, takes two boxes that overlap in the least solution and
// branches on how to part them. A solution without overlap is the best of its branch.
#ifndef TENON_PLANNING_ORDER_SEARCH_H
#define TENON_PLANNING_ORDER_SEARCH_H

#include "tenon/planning/blocks.h"

namespace tenon::planning {

class OrderSearch {
 public:
  enum class End : std::uint8_t { solved, gave_up, stopped };

  /// Of pool `p`, with at most `nodes` nodes of search per call.
  OrderSearch(const Request& q, std::uint32_t p, std::uint64_t nodes, SectionSearch::Tick tick)
      : q_(q), pool_(p), most_nodes_(nodes), tick_(std::move(tick)) {}

  /// The lowest layout of `tokens` with a peak of at most `limit` bytes. solved: offsets() is it,
  /// or there is none and peak() is nothing. Otherwise peak() is the best seen.
  End solve(const std::vector<std::uint32_t>& tokens, Units limit);
  std::optional<Units> peak() const { return best_peak_; }
  const std::vector<Units>& offsets() const { return best_; }  ///< by position in `tokens`

 private:
  struct Box {
    std::uint32_t first, end;
    Units lo, hi;
  };
  struct Token {
    Units step, at, size;
    std::vector<Box> boxes;
  };
  struct Join {
    std::uint32_t a, b;
    Units delta;
  };
  struct Constraint {  // offset(to) >= offset(from) + weight
    std::uint32_t from, to;
    Units weight;
  };
  struct Choice {  // one way, or two for a join, to part a pair
    Constraint c[2];
    std::uint32_t n;
    Units raise;
  };
  struct Node {
    std::size_t constraints, choices, next, end;
    std::vector<Units> offsets;
  };

  void load(const std::vector<std::uint32_t>& tokens);
  bool relax(std::vector<Units>& offset);
  bool open();
  bool joined(std::uint32_t i, std::uint32_t j, const std::vector<Units>& offset) const;
  std::size_t part(std::uint32_t i, std::uint32_t j, const std::vector<Units>& offset,
                   std::vector<Choice>& out) const;
  void add_order(std::uint32_t below, const Box& x, std::uint32_t above, const Box& y,
                 const std::vector<Units>& offset, std::vector<Choice>& out) const;

  Request q_;
  std::uint32_t pool_;
  std::uint64_t most_nodes_;
  SectionSearch::Tick tick_;
  std::vector<Token> tokens_;
  std::vector<Join> joins_;
  std::vector<Constraint> constraints_;
  std::vector<Choice> choices_;
  std::vector<Node> stack_;
  Units limit_ = 0;
  bool unsure_ = false;  // a branch was left because it did not settle
  std::uint64_t work_ = 0;
  std::optional<Units> best_peak_;
  std::vector<Units> best_;
};

inline void OrderSearch::load(const std::vector<std::uint32_t>& tokens) {
  tokens_.clear();
  joins_.clear();
  std::vector<std::uint32_t> index(q_.size(), UINT32_MAX);
  const std::uint64_t granule = q_.pool(pool_).granule;
  for (const std::uint32_t i : tokens) {
    const tn_token& t = q_[i];
    index[i] = static_cast<std::uint32_t>(tokens_.size());
    Token x{.step = static_cast<Units>(std::max(t.align, granule)),
            .at = t.at == TN_ANY ? -1 : static_cast<Units>(t.at),
            .size = static_cast<Units>(tenon::round_up(t.size, granule)),
            .boxes = {}};
    if (t.n_parts == 0) x.boxes.push_back({t.first, t.end, 0, static_cast<Units>(t.size)});
    for (const tn_part& p : q_.parts(i))
      x.boxes.push_back({p.first, p.end, static_cast<Units>(p.lo), static_cast<Units>(p.hi)});
    tokens_.push_back(std::move(x));
  }
  for (const tn_join& j : q_.joins())
    if (index[j.a] != UINT32_MAX && index[j.b] != UINT32_MAX)
      joins_.push_back({index[j.a], index[j.b], static_cast<Units>(j.delta)});
}

// The least solution above `offset`; false: none under the limit.
inline bool OrderSearch::relax(std::vector<Units>& offset) {
  constexpr int most_rounds = 10'000;  // more only where alignments chase each other
  for (int round = 0; round < most_rounds; ++round) {
    bool changed = false;
    for (const Constraint& c : constraints_) {
      const Token& t = tokens_[c.to];
      const Units least = offset[c.from] + c.weight;
      if (offset[c.to] >= least) continue;
      offset[c.to] = (least + t.step - 1) & -t.step;
      if (offset[c.to] + t.size > limit_ || (t.at >= 0 && offset[c.to] > t.at)) return false;
      changed = true;
    }
    work_ += constraints_.size() / 4 + 1;
    if (!changed) return true;
  }
  unsure_ = true;
  return false;
}

inline bool OrderSearch::joined(std::uint32_t i, std::uint32_t j,
                                const std::vector<Units>& offset) const {
  return std::any_of(joins_.begin(), joins_.end(), [&](const Join& x) {
    return ((x.a == i && x.b == j) || (x.a == j && x.b == i)) &&
           offset[x.b] == offset[x.a] + x.delta;
  });
}

inline void OrderSearch::add_order(std::uint32_t below, const Box& x, std::uint32_t above,
                                   const Box& y, const std::vector<Units>& offset,
                                   std::vector<Choice>& out) const {
  const Constraint c{below, above, x.hi - y.lo};
  const Token& t = tokens_[above];
  const Units to = (offset[below] + c.weight + t.step - 1) & -t.step;
  if (to + t.size <= limit_ && (t.at < 0 || to <= t.at))
    out.push_back({{c, {}}, 1, to - offset[above]});
}

// The ways to part the first two boxes of i and j that overlap; SIZE_MAX: none overlap.
inline std::size_t OrderSearch::part(std::uint32_t i, std::uint32_t j,
                                     const std::vector<Units>& offset,
                                     std::vector<Choice>& out) const {
  for (const Box& x : tokens_[i].boxes)
    for (const Box& y : tokens_[j].boxes) {
      if (x.first >= y.end || y.first >= x.end) continue;
      if (offset[i] + x.hi <= offset[j] + y.lo || offset[j] + y.hi <= offset[i] + x.lo) continue;
      if (joined(i, j, offset)) return SIZE_MAX;
      out.clear();
      add_order(i, x, j, y, offset, out);
      add_order(j, y, i, x, offset, out);
      const Units finer = std::min(tokens_[i].step, tokens_[j].step);
      for (const Join& k : joins_)
        if (((k.a == i && k.b == j) || (k.a == j && k.b == i)) && k.delta % finer == 0)
          out.push_back({{{k.a, k.b, k.delta}, {k.b, k.a, -k.delta}}, 2, 0});
      return out.size();
    }
  return SIZE_MAX;
}

// Branches on the pair with the fewest ways; false: the node is a layout, or has no way.
inline bool OrderSearch::open() {
  const std::vector<Units>& offset = stack_.back().offsets;
  std::vector<Choice> best, now;
  bool overlap = false;
  const auto least_raise = [](const std::vector<Choice>& c) {
    Units r = kNever;
    for (const Choice& x : c) r = std::min(r, x.raise);
    return r;
  };
  for (std::uint32_t i = 0; i < tokens_.size(); ++i)
    for (std::uint32_t j = 0; j < i; ++j) {
      const std::size_t ways = part(i, j, offset, now);
      ++work_;
      if (ways == SIZE_MAX) continue;
      if (!overlap || ways < best.size() ||
          (ways == best.size() && least_raise(now) > least_raise(best)))
        best = now;
      overlap = true;
    }
  if (!overlap) {
    Units peak = 0;
    for (std::uint32_t i = 0; i < tokens_.size(); ++i)
      peak = std::max(peak, offset[i] + tokens_[i].size);
    best_ = offset;
    best_peak_ = peak;
    limit_ = peak - 1;
    return false;
  }
  std::stable_sort(best.begin(), best.end(),
                   [](const Choice& a, const Choice& b) { return a.raise < b.raise; });
  Node& d = stack_.back();
  d.choices = d.next = choices_.size();
  choices_.insert(choices_.end(), best.begin(), best.end());
  d.end = choices_.size();
  return !best.empty();
}

inline OrderSearch::End OrderSearch::solve(const std::vector<std::uint32_t>& tokens, Units limit) {
  load(tokens);
  limit_ = limit;
  unsure_ = false;
  best_peak_.reset();
  constraints_.clear();
  choices_.clear();
  stack_.assign(1, {});
  for (const Token& t : tokens_) {
    stack_[0].offsets.push_back(std::max<Units>(t.at, 0));
    if (stack_[0].offsets.back() + t.size > limit) return End::solved;
  }
  if (!open()) return End::solved;
  for (std::uint64_t nodes = 0; !stack_.empty();) {
    Node& d = stack_.back();
    constraints_.resize(d.constraints);
    if (d.next == d.end) {
      choices_.resize(d.choices);
      stack_.pop_back();
      continue;
    }
    if (++nodes > most_nodes_) return End::gave_up;
    if (work_ >= 50'000 && tick_(std::exchange(work_, 0))) return End::stopped;
    const Choice& c = choices_[d.next++];
    constraints_.insert(constraints_.end(), c.c, c.c + c.n);
    std::vector<Units> offset = d.offsets;
    if (!relax(offset)) continue;
    // A layout found meanwhile lowers the limit under nodes that are already open.
    bool low = true;
    for (std::uint32_t i = 0; i < tokens_.size(); ++i)
      low = low && offset[i] + tokens_[i].size <= limit_;
    if (!low) continue;
    Node child{constraints_.size(), choices_.size(), choices_.size(), choices_.size(),
               std::move(offset)};
    stack_.push_back(std::move(child));
    if (!open()) {
      choices_.resize(stack_.back().choices);
      stack_.pop_back();
    }
  }
  return unsure_ ? End::gave_up : End::solved;
}

}  // namespace tenon::planning

#endif
