// Sets of steps as disjoint, ascending, half-open intervals.
#ifndef TENON_CORE_STORAGE_LIFETIMES_H
#define TENON_CORE_STORAGE_LIFETIMES_H

#include <algorithm>
#include <span>
#include <vector>

#include "tenon/storage.h"

namespace tenon {

/// Sorts, drops empty intervals, joins those that touch.
inline void tidy(std::vector<Lifetime>& live) {
  std::erase_if(live, [](const Lifetime& l) { return l.first >= l.end; });
  std::sort(live.begin(), live.end(),
            [](const Lifetime& a, const Lifetime& b) { return a.first < b.first; });
  std::size_t kept = 0;
  for (const Lifetime& l : live) {
    if (kept > 0 && l.first <= live[kept - 1].end) {
      live[kept - 1].end = std::max(live[kept - 1].end, l.end);
    } else {
      live[kept++] = l;
    }
  }
  live.resize(kept);
}

/// Calls fn(Lifetime) for every maximal interval in both sets; both tidy.
template <class Fn>
void for_each_common(std::span<const Lifetime> a, std::span<const Lifetime> b, Fn fn) {
  for (std::size_t i = 0, j = 0; i < a.size() && j < b.size();) {
    const Lifetime both{std::max(a[i].first, b[j].first), std::min(a[i].end, b[j].end)};
    if (both.first < both.end) fn(both);
    a[i].end < b[j].end ? ++i : ++j;
  }
}

inline bool share_a_step(std::span<const Lifetime> a, std::span<const Lifetime> b) {
  bool any = false;
  for_each_common(a, b, [&](Lifetime) { any = true; });
  return any;
}

/// Whether `step` is the only step in both sets.
inline bool share_only(std::span<const Lifetime> a, std::span<const Lifetime> b,
                       std::uint32_t step) {
  bool found = false, other = false;
  for_each_common(a, b, [&](Lifetime l) {
    (l == Lifetime{step, step + 1} ? found : other) = true;
  });
  return found && !other;
}

inline bool contains(std::span<const Lifetime> a, std::uint32_t step) {
  return std::any_of(a.begin(), a.end(),
                     [&](const Lifetime& l) { return l.first <= step && step < l.end; });
}

inline Lifetime hull(std::span<const Lifetime> a) {
  return a.empty() ? Lifetime{} : Lifetime{a.front().first, a.back().end};
}

}  // namespace tenon

#endif
