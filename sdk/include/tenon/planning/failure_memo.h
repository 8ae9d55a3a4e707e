// What a search remembers of states that failed, so that other orders and later runs do not enter
// them again. Stable tier, header-only, std library only.
#ifndef TENON_PLANNING_FAILURE_MEMO_H
#define TENON_PLANNING_FAILURE_MEMO_H

#include <algorithm>
#include <cstddef>
#include <vector>

#include "tenon/planning/random.h"
#include "tenon/planning/stacking.h"

namespace tenon::planning {

/// A state of a part of the search in 128 bits: the unplaced blocks and the floors. Two states of
/// one problem share a key with probability 2^-128.
struct StateKey {
  std::uint64_t x = 0, y = 0;
  bool operator==(const StateKey&) const = default;
  void add(const StateKey& other) {
    x ^= other.x;
    y ^= other.y;
  }
  void flip(std::uint64_t what) {
    x ^= mix(what * 0x9e3779b97f4a7c15u + 0x51);
    y ^= mix(what * 0xd1b54a32d192ed03u + 0xabcdef);
  }
};

/// States that cannot be completed under a target. Bounded: a new state may replace an old one.
class FailureMemo {
 public:
  FailureMemo() : entries_(1 << 10) {}
  bool has(const StateKey& k, Units target) const {
    const Entry& e = entries_[k.x & (entries_.size() - 1)];
    return e.key == k && e.target >= target;
  }
  void add(const StateKey& k, Units target) {
    if (++added_ > entries_.size() && entries_.size() < kMost) {
      std::vector<Entry> old(entries_.size() * 4);
      old.swap(entries_);
      for (const Entry& e : old) entries_[e.key.x & (entries_.size() - 1)] = e;
    }
    Entry& e = entries_[k.x & (entries_.size() - 1)];
    e = {k, e.key == k ? std::max(e.target, target) : target};
  }

 private:
  struct Entry {
    StateKey key;
    Units target = -1;
  };
  static constexpr std::size_t kMost = 1 << 20;  // entries, 24 MB
  std::vector<Entry> entries_;
  std::size_t added_ = 0;
};

}  // namespace tenon::planning

#endif
