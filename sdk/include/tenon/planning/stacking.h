// A pool as a problem of stacking: blocks with lifetimes are piled up under a target height. Arrays
// by block and by section of time (tenon/planning/sections.h), as complete search reads them.
// Unlike a rectangle, a block may change its height over time. Stable tier, header-only, std
// library only.
#ifndef TENON_PLANNING_STACKING_H
#define TENON_PLANNING_STACKING_H

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <utility>
#include <vector>

#include "tenon/planning/sections.h"

namespace tenon::planning {

using Units = std::int64_t;  ///< bytes, or multiples of a common divisor of all sizes and steps
inline constexpr Units kNever = Units(1) << 60;

/// What a block occupies above its offset in steps [first, end).
struct Slab {
  std::uint32_t first = 0, end = 0;
  Units height = 0;
};

/// A thing to place. Its slabs stand on one flat bottom, follow each other in time without a gap
/// and are not empty.
struct Block {
  Units step = 1;  ///< its offset is a multiple of this power of two
  Units at = -1;   ///< pinned offset, or -1
  Units size = 0;  ///< at least every slab's height; offset + size counts as peak
  std::vector<Slab> slabs;
};

/// Divides the blocks' sizes, heights, steps and pins by their greatest common divisor, which is
/// returned: offsets that are sums of sizes stay multiples of it.
inline Units scale(std::vector<Block>& blocks) {
  Units g = 0;
  for (const Block& i : blocks) {
    g = std::gcd(std::gcd(g, i.size), std::max<Units>(i.at, 0));
    for (const Slab& s : i.slabs) g = std::gcd(g, s.height);
  }
  if (g == 0) return 1;
  // A step either divides the unit, and holds by itself, or is a multiple of it.
  for (bool again = true; again;) {
    again = false;
    for (const Block& i : blocks)
      if (g % i.step != 0 && i.step % g != 0) g = std::gcd(g, i.step), again = true;
  }
  for (Block& i : blocks) {
    i.size /= g;
    i.step = std::max<Units>(i.step / g, 1);
    if (i.at >= 0) i.at /= g;
    for (Slab& s : i.slabs) s.height /= g;
  }
  return g;
}

/// The blocks by section. Arrays instead of objects: the search reads them millions of times a
/// second.
class Stacking {
 public:
  explicit Stacking(const std::vector<Block>& blocks) {
    std::vector<Span> slabs;
    for (const Block& b : blocks)
      for (const Slab& s : b.slabs) slabs.push_back({s.first, s.end});
    // Where a block's height changes, one slab ends and another begins: sections hold sets of
    // slabs.
    const Sections sections = cut_sections(slabs);
    n_sections = sections.count;
    const Span* next = sections.of.data();
    for (const Block& b : blocks) {
      add(b, next);
      next += b.slabs.size();
    }
    index_members();
    index_neighbours();
    find_twins();
  }

  std::uint32_t size() const { return static_cast<std::uint32_t>(begin.size()); }
  Units height(std::uint32_t i, std::uint32_t s) const {
    return heights[heights_begin[i] + s - begin[i]];
  }
  bool meet(std::uint32_t i, std::uint32_t j) const {
    return begin[i] < end[j] && begin[j] < end[i];
  }

  std::uint32_t n_sections = 0;
  std::vector<std::uint32_t> begin, end;  ///< of block i: sections [begin[i], end[i])
  std::vector<Units> full, step, at;      ///< of block i; full = Block::size
  std::vector<std::uint32_t> heights_begin;
  std::vector<Units> heights;  ///< by block, then section
  /// Blocks of section s: member[members_begin[s] .. members_begin[s + 1]), with their heights
  /// there.
  std::vector<std::uint32_t> members_begin, member;
  std::vector<Units> member_height;
  /// Blocks that meet block i, with the greatest height of i in a common section.
  std::vector<std::uint32_t> neighbours_begin, neighbour;
  std::vector<Units> neighbour_base;
  std::vector<std::uint32_t> twin;  ///< an earlier block that is just like i, or size()
  std::vector<Units> load;          ///< of section s: the sum of the heights there
  Units bound = 0;                  ///< no layout is lower: greatest load, and pinned ends
  Units least_height = kNever;

 private:
  void add(const Block& block, const Span* sections) {
    begin.push_back(sections->first);
    heights_begin.push_back(static_cast<std::uint32_t>(heights.size()));
    for (const Slab& s : block.slabs) {
      heights.insert(heights.end(), sections->end - sections->first, s.height);
      least_height = std::min(least_height, s.height);
      ++sections;
    }
    end.push_back(sections[-1].end);
    full.push_back(block.size);
    step.push_back(block.step);
    at.push_back(block.at);
    bound = std::max(bound, std::max<Units>(block.at, 0) + block.size);
  }

  void index_members() {
    members_begin.assign(n_sections + 1, 0);
    load.assign(n_sections, 0);
    for (std::uint32_t i = 0; i < size(); ++i)
      for (std::uint32_t s = begin[i]; s < end[i]; ++s) ++members_begin[s + 1];
    std::partial_sum(members_begin.begin(), members_begin.end(), members_begin.begin());
    member.resize(members_begin.back());
    member_height.resize(members_begin.back());
    std::vector<std::uint32_t> next(members_begin.begin(), members_begin.end() - 1);
    for (std::uint32_t i = 0; i < size(); ++i)
      for (std::uint32_t s = begin[i]; s < end[i]; ++s) {
        member[next[s]] = i;
        member_height[next[s]++] = height(i, s);
        load[s] += height(i, s);
      }
    for (const Units l : load) bound = std::max(bound, l);
  }

  void index_neighbours() {
    neighbours_begin.push_back(0);
    for (std::uint32_t i = 0; i < size(); ++i) {
      const bool flat = std::all_of(heights.begin() + heights_begin[i],
                                    heights.begin() + heights_begin[i] + (end[i] - begin[i]),
                                    [&](Units h) { return h == full[i]; });
      for (std::uint32_t j = 0; j < size(); ++j) {
        if (i == j || !meet(i, j)) continue;
        Units base = flat ? full[i] : 0;
        for (std::uint32_t s = std::max(begin[i], begin[j]); !flat && s < std::min(end[i], end[j]);
             ++s)
          base = std::max(base, height(i, s));
        neighbour.push_back(j);
        neighbour_base.push_back(base);
      }
      neighbours_begin.push_back(static_cast<std::uint32_t>(neighbour.size()));
    }
  }

  bool alike(std::uint32_t i, std::uint32_t j) const {
    return at[i] < 0 && at[j] < 0 && begin[i] == begin[j] && end[i] == end[j] &&
           full[i] == full[j] && step[i] == step[j] &&
           std::equal(heights.begin() + heights_begin[i],
                      heights.begin() + heights_begin[i] + (end[i] - begin[i]),
                      heights.begin() + heights_begin[j]);
  }
  void find_twins() {
    twin.assign(size(), size());
    for (std::uint32_t i = 0; i < size(); ++i)
      for (std::uint32_t j = i; j-- > 0 && twin[i] == size();)
        if (alike(i, j)) twin[i] = j;
  }
};

}  // namespace tenon::planning

#endif
