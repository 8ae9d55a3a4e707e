// Numbers for planners that try things: seeded, the same on every machine.
// Stable tier, header-only, std library only.
#ifndef TENON_PLANNING_RANDOM_H
#define TENON_PLANNING_RANDOM_H

#include <cstdint>

namespace tenon::planning {

/// A bijection that scatters bits well: the finaliser of splitmix64.
constexpr std::uint64_t mix(std::uint64_t z) {
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
  z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
  return z ^ (z >> 31);
}

/// splitmix64: small, seeded, the same everywhere. Sebastiano Vigna, public domain.
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}
  std::uint64_t next() { return mix(state_ += 0x9e3779b97f4a7c15); }
  /// In [0, n), n > 0 and well below 2^32.
  std::uint64_t below(std::uint64_t n) { return (next() >> 32) * n >> 32; }

 private:
  std::uint64_t state_;
};

}  // namespace tenon::planning

#endif
