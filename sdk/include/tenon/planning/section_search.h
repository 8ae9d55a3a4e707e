// Complete search for a layout under a target height, over tenon/planning/stacking.h.
//
// Below the floor of a section nothing more will be placed. The search takes a plateau of floors
// lower than what is beside it, and in it the section with the fewest children. Each unplaced block
// of the section that fits into the plateau and may stand on the floor is a child; the last child
// is "none does", which raises that section's floor to the next offset where a block can begin.
// Every layout can be pushed down until each unpinned block stands on offset 0, on a block, or on
// the first multiple of its step above; so the children miss no height, at any plateau. Branching
// on a section needs no global order of blocks, and one with few children decides most.
//
// Runs are heavy-tailed: either about n nodes suffice or none do. So a run takes a limit of nodes,
// runs differ by rules and noise, and what failed is remembered between them.
#ifndef TENON_PLANNING_SECTION_SEARCH_H
#define TENON_PLANNING_SECTION_SEARCH_H

#include <functional>
#include <utility>

#include "tenon/planning/failure_memo.h"
#include "tenon/planning/random.h"
#include "tenon/planning/stacking.h"

namespace tenon::planning {

/// Which child first: weights of features, each scaled to 0 .. 1000, and noise on top.
struct ValueRules {
  int size = 0;   ///< size, of the bound
  int width = 0;  ///< sections of the plateau's
  int area = 0;   ///< both multiplied
  int edge = 0;   ///< touches a side of the plateau
  int full = 0;   ///< fills the plateau's width
  int wall = 0;   ///< its top is level with what stands beside the plateau, each side
  int guide = 0;  ///< stands where the guide has it
  int noise = 0;
};

class SectionSearch {
 public:
  enum class End : std::uint8_t { found, refuted, limit, stopped };
  /// Told the work since the last call, in units of tn_host.tick; true: stop.
  using Tick = std::function<bool(std::uint64_t)>;

  SectionSearch(const Stacking& q, Tick tick) : q_(q), tick_(std::move(tick)) {}

  /// Looks for a layout whose peak is at most `target` within `nodes` nodes. `refuted`: there is
  /// none; that holds whatever the rules.
  End run(Units target, std::uint64_t nodes, const ValueRules& rules, Random& random);
  /// After `found`: the offsets.
  const std::vector<Units>& offsets() const { return offset_; }
  std::uint64_t nodes() const { return nodes_; }
  /// Offsets that `ValueRules::guide` favours, one per block; -1: none.
  void guide(std::vector<Units> offsets) { guide_ = std::move(offsets); }

 private:
  struct Section {
    Units floor;     // least start of its unplaced blocks; kNever: none is unplaced
    Units next;      // the least start above it, at most that
    Units here;      // heights of the blocks that may start at the floor
    Units unplaced;  // heights of all its unplaced blocks
    std::uint32_t count, next_count;  // blocks with these starts
  };
  struct Change {  // to be undone: of a block's start, of a section, or a placement
    enum class Kind : std::uint8_t { start, section, placed } kind;
    std::uint32_t index;
    Units start;
    Section section;
  };
  struct Child {
    std::uint32_t block;  // size(): none stands here
    std::int64_t score;
  };
  struct Node {
    std::uint32_t section, left, right;   // and its plateau
    std::uint32_t part_left, part_right;  // the part it belongs to
    Units floor;
    std::size_t change, child_change;  // where its changes begin, and its open child's
    std::size_t begin, next, end;      // children
    StateKey key;
  };
  enum Flag : std::uint8_t { clean, touched, rescan };

  static Units round_up(Units x, Units m) { return (x + m - 1) & -m; }
  std::uint32_t n() const { return q_.size(); }

  void reset();
  bool settle();
  void scan(std::uint32_t s);
  Section& touch(std::uint32_t s);
  void leave(std::uint32_t s, std::uint32_t block, Units from, Units to);
  bool raise_start(std::uint32_t block, Units to);
  bool place(std::uint32_t block, Units at);
  bool raise_floor(const Node& d);
  Units reachable(const Node& d);
  void undo(std::size_t to);
  bool descend();
  bool may_be_empty(std::uint32_t s) const;
  bool choose(Node& d) const;
  void list_children(Node& d);
  std::int64_t score(const Node& d, std::uint32_t block);
  bool twin_unplaced(std::uint32_t block) const;
  bool told_to_stop();
  void hash(std::uint32_t s, Units floor) {
    key_[s].flip((std::uint64_t(s) + 1) << 40 ^ static_cast<std::uint64_t>(floor));
  }
  bool split(std::uint32_t left, std::uint32_t right);
  bool pop_refuted();

