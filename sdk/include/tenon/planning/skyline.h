// A skyline dive: packs the tokens of one pool in one pass, from offset 0 upwards, without lists of
// conflicts. Any n: O(log n) for a placement in practice; a million tokens take seconds.
//
// Over each section of time stands a floor: the end of what is placed there. Runs of equal floor
// are plateaus. The dive takes a plateau whose both neighbours are higher (which of them does not
// matter: they do not touch) and a section of it, and puts there the first token in the order that
// lies within the plateau and covers the section. If there is none, every token that will cover the
// section sticks out of the plateau and so ends up on the lower neighbour's floor or above: the
// floor is raised to it, which loses nothing. The only loss of a dive is the order.
//
// Pinned bytes are obstacles: a token is no candidate while it would meet one.
// Stable tier, header-only, std library only.
#ifndef TENON_PLANNING_SKYLINE_H
#define TENON_PLANNING_SKYLINE_H

#include <algorithm>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "tenon/planner.hpp"
#include "tenon/planning/candidates.h"
#include "tenon/planning/range_max.h"
#include "tenon/planning/sections.h"

namespace tenon::planning {

/// What a dive places: `size` bytes at a multiple of `align`, for the steps `live`.
struct Item {
  Span live;
  std::uint64_t size = 0, align = 1;
};
/// Bytes [lo, hi) that are taken in the steps `live`.
struct Obstacle {
  Span live;
  std::uint64_t lo = 0, hi = 0;
};

/// Where on a plateau a dive looks for the next token.
enum class Fill : std::uint8_t {
  tightest,  ///< at the tightest section (floor plus bytes still to come)
  leftmost   ///< at the first section: what is alike in time is laid out alike
};

enum class Dive : std::uint8_t {
  complete,
  too_high,  ///< an item would have ended past the limit
  stopped
};

class Skyline {
 public:
  Skyline(std::vector<Item> items, const std::vector<Obstacle>& obstacles)
      : items_(std::move(items)), sections_(cut(items_, obstacles)), free_(spans_of_items()) {
    for (std::uint32_t k = 0; k < obstacles.size(); ++k) {
      const Span s = sections_.of[items_.size() + k];
      obstacles_.add({obstacles[k].lo, obstacles[k].hi, s.first, s.end, k});
      obstacle_top_ = std::max(obstacle_top_, obstacles[k].hi);
    }
    has_obstacles_ = !obstacles.empty();
    for (const Item& x : items_) unit_ = std::min(unit_, x.align);
    std::vector<std::uint64_t> sizes;
    for (const Item& x : items_) sizes.push_back(round_up(x.size, unit_));
    loads_ = section_loads(spans_of_items(), sections_.count, sizes);
    bound_ = std::max(obstacle_top_, max_live(obstacles));
  }

  std::uint32_t size() const { return static_cast<std::uint32_t>(items_.size()); }
  const std::vector<Item>& items() const { return items_; }
  /// The sections that item i covers.
  Span sections(std::uint32_t i) const { return sections_.of[i]; }
  std::uint32_t n_sections() const { return sections_.count; }
  /// Bytes live in each section, sizes rounded up to the least alignment.
  const std::vector<std::uint64_t>& loads() const { return loads_; }

  /// No packing of these items beside these obstacles ends below it.
  std::uint64_t bound() const { return bound_; }

