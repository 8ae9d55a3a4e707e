// Numbers with "add to a range" and "where is the largest of a range", both O(log n).
// Stable tier, header-only, std library only.
#ifndef TENON_PLANNING_RANGE_MAX_H
#define TENON_PLANNING_RANGE_MAX_H

#include <algorithm>
#include <bit>
#include <cstdint>
#include <span>
#include <vector>

namespace tenon::planning {

/// A segment tree walked from the leaves up: a node's `add` holds for all below and is never pushed
/// down.
class RangeMax {
 public:
  struct Max {
    std::uint64_t value = 0;
    std::uint32_t at = 0;  ///< the first of the largest
  };

  void assign(std::span<const std::uint64_t> values) {
    leaves_ = std::bit_ceil(values.size() + 2);  // a leaf of nothing at each side
    nodes_.assign(2 * leaves_, {});
    for (std::size_t k = 0; k < values.size(); ++k)
      nodes_[leaves_ + 1 + k] = {values[k], 0, static_cast<std::uint32_t>(k)};
    for (std::size_t k = leaves_ - 1; k >= 1; --k) pull(k);
  }

  /// Adds `x` to the values in [l, r), l < r.
  void add(std::uint32_t l, std::uint32_t r, std::uint64_t x) {
    std::size_t a = leaves_ + l, b = leaves_ + r + 1;  // just outside
    for (; (a ^ b) != 1; a /= 2, b /= 2) {
      if ((a & 1) == 0) apply(a + 1, x);
      if ((b & 1) == 1) apply(b - 1, x);
      if (a < leaves_) pull(a), pull(b);
    }
    if (a < leaves_) pull(a), pull(b);
    while ((a /= 2) >= 1) pull(a);
  }

  /// The largest in [l, r), l < r.
  Max max(std::uint32_t l, std::uint32_t r) const {
    std::size_t a = leaves_ + l, b = leaves_ + r + 1;
    Side left, right;
    for (; (a ^ b) != 1; a /= 2, b /= 2) {
      if (a < leaves_) left.best.value += nodes_[a].add, right.best.value += nodes_[b].add;
      if ((a & 1) == 0) left.take(nodes_[a + 1], false);
      if ((b & 1) == 1) right.take(nodes_[b - 1], true);
    }
    if (a < leaves_) left.best.value += nodes_[a].add, right.best.value += nodes_[b].add;
    Max best =
        !right.any || (left.any && left.best.value >= right.best.value) ? left.best : right.best;
    while ((a /= 2) >= 1) best.value += nodes_[a].add;
    return best;
  }
  Max max() const { return {nodes_[1].max, nodes_[1].at}; }

 private:
  struct Node {
    std::uint64_t max = 0, add = 0;  // max includes add
    std::uint32_t at = 0;
  };
  struct Side {
    Max best;
    bool any = false;
    void take(const Node& n, bool before) {
      if (!any || n.max > best.value || (before && n.max == best.value)) best = {n.max, n.at};
      any = true;
    }
  };
  void apply(std::size_t k, std::uint64_t x) { nodes_[k].max += x, nodes_[k].add += x; }
  void pull(std::size_t k) {
    const Node &a = nodes_[2 * k], &b = nodes_[2 * k + 1];
    const Node& larger = b.max > a.max ? b : a;
    nodes_[k].max = larger.max + nodes_[k].add;
    nodes_[k].at = larger.at;
  }

  std::vector<Node> nodes_;  // heap order
  std::size_t leaves_ = 1;
};

}  // namespace tenon::planning

#endif