  const Stacking& q_;
  Tick tick_;
  FailureMemo memo_;
  std::vector<Units> guide_;
  // The state of a run.
  Units target_ = 0;
  const ValueRules* rules_ = nullptr;
  Random* random_ = nullptr;
  std::vector<Units> offset_, start_;  // start: least possible offset; kNever once placed
  std::vector<Section> section_;
  std::vector<std::uint8_t> flag_;
  std::vector<std::uint32_t> changed_;  // sections that are not clean
  std::vector<Change> changes_;
  std::vector<Node> stack_;
  std::vector<Child> children_;
  std::vector<StateKey>
      key_;  // of each section: its floor, and the unplaced blocks that begin there
  std::uint32_t left_ = 0;
  std::uint64_t nodes_ = 0, work_ = 0;
};

inline SectionSearch::End SectionSearch::run(Units target, std::uint64_t nodes,
                                             const ValueRules& rules, Random& random) {
  target_ = target;
  rules_ = &rules;
  random_ = &random;
  reset();
  if (q_.bound > target || !settle()) return End::refuted;
  if (left_ == 0) return End::found;
  if (!descend()) return End::refuted;
  for (const std::uint64_t last = nodes_ + nodes;;) {
    Node& d = stack_.back();
    if (d.next == d.end) {
      if (!pop_refuted()) return End::refuted;
      continue;
    }
    if (nodes_ >= last) return End::limit;
    if (work_ >= 50'000 && told_to_stop()) return End::stopped;
    ++nodes_;
    const std::uint32_t block = children_[d.next++].block;
    d.child_change = changes_.size();
    bool open = block < n() ? place(block, d.floor) : raise_floor(d);
    open = settle() && open;
    if (open && left_ == 0) return End::found;
    if (!open || !split(d.part_left, d.part_right) || !descend()) undo(stack_.back().child_change);
  }
}

// All children of the last node failed, so its part fails, and with it every state that has this
// part: nodes that decided about other parts are left as well. False: none is left.
inline bool SectionSearch::pop_refuted() {
  const std::uint32_t left = stack_.back().part_left, right = stack_.back().part_right;
  memo_.add(stack_.back().key, target_);
  do {
    undo(stack_.back().change);
    children_.resize(stack_.back().begin);
    stack_.pop_back();
  } while (!stack_.empty() &&
           (stack_.back().part_right <= left || right <= stack_.back().part_left));
  if (stack_.empty()) return false;
  undo(stack_.back().child_change);
  return true;
}

// Where a section has no unplaced block, what is left of it and what is right of it are parts that
// no longer touch. False: one of the parts within these sections is known to fail.
inline bool SectionSearch::split(std::uint32_t left, std::uint32_t right) {
  for (std::uint32_t l = left, r = left; l < right; l = r + 1) {
    StateKey key;
    for (r = l; r < right && section_[r].floor < kNever; ++r) key.add(key_[r]);
    if (r > l && memo_.has(key, target_)) return false;
  }
  work_ += (right - left) / 16;
  return true;
}

inline bool SectionSearch::told_to_stop() { return tick_(std::exchange(work_, 0)); }

inline void SectionSearch::reset() {
  offset_.assign(n(), -1);
  start_.resize(n());
  for (std::uint32_t i = 0; i < n(); ++i) start_[i] = std::max<Units>(q_.at[i], 0);
  section_.assign(q_.n_sections, {-1, kNever, 0, 0, 0, 0});
  flag_.assign(q_.n_sections, clean);
  changed_.clear();
  changes_.clear();
  stack_.clear();
  children_.clear();
  left_ = n();
  key_.assign(q_.n_sections, {});
  for (std::uint32_t s = 0; s < q_.n_sections; ++s) {
    section_[s].unplaced = q_.load[s];
    touch(s);
    flag_[s] = rescan;
  }
}

// Brings the changed sections up to date and says whether what is unplaced still fits above their
// floors. Blocks that cannot start at the floor begin at `next`, so a floor without enough blocks
// to reach that leaves a hole.
inline bool SectionSearch::settle() {
  bool fits = true;
  for (const std::uint32_t s : changed_) {
    if (fits && flag_[s] == rescan) scan(s);
    flag_[s] = clean;
    const Section& x = section_[s];
    if (fits && x.floor < kNever)
      fits = x.floor + x.unplaced <= target_ &&
             (x.next == kNever || x.next + x.unplaced - x.here <= target_);
  }
  changed_.clear();
  return fits;
}

inline void SectionSearch::scan(std::uint32_t s) {
  Section x{kNever, kNever, 0, section_[s].unplaced, 0, 0};
  const std::uint32_t begin = q_.members_begin[s], end = q_.members_begin[s + 1];
  for (std::uint32_t k = begin; k < end; ++k) {
    const Units v = start_[q_.member[k]];
    if (v > x.next || v == kNever) continue;
    if (v < x.floor) {
      x.next = std::exchange(x.floor, v);
      x.next_count = std::exchange(x.count, 1);
      x.here = q_.member_height[k];
    } else if (v == x.floor) {
      ++x.count;
      x.here += q_.member_height[k];
    } else {
      x.next_count = v < x.next ? 1 : x.next_count + 1;
      x.next = v;
    }
  }
  work_ += (end - begin) / 4 + 1;
  if (x.floor != section_[s].floor) {
    hash(s, section_[s].floor);
    hash(s, x.floor);
  }
  section_[s] = x;
}

inline SectionSearch::Section& SectionSearch::touch(std::uint32_t s) {
  if (flag_[s] == clean) {
    flag_[s] = touched;
    changed_.push_back(s);
    changes_.push_back({Change::Kind::section, s, 0, section_[s]});
  }
  return section_[s];
}

// The start of `block` moves up in section s, or away: counts follow, and when the last block
// leaves the floor or the next start, the section is scanned again.
inline void SectionSearch::leave(std::uint32_t s, std::uint32_t block, Units from, Units to) {
  if (from > section_[s].next) return;
  Section& x = touch(s);
  if (flag_[s] == rescan) return;
  if (from == x.floor) {
    x.here -= q_.height(block, s);
    if (--x.count == 0) flag_[s] = rescan;
  } else if (--x.next_count == 0) {
    flag_[s] = rescan;
  }
  if (to < x.next) {
    x.next = to;
    x.next_count = 1;
  } else if (to == x.next && to < kNever) {
    ++x.next_count;
  }
}

inline bool SectionSearch::raise_start(std::uint32_t block, Units to) {
  const Units from = std::exchange(start_[block], to);
  changes_.push_back({Change::Kind::start, block, from, {}});
  if (to + q_.full[block] > target_ || (q_.at[block] >= 0 && to > q_.at[block])) return false;
  for (std::uint32_t s = q_.begin[block]; s < q_.end[block]; ++s) leave(s, block, from, to);
  work_ += (q_.end[block] - q_.begin[block]) / 8;
  return true;
}

inline bool SectionSearch::place(std::uint32_t block, Units at) {
  offset_[block] = at;
  changes_.push_back({Change::Kind::placed, block, std::exchange(start_[block], kNever), {}});
  --left_;
  key_[q_.begin[block]].flip(block);
  for (std::uint32_t s = q_.begin[block]; s < q_.end[block]; ++s) {
    touch(s).unplaced -= q_.height(block, s);
    leave(s, block, at, kNever);
  }
  work_ += (q_.neighbours_begin[block + 1] - q_.neighbours_begin[block]) / 8 + 4;
  for (std::uint32_t k = q_.neighbours_begin[block]; k < q_.neighbours_begin[block + 1]; ++k) {
    const Units top = at + q_.neighbour_base[k];
    const std::uint32_t j = q_.neighbour[k];
    if (start_[j] < top && !raise_start(j, round_up(top, q_.step[j]))) return false;
  }
  return at + q_.full[block] <= target_;
}

inline bool SectionSearch::raise_floor(const Node& d) {
  const Units to = reachable(d);
  if (to + section_[d.section].unplaced > target_) return false;
  for (std::uint32_t k = q_.members_begin[d.section]; k < q_.members_begin[d.section + 1]; ++k) {
    const std::uint32_t j = q_.member[k];
    if (start_[j] < to && !raise_start(j, round_up(to, q_.step[j]))) return false;
  }
  return true;
}

// The lowest block of the section stands either where it can start at the earliest, above the
// floor, or on a block that is beside the section.
inline Units SectionSearch::reachable(const Node& d) {
  Units best = section_[d.section].next;
  for (std::uint32_t s = d.left; s < d.right; ++s) {
    if (s == d.section) continue;
    for (std::uint32_t k = q_.members_begin[s]; k < q_.members_begin[s + 1]; ++k) {
      const std::uint32_t j = q_.member[k];
      if (start_[j] == kNever || (q_.begin[j] <= d.section && d.section < q_.end[j])) continue;
      best = std::min(best, start_[j] + q_.member_height[k]);
    }
    work_ += (q_.members_begin[s + 1] - q_.members_begin[s]) / 4 + 1;
  }
  return std::max(best, d.floor + 1);
}

inline void SectionSearch::undo(std::size_t to) {
  while (changes_.size() > to) {
    const Change& c = changes_.back();
    switch (c.kind) {
      case Change::Kind::start:
        start_[c.index] = c.start;
        break;
      case Change::Kind::section:
        if (section_[c.index].floor != c.section.floor) {
          hash(c.index, section_[c.index].floor);
          hash(c.index, c.section.floor);
        }
        section_[c.index] = c.section;
        break;
      case Change::Kind::placed:
        start_[c.index] = c.start;
        offset_[c.index] = -1;
        ++left_;
        key_[q_.begin[c.index]].flip(c.index);
        break;
    }
    changes_.pop_back();
  }
}

inline bool SectionSearch::descend() {
  Node d{};
  d.change = d.child_change = changes_.size();
  if (!choose(d)) return false;
  d.part_left = d.part_right = d.section;
  while (d.part_left > 0 && section_[d.part_left - 1].floor < kNever) --d.part_left;
  while (d.part_right < q_.n_sections && section_[d.part_right].floor < kNever) ++d.part_right;
  for (std::uint32_t s = d.part_left; s < d.part_right; ++s) d.key.add(key_[s]);
  list_children(d);
  stack_.push_back(d);
  return true;
}

// Whether the section may have room for a hole above its floor; cheap, and true when in doubt.
inline bool SectionSearch::may_be_empty(std::uint32_t s) const {
  const Section& x = section_[s];
  const Units slack = target_ - x.floor - x.unplaced;
  return slack > 0 && (slack >= q_.least_height || x.next - x.floor <= slack);
}

inline bool SectionSearch::choose(Node& d) const {
  std::uint32_t fewest = UINT32_MAX;
  for (std::uint32_t l = 0, r = 0; l < q_.n_sections; l = r) {
    const Units floor = section_[l].floor;
    for (r = l + 1; r < q_.n_sections && section_[r].floor == floor;) ++r;
    if (floor == kNever || (l > 0 && section_[l - 1].floor < floor) ||
        (r < q_.n_sections && section_[r].floor < floor))
      continue;
    for (std::uint32_t s = l; s < r; ++s) {
      const std::uint32_t children = section_[s].count + (may_be_empty(s) ? 1 : 0);
      if (children > fewest || (children == fewest && floor >= d.floor)) continue;
      fewest = children;
      d.section = s, d.left = l, d.right = r, d.floor = floor;
    }
  }
  return fewest != UINT32_MAX;
}

inline bool SectionSearch::twin_unplaced(std::uint32_t block) const {
  for (std::uint32_t t = q_.twin[block]; t < n(); t = q_.twin[t])
    if (start_[t] < kNever) return true;
  return false;
}

inline void SectionSearch::list_children(Node& d) {
  d.begin = d.next = children_.size();
  for (std::uint32_t k = q_.members_begin[d.section]; k < q_.members_begin[d.section + 1]; ++k) {
    const std::uint32_t i = q_.member[k];
    if (start_[i] == d.floor && !twin_unplaced(i)) children_.push_back({i, score(d, i)});
  }
  if (may_be_empty(d.section)) children_.push_back({n(), INT64_MIN});
  std::sort(children_.begin() + static_cast<std::ptrdiff_t>(d.begin), children_.end(),
            [](const Child& a, const Child& b) {
              return a.score != b.score ? a.score > b.score : a.block < b.block;
            });
  d.end = children_.size();
  work_ += q_.n_sections / 8 + 10 * (d.end - d.begin);
}

inline std::int64_t SectionSearch::score(const Node& d, std::uint32_t i) {
  const ValueRules& r = *rules_;
  const std::int64_t size = 1000 * q_.full[i] / q_.bound;
  const std::int64_t width = 1000 * std::int64_t(q_.end[i] - q_.begin[i]) / (d.right - d.left);
  const bool left = q_.begin[i] == d.left, right = q_.end[i] == d.right;
  const auto level = [&](std::uint32_t edge, std::uint32_t beside) {
    return section_[beside].floor == d.floor + q_.height(i, edge);
  };
  const int walls = (left && d.left > 0 && level(d.left, d.left - 1) ? 1 : 0) +
                    (right && d.right < q_.n_sections && level(d.right - 1, d.right) ? 1 : 0);
  std::int64_t sum = r.size * size + r.width * width + r.area * (size * width / 1000);
  if (left || right) sum += std::int64_t(1000) * r.edge;
  if (left && right) sum += std::int64_t(1000) * r.full;
  sum += std::int64_t(1000) * r.wall * walls;
  if (!guide_.empty() && guide_[i] == d.floor) sum += std::int64_t(1000) * r.guide;
  return sum + static_cast<std::int64_t>(random_->below(1000)) * r.noise;
}

}  // namespace tenon::planning

#endif