  /// Packs in `order` (first = most wanted) below `limit`. What was not placed has offset TN_ANY.
  /// Calls stop(work since its last call) every 100 000 units or so, and at the end.
  template <class Stop>
  Dive dive(std::span<const std::uint32_t> order, std::uint64_t limit, Fill fill, Stop stop) {
    const auto report = [&] { return stop(work() - std::exchange(told_, work())); };
    const std::uint64_t highest = limit > TN_ANY - unit_ ? limit : round_up(limit, unit_);
    Dive end = Dive::complete;
    begin(order);
    while (left_ > 0 && end == Dive::complete) {
      const std::uint32_t l = next_low();
      const std::uint32_t at = fill == Fill::tightest ? pot_.max(l, right_[l]).at : l;
      const std::uint32_t i =
          free_.best(l, at, right_[l], [&](std::uint32_t k) { return clear(k, floor_[l]); });
      if (i == kNone)
        raise(l, at);
      else if (!place(i, l, limit))
        end = Dive::too_high;
      if (pot_.max().value > highest) end = Dive::too_high;
      if (work() - told_ > 100'000 && report()) end = Dive::stopped;
    }
    report();
    return end;
  }

  /// Of the last dive: where each item stands, and the end of the highest, pinned bytes included.
  const std::vector<std::uint64_t>& offsets() const { return offsets_; }
  std::uint64_t peak() const { return peak_; }
  /// Of the last dive: the section with the highest floor plus bytes to come; why it was too high.
  std::uint32_t tightest() const { return pot_.max().at; }
  /// In units of tn_host.tick, over all dives.
  std::uint64_t work() const { return work_ + free_.work(); }

 private:
  static constexpr std::uint64_t kStep = 12;  // work of one placement beside the search

  // The floor of sections that no token will cover any more.
  static constexpr std::uint64_t kNeverAgain = UINT64_MAX;

  struct Low {  // a plateau whose neighbours are higher
    std::uint32_t l, stamp;
  };

  static Sections cut(const std::vector<Item>& items, const std::vector<Obstacle>& obstacles) {
    std::vector<Span> steps;
    steps.reserve(items.size() + obstacles.size());
    for (const Item& x : items) steps.push_back(x.live);
    for (const Obstacle& x : obstacles) steps.push_back(x.live);
    return cut_sections(steps);
  }
  std::span<const Span> spans_of_items() const {
    return std::span<const Span>(sections_.of).first(items_.size());
  }

  std::uint64_t max_live(const std::vector<Obstacle>& obstacles) const {
    std::vector<std::uint64_t> sizes;
    for (const Item& x : items_) sizes.push_back(x.size);
    for (const Obstacle& x : obstacles) sizes.push_back(x.hi - x.lo);
    const auto loads = section_loads(sections_.of, sections_.count, sizes);
    return loads.empty() ? 0 : *std::max_element(loads.begin(), loads.end());
  }

  void begin(std::span<const std::uint32_t> order) {
    const std::uint32_t m = sections_.count;
    rank_.resize(size());
    for (std::uint32_t k = 0; k < order.size(); ++k) rank_[order[k]] = k;
    free_.reset(rank_);
    pot_.assign(loads_);
    floor_.assign(m, 0);
    right_.assign(m + 1, 0);
    left_of_.assign(m + 1, 0);
    stamp_.assign(m + 1, 0);
    lows_.clear();
    offsets_.assign(size(), TN_ANY);
    peak_ = obstacle_top_;
    left_ = size();
    stamps_ = 0;
    work_ += size();
    if (m > 0) set_plateau(0, m, 0), push_low(0);
  }

  bool clear(std::uint32_t i, std::uint64_t floor) {
    if (!has_obstacles_) return true;
    const std::uint64_t lo = round_up(floor, items_[i].align), hi = lo + items_[i].size;
    if (lo >= obstacle_top_) return true;
    bool free = true;
    work_ += obstacles_.scan(sections_.of[i].first, sections_.of[i].end, [&](const auto& b) {
      free = b.hi <= lo || b.lo >= hi;
      return free && b.lo < hi;
    });
    return free;
  }

  std::uint32_t next_low() {
    for (;;) {
      const Low low = lows_.back();
      lows_.pop_back();
      if (stamp_[low.l] == low.stamp) return low.l;
    }
  }

  bool place(std::uint32_t i, std::uint32_t l, std::uint64_t limit) {
    const std::uint64_t floor = floor_[l], at = round_up(floor, items_[i].align);
    const std::uint64_t end = at + items_[i].size, top = round_up(end, unit_);
    if (end > limit) return false;
    const Span s = sections_.of[i];
    offsets_[i] = at;
    peak_ = std::max(peak_, end);
    free_.remove(i);
    --left_;
    work_ += kStep;
    if (at != floor) pot_.add(s.first, s.end, at - floor);
    lift(l, s, top);
    return true;
  }

  // No token fits onto the plateau at `section`; the same holds for its surroundings up to the next
  // tokens within the plateau.
  void raise(std::uint32_t l, std::uint32_t section) {
    const std::uint32_t r = right_[l];
    const std::uint64_t floor = floor_[l];
    const auto accept = [&](std::uint32_t k) { return clear(k, floor); };
    const Span s{free_.last_end(l, section, accept), free_.first_begin(section + 1, r, accept)};
    std::uint64_t level = kNeverAgain;
    if (l > 0) level = floor_[left_of_[l]];
    if (r < sections_.count) level = std::min(level, floor_[r]);
    if (has_obstacles_ && floor < obstacle_top_)
      work_ += obstacles_.scan(l, r, [&](const auto& b) {
        if (b.hi > floor) level = std::min(level, round_up(b.hi, unit_));
        return true;
      });
    work_ += kStep;
    if (level != kNeverAgain) pot_.add(s.first, s.end, level - floor);
    lift(l, s, level);
  }

  void set_plateau(std::uint32_t l, std::uint32_t r, std::uint64_t floor) {
    floor_[l] = floor;
    right_[l] = r;
    left_of_[r] = l;
    stamp_[l] = ++stamps_;
  }

  // The part `s` of plateau l rises to `floor`, joining a neighbour of that height.
  void lift(std::uint32_t l, Span s, std::uint64_t floor) {
    const std::uint32_t r = right_[l];
    const std::uint64_t old = floor_[l];
    std::uint32_t a = s.first, b = s.end;
    stamp_[l] = ++stamps_;
    if (a == l && a > 0 && floor_[left_of_[a]] == floor) a = left_of_[a];
    if (b == r && r < sections_.count && floor_[r] == floor) {
      stamp_[r] = ++stamps_;
      b = right_[r];
    }
    if (s.first > l) set_plateau(l, s.first, old);
    set_plateau(a, b, floor);
    if (s.end < r) set_plateau(s.end, r, old);
    push_low(a);
    if (a > 0) push_low(left_of_[a]);
    if (b < sections_.count) push_low(b);
  }

  void push_low(std::uint32_t l) {
    const std::uint32_t r = right_[l];
    if (l > 0 && floor_[left_of_[l]] < floor_[l]) return;
    if (r < sections_.count && floor_[r] < floor_[l]) return;
    lows_.push_back({l, stamp_[l]});
  }

  std::vector<Item> items_;
  Sections sections_;  // of items, then obstacles
  Candidates free_;
  detail::Boxes obstacles_;
  bool has_obstacles_ = false;
  std::uint64_t obstacle_top_ = 0, unit_ = std::uint64_t{1} << 63;
  std::vector<std::uint64_t> loads_;

  RangeMax pot_;                                        // per section: floor + bytes to come
  std::vector<std::uint64_t> floor_;                    // by first section of a plateau
  std::vector<std::uint32_t> right_, left_of_, stamp_;  // its end; the first of what ends here
  std::vector<Low> lows_;                               // a stack; entries of old stamps are dead
  std::vector<std::uint32_t> rank_;
  std::vector<std::uint64_t> offsets_;
  std::uint32_t left_ = 0, stamps_ = 0;
  std::uint64_t bound_ = 0, peak_ = 0, work_ = 0, told_ = 0;
};

}  // namespace tenon::planning

#endif
