// Time as planners need it. Two tokens conflict in time exactly when some *section* holds both: a
// section is a maximal set of tokens that live together (a maximal clique of the interval graph).
// There are at most as many sections as tokens, however many steps the program has, and each token
// covers a contiguous range of them. Stable tier, header-only, std library only.
#ifndef TENON_PLANNING_SECTIONS_H
#define TENON_PLANNING_SECTIONS_H

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

namespace tenon::planning {

/// Half-open range of steps or of sections; first < end.
struct Span {
  std::uint32_t first = 0, end = 0;
  bool operator==(const Span&) const = default;
};

struct Sections {
  std::vector<Span> of;     ///< per interval of the input: the sections it covers
  std::uint32_t count = 0;  ///< 0 exactly for no intervals
};

/// Cuts time: a section ends where an interval ends and later another begins. O(n log n).
inline Sections cut_sections(std::span<const Span> steps) {
  const auto n = static_cast<std::uint32_t>(steps.size());
  std::vector<std::uint32_t> by_first(n), by_end(n);
  for (std::uint32_t i = 0; i < n; ++i) by_first[i] = by_end[i] = i;
  std::sort(by_first.begin(), by_first.end(),
            [&](auto a, auto b) { return steps[a].first < steps[b].first; });
  std::sort(by_end.begin(), by_end.end(),
            [&](auto a, auto b) { return steps[a].end < steps[b].end; });
  Sections out{std::vector<Span>(n), n > 0 ? 1u : 0u};
  bool ended = false;
  for (std::uint32_t s = 0, e = 0; e < n;) {
    if (s < n && steps[by_first[s]].first < steps[by_end[e]].end) {
      out.count += ended ? 1 : 0;
      ended = false;
      out.of[by_first[s++]].first = out.count - 1;
    } else {
      ended = true;
      out.of[by_end[e++]].end = out.count;
    }
  }
  return out;
}

/// Bytes live in each of `count` sections: sizes[i] in of[i]. The largest is the max-live bound.
/// O(n + count).
inline std::vector<std::uint64_t> section_loads(std::span<const Span> of, std::uint32_t count,
                                                std::span<const std::uint64_t> sizes) {
  std::vector<std::uint64_t> load(std::size_t{count} + 1, 0);
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    load[of[i].first] += sizes[i];
    load[of[i].end] -= sizes[i];  // wraps; the running sum does not
  }
  std::uint64_t sum = 0;
  for (auto& x : load) x = sum += x;
  load.pop_back();
  return load;
}

}  // namespace tenon::planning

#endif
