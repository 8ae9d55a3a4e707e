// The tokens of one pool as rectangles: what skyline.h and searches above it pack. Pinned tokens
// are obstacles. A chain of joins between tokens of one size is one item for the hull of their
// lives, as each stands exactly on its predecessor. Parts are not used: a token takes its whole
// size always. Stable tier, header-only, std library only.
#ifndef TENON_PLANNING_POOL_ITEMS_H
#define TENON_PLANNING_POOL_ITEMS_H

#include <algorithm>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "tenon/planner.hpp"
#include "tenon/planning/skyline.h"

namespace tenon::planning {

struct PoolItems {
  std::uint32_t pool = 0;
  std::vector<Item> items;
  std::vector<Obstacle> obstacles;
  /// Members of item k: tokens[begin[k] .. begin[k + 1]), all at the item's offset.
  std::vector<std::uint32_t> tokens, begin{0};

  std::span<const std::uint32_t> members(std::uint32_t k) const {
    return std::span(tokens).subspan(begin[k], begin[k + 1] - begin[k]);
  }
  /// Writes the items' offsets as slots of their tokens.
  void write(std::span<const std::uint64_t> offsets, std::vector<tn_slot>& slots) const {
    for (std::uint32_t k = 0; k < items.size(); ++k)
      for (const std::uint32_t i : members(k)) slots[i] = {pool, offsets[k]};
  }
};

namespace detail {

// The token that each of `in` hands its place to, and who takes over from another: equal sizes at
// delta 0, each at most once on both sides.
struct Chains {
  std::vector<std::uint32_t> next;  // by token; kNone: nobody
  std::vector<char> follows;
};
inline Chains chains(const Request& q, std::uint32_t pool, const std::vector<char>& in) {
  Chains out{std::vector<std::uint32_t>(q.size(), kNone), std::vector<char>(q.size(), 0)};
  const auto bytes = [&](std::uint32_t i) {
    return round_up(q[i].size, std::max(q[i].align, q.pool(pool).granule));
  };
  for (const tn_join& j : q.joins())
    if (in[j.a] && in[j.b] && j.delta == 0 && bytes(j.a) == bytes(j.b) && out.next[j.a] == kNone &&
        !out.follows[j.b]) {
      out.next[j.a] = j.b;
      out.follows[j.b] = 1;
    }
  return out;
}

}  // namespace detail

/// The tokens `of` of pool `pool`, each once. O(n + joins).
inline PoolItems pool_items(const Request& q, std::uint32_t pool,
                            std::span<const std::uint32_t> of) {
  PoolItems out;
  out.pool = pool;
  std::vector<char> in(q.size(), 0);
  for (const std::uint32_t i : of) in[i] = q[i].at == TN_ANY;
  const detail::Chains chain = detail::chains(q, pool, in);
  for (const std::uint32_t i : of) {
    if (q[i].at != TN_ANY) {
      out.obstacles.push_back({{q[i].first, q[i].end}, q[i].at, q[i].at + q[i].size});
      continue;
    }
    if (chain.follows[i]) continue;
    Item item{{q[i].first, q[i].end}, 0, q.pool(pool).granule};
    for (std::uint32_t k = i; k != kNone; k = chain.next[k]) {
      out.tokens.push_back(k);
      item.live.end = std::max(item.live.end, q[k].end);
      item.size = std::max(item.size, q[k].size);
      item.align = std::max(item.align, q[k].align);
    }
    out.items.push_back(item);
    out.begin.push_back(static_cast<std::uint32_t>(out.tokens.size()));
  }
  return out;
}

}  // namespace tenon::planning

#endif
