// The judge's sweep over time. Part of the judge; nothing else uses it.
#ifndef TENON_CORE_STORAGE_SWEEP_H
#define TENON_CORE_STORAGE_SWEEP_H

#include <algorithm>
#include <cstdint>
#include <map>
#include <vector>

namespace tenon {

/// Bytes [lo, hi) of a pool in steps [first, end), for `owner`; owners of one `storage` may
/// overlap.
struct Claim {
  std::uint32_t owner, storage, pool, first, end;
  std::uint64_t lo, hi;
};

/// Calls clash(there, comes) for claims of different storages that share a byte and a step, `there`
/// having been taken first, until it returns false. A pair may be seen more than once where it
/// meets in several ranges.
///
/// Per pool, an ordered map of *disjoint* byte ranges -> the claims that cover them. Ranges are
/// split where a claim begins or ends, so a claim meets every range that it touches, not only its
/// neighbours by offset: [50, 60) behind [0, 100) is found even when [0, 10) lies in between. Every
/// pair of claims that ever covers one range at one time is looked at when the later one arrives,
/// so the verdict does not depend on the order within a step.
template <class Clash>
void sweep(std::vector<Claim> claims, Clash clash) {
  using Cover = std::vector<std::uint32_t>;  // indices into claims
  struct Range {
    std::uint64_t hi;
    Cover cover;
  };
  using Ranges = std::map<std::uint64_t, Range>;  // by first byte; disjoint, none empty
  std::sort(claims.begin(), claims.end(), [](const Claim& a, const Claim& b) {
    return a.first != b.first ? a.first < b.first : a.owner < b.owner;
  });
  std::vector<std::uint32_t> ends(claims.size());
  for (std::uint32_t i = 0; i < ends.size(); ++i) ends[i] = i;
  std::sort(ends.begin(), ends.end(),
            [&](auto a, auto b) { return claims[a].end < claims[b].end; });
  std::map<std::uint32_t, Ranges> pools;

  // After it, no range reaches across `at`.
  const auto cut = [](Ranges& m, std::uint64_t at) {
    auto it = m.upper_bound(at);
    if (it == m.begin()) return;
    --it;
    if (it->first == at || it->second.hi <= at) return;
    m.emplace(at, Range{it->second.hi, it->second.cover});
    it->second.hi = at;
  };
  const auto release = [&](std::uint32_t i) {
    Ranges& m = pools[claims[i].pool];
    for (auto it = m.lower_bound(claims[i].lo); it != m.end() && it->first < claims[i].hi;) {
      std::erase(it->second.cover, i);
      it = it->second.cover.empty() ? m.erase(it) : std::next(it);
    }
  };
  std::size_t done = 0;
  for (std::uint32_t i = 0; i < claims.size(); ++i) {
    const Claim& c = claims[i];
    if (c.first >= c.end || c.lo >= c.hi) continue;
    for (; done < ends.size() && claims[ends[done]].end <= c.first; ++done) release(ends[done]);
    Ranges& m = pools[c.pool];
    cut(m, c.lo);
    cut(m, c.hi);
    std::uint64_t at = c.lo;  // bytes below are covered by i
    for (auto it = m.lower_bound(c.lo); at < c.hi; ++it) {
      const bool past = it == m.end() || it->first >= c.hi;
      const std::uint64_t gap_end = past ? c.hi : it->first;
      if (at < gap_end) m.emplace_hint(it, at, Range{gap_end, {i}});
      if (past) break;
      for (const std::uint32_t k : it->second.cover)
        if (claims[k].storage != c.storage && !clash(claims[k], c)) return;
      it->second.cover.push_back(i);
      at = it->second.hi;
    }
  }
}

}  // namespace tenon

#endif
