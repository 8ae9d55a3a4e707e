// Bisection over what it takes to fail.
#ifndef TENON_CORE_BLAME_NARROW_H
#define TENON_CORE_BLAME_NARROW_H

#include <algorithm>
#include <cstdint>
#include <vector>

namespace tenon::blame {

/// A set of `all` that fails and of which nothing can be left out, where more never heals: else
/// only the first half holds. Asks `fails` about log2(all) times per member of the answer.
/// Precondition: fails(all).
template <class Fails>
std::vector<std::uint32_t> narrow(std::vector<std::uint32_t> all, Fails fails) {
  std::vector<std::uint32_t> needed;
  const auto with = [&](std::size_t n) {  // what is known to be needed, and the first n others
    std::vector<std::uint32_t> set = needed;
    set.insert(set.end(), all.begin(), all.begin() + static_cast<std::ptrdiff_t>(n));
    return set;
  };
  while (!all.empty() && !fails(with(0))) {
    std::size_t passes = 0, breaks = all.size();
    while (passes + 1 < breaks) {
      const std::size_t middle = passes + (breaks - passes) / 2;
      (fails(with(middle)) ? breaks : passes) = middle;
    }
    needed.push_back(all[breaks - 1]);
    all.resize(breaks - 1);
  }
  std::ranges::sort(needed);
  return needed;
}

}  // namespace tenon::blame

#endif
