// The tokens that are not placed yet, as points (first, end) in a k-d tree: answers "which of those
// that lie within [l, r) and cover s comes first in the order?" without looking at the others.
// Stable tier, header-only, std library only.
#ifndef TENON_PLANNING_CANDIDATES_H
#define TENON_PLANNING_CANDIDATES_H

#include <algorithm>
#include <bit>
#include <cstdint>
#include <span>
#include <vector>

#include "tenon/planning/sections.h"

namespace tenon::planning {

inline constexpr std::uint32_t kNone = UINT32_MAX;

/// Answers do not depend on how the tree is cut, so they are the same with every standard library.
class Candidates {
 public:
  explicit Candidates(std::span<const Span> spans) : slot_of_(spans.size()) {
    const std::size_t n = spans.size();
    leaves_ = std::bit_ceil(std::max<std::size_t>(1, n / kLeaf));
    points_.reserve(n);
    for (std::uint32_t i = 0; i < n; ++i) points_.push_back({spans[i].first, spans[i].end, i, 0});
    for (std::size_t width = leaves_; width > 1; width /= 2)
      for (std::size_t leaf = 0; leaf < leaves_; leaf += width)
        halve(begin(leaf), begin(leaf + width / 2), begin(leaf + width),
              std::bit_width(width) % 2 == 0);
    for (std::uint32_t k = 0; k < n; ++k) slot_of_[points_[k].id] = k;
    nodes_.resize(2 * leaves_);
  }

  /// All tokens are unplaced; rank[i] is the place of token i in the order, each another one.
  void reset(std::span<const std::uint32_t> rank) {
    for (Point& p : points_) p.rank = rank[p.id];
    for (std::size_t k = leaves_; k < 2 * leaves_; ++k) sum_leaf(k);
    for (std::size_t k = leaves_ - 1; k >= 1; --k) sum_inner(k);
  }

  void remove(std::uint32_t i) {
    points_[slot_of_[i]].rank = kNone;
    std::size_t k = leaves_ + leaf_of(slot_of_[i]);
    sum_leaf(k);
    while ((k /= 2) >= 1) sum_inner(k);
  }

  /// The first in the order of those within [l, r) that cover s and are accepted, or kNone.
  template <class Accept>
  std::uint32_t best(std::uint32_t l, std::uint32_t s, std::uint32_t r, Accept accept) {
    const Point* p = search(
        {l, s, s + 1, r}, [](const auto& x) { return x.key(); }, accept);
    return p ? p->id : kNone;
  }
  /// The largest end of those within [l, r) that are accepted, or l.
  template <class Accept>
  std::uint32_t last_end(std::uint32_t l, std::uint32_t r, Accept accept) {
    const Point* p = search(
        {l, r, l, r}, [](const auto& x) { return ~x.latest(); }, accept);
    return p ? p->end : l;
  }
  /// The smallest first of those within [l, r) that are accepted, or r.
  template <class Accept>
  std::uint32_t first_begin(std::uint32_t l, std::uint32_t r, Accept accept) {
    const Point* p = search(
        {l, r, l, r}, [](const auto& x) { return x.earliest(); }, accept);
    return p ? p->first : r;
  }

  /// Nodes and tokens looked at so far.
  std::uint64_t work() const { return work_; }

 private:
  static constexpr std::size_t kLeaf = 6;
  struct Point {
    std::uint32_t first, end, id, rank;  // rank kNone: placed
    std::uint32_t key() const { return rank; }
    std::uint32_t latest() const { return end; }
    std::uint32_t earliest() const { return first; }
  };
  struct Node {  // of the unplaced below
    std::uint32_t min_first = UINT32_MAX, max_first = 0, min_end = UINT32_MAX, max_end = 0,
                  rank = kNone;
    std::uint32_t key() const { return rank; }
    std::uint32_t latest() const { return max_end; }
    std::uint32_t earliest() const { return min_first; }
  };
  struct Box {  // first in [f0, f1], end in [e0, e1]
    std::uint32_t f0, f1, e0, e1;
    bool meets(const Node& n) const {
      return n.rank != kNone && n.min_first <= f1 && n.max_first >= f0 && n.min_end <= e1 &&
             n.max_end >= e0;
    }
    bool has(const Point& p) const {
      return p.first >= f0 && p.first <= f1 && p.end >= e0 && p.end <= e1;
    }
  };

  std::size_t begin(std::size_t leaf) const { return points_.size() * leaf / leaves_; }
  std::size_t leaf_of(std::size_t slot) const {
    std::size_t leaf = slot * leaves_ / points_.size();
    while (begin(leaf + 1) <= slot) ++leaf;
    return leaf;
  }
  void halve(std::size_t lo, std::size_t mid, std::size_t hi, bool by_first) {
    const auto at = [&](std::size_t k) { return points_.begin() + static_cast<std::ptrdiff_t>(k); };
    std::nth_element(at(lo), at(mid), at(hi), [by_first](const Point& a, const Point& b) {
      return by_first ? a.first < b.first : a.end < b.end;
    });
  }
  void sum_leaf(std::size_t k) {
    Node n;
    const std::size_t leaf = k - leaves_;
    for (std::size_t i = begin(leaf); i < begin(leaf + 1); ++i) {
      const Point& p = points_[i];
      if (p.rank == kNone) continue;
      n.min_first = std::min(n.min_first, p.first), n.max_first = std::max(n.max_first, p.first);
      n.min_end = std::min(n.min_end, p.end), n.max_end = std::max(n.max_end, p.end);
      n.rank = std::min(n.rank, p.rank);
    }
    nodes_[k] = n;
  }
  void sum_inner(std::size_t k) {
    const Node &a = nodes_[2 * k], &b = nodes_[2 * k + 1];
    nodes_[k] = {std::min(a.min_first, b.min_first), std::max(a.max_first, b.max_first),
                 std::min(a.min_end, b.min_end), std::max(a.max_end, b.max_end),
                 std::min(a.rank, b.rank)};
  }

  // The accepted point in the box with the least key(point); key(node) bounds it from below.
  template <class Key, class Accept>
  const Point* search(const Box& box, Key key, Accept accept) {
    const Point* found = nullptr;
    std::uint64_t least = std::uint64_t{UINT32_MAX} + 1;
    std::size_t stack[64], depth = 0;
    stack[depth++] = 1;
    while (depth > 0) {
      const std::size_t k = stack[--depth];
      ++work_;
      if (!box.meets(nodes_[k]) || key(nodes_[k]) >= least) continue;
      if (k < leaves_) {
        const bool left_first = key(nodes_[2 * k]) <= key(nodes_[2 * k + 1]);
        stack[depth++] = left_first ? 2 * k + 1 : 2 * k;
        stack[depth++] = left_first ? 2 * k : 2 * k + 1;
        continue;
      }
      const std::size_t leaf = k - leaves_;
      for (std::size_t i = begin(leaf); i < begin(leaf + 1); ++i) {
        const Point& p = points_[i];
        if (p.rank == kNone || !box.has(p) || key(p) >= least || !accept(p.id)) continue;
        least = key(p);
        found = &p;
      }
    }
    return found;
  }

  std::vector<Point> points_;  // in the order of the leaves
  std::vector<std::uint32_t> slot_of_;
  std::vector<Node> nodes_;  // heap order; leaves at [leaves_, 2 * leaves_)
  std::size_t leaves_ = 1;
  std::uint64_t work_ = 0;
};

}  // namespace tenon::planning

#endif
