// Tokens of a request as blocks of tenon/planning/packing.h.
#ifndef TENON_PLANNING_BLOCKS_H
#define TENON_PLANNING_BLOCKS_H

#include "tenon/planner.hpp"
#include "tenon/planning/packing.h"

namespace tenon::planning {

/// A token as a block of pool `p`. Parts that are not one flat-bottomed, gapless shape are filled
/// up, which is right and larger; `exact` is then cleared.
inline Block block_of(const Request& q, std::uint32_t i, std::uint32_t p, bool& exact) {
  const tn_token& t = q[i];
  const std::uint64_t granule = q.pool(p).granule;
  const auto units = [&](std::uint64_t bytes) {
    return static_cast<Units>(tenon::round_up(bytes, granule));
  };
  Block out{.step = static_cast<Units>(std::max(t.align, granule)),
            .at = t.at == TN_ANY ? -1 : static_cast<Units>(t.at),
            .size = units(t.size),
            .slabs = {}};
  std::vector<std::uint32_t> cuts{t.first, t.end};
  for (const tn_part& x : q.parts(i)) cuts.insert(cuts.end(), {x.first, x.end});
  std::sort(cuts.begin(), cuts.end());
  cuts.erase(std::unique(cuts.begin(), cuts.end()), cuts.end());
  for (std::size_t k = 0; k + 1 < cuts.size(); ++k) {
    std::uint64_t low = t.n_parts ? TN_ANY : 0, top = t.n_parts ? 0 : t.size;
    std::uint64_t bytes = 0;
    for (const tn_part& x : q.parts(i)) {
      if (x.first > cuts[k] || x.end < cuts[k + 1]) continue;
      low = std::min(low, x.lo);
      top = std::max(top, x.hi);
      bytes += x.hi - x.lo;
    }
    const bool flat = t.n_parts == 0 || (low == 0 && bytes == top);
    exact = exact && flat;
    const Units height = top == 0 ? static_cast<Units>(granule) : units(top);
    if (!out.slabs.empty() && out.slabs.back().height == height)
      out.slabs.back().end = cuts[k + 1];
    else
      out.slabs.push_back({cuts[k], cuts[k + 1], height});
  }
  return out;
}

/// Tokens that are placed as one block, at one offset.
struct Group {
  Block block;
  std::vector<std::uint32_t> tokens;
};

/// Every token of a request with one pool, each alone.
inline std::vector<Group> single_groups(const Request& q, bool& exact) {
  std::vector<Group> out;
  for (std::uint32_t i = 0; i < q.size(); ++i) out.push_back({block_of(q, i, 0, exact), {i}});
  exact = exact && q.joins().empty();
  return out;
}

/// The same with tokens that may take each other over in groups: chains of joins without an offset.
/// Right, and mostly better; but a chain that would better be broken stays whole.
inline std::vector<Group> joined_groups(const Request& q) {
  bool exact = true;
  std::vector<Group> all = single_groups(q, exact);
  std::vector<std::uint32_t> head(q.size());  // the group that holds token i
  std::iota(head.begin(), head.end(), 0u);
  std::vector<char> taken_over(q.size(), 0);
  std::vector<tn_join> joins(q.joins().begin(), q.joins().end());
  std::stable_sort(joins.begin(), joins.end(), [&](const tn_join& x, const tn_join& y) {
    return std::min(q[x.a].size, q[x.b].size) > std::min(q[y.a].size, q[y.b].size);
  });
  for (const tn_join& j : joins) {
    Block &a = all[head[j.a]].block, &b = all[head[j.b]].block;
    // Both ends must be free: b begins its chain, and no other token took a over.
    if (j.delta != 0 || taken_over[j.a] || head[j.b] != j.b || a.at >= 0 || head[j.a] == j.b ||
        (b.at >= 0 && b.at % a.step != 0))
      continue;
    // They share the last step of a, the first of b.
    const std::uint32_t meet = b.slabs.front().first;
    const Units before = a.slabs.back().height, after = b.slabs.front().height;
    a.slabs.back().end = meet;
    if (a.slabs.back().first == meet) a.slabs.pop_back();
    a.slabs.push_back({meet, meet + 1, std::max(before, after)});
    b.slabs.front().first = meet + 1;
    if (b.slabs.front().end == meet + 1) b.slabs.erase(b.slabs.begin());
    a.slabs.insert(a.slabs.end(), b.slabs.begin(), b.slabs.end());
    a.step = std::max(a.step, b.step);
    a.size = std::max(a.size, b.size);
    a.at = b.at;
    taken_over[j.a] = 1;
    Group &from = all[head[j.b]], &to = all[head[j.a]];
    for (const std::uint32_t t : from.tokens) head[t] = head[j.a];
    to.tokens.insert(to.tokens.end(), from.tokens.begin(), from.tokens.end());
    from.tokens.clear();
  }
  std::erase_if(all, [](const Group& g) { return g.tokens.empty(); });
  return all;
}

/// Whether offsets and peaks of the request stay far below kNever whatever is stacked.
inline bool fits_units(const Request& q) {
  std::uint64_t sum = 0;
  constexpr std::uint64_t most = kNever / 8;
  for (std::uint32_t i = 0; i < q.size(); ++i) {
    std::uint64_t coarse = q[i].align;
    for (const std::uint32_t p : q.pools(i)) coarse = std::max(coarse, q.pool(p).granule);
    const std::uint64_t pin = q[i].at == TN_ANY ? 0 : q[i].at;
    if (coarse > most || q[i].size > most || pin > most) return false;
    sum += q[i].size + 2 * coarse + pin;
    if (sum > most) return false;
  }
  return true;
}

}  // namespace tenon::planning

#endif
