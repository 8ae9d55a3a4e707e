// Which bytes die between two steps.
#ifndef TENON_CORE_PROGRAM_DEAD_RANGES_H
#define TENON_CORE_PROGRAM_DEAD_RANGES_H

#include <cstdint>
#include <set>
#include <tuple>
#include <vector>

#include "tenon/program.h"
#include "tenon/storage.h"

namespace tenon {

/// Sweeps the steps once, in their order, and answers which planned bytes hold something in step
/// `s` that nobody needs when step `to` runs next. Constants never die and are left out.
class DeadRangeSweep {
 public:
  /// `places[v]`: where value v of `values` is.
  DeadRangeSweep(const StorageValues& values, std::vector<ArgPlace> places);

  /// Moves to step `s`; steps ascend from call to call.
  void advance(std::uint32_t s);
  /// Sorted, disjoint.
  DeadRanges dying(std::uint32_t to) const;

 private:
  using Key = std::tuple<std::uint32_t, std::uint64_t, std::uint32_t>;  // pool, offset, value
  bool needed(std::uint32_t v, std::uint32_t step) const;
  void find_heirs();
  std::vector<std::uint32_t> heirs(std::uint32_t to) const;
  std::vector<ArgPlace> kept(std::uint32_t v, std::uint32_t to,
                             const std::vector<std::uint32_t>& heirs) const;
  void add_rest(std::uint32_t v, std::uint32_t to, const std::vector<std::uint32_t>& heirs,
                DeadRanges& out) const;
  Key key(std::uint32_t v) const { return {places_[v].index, places_[v].offset, v}; }

  const StorageValues& values_;
  std::vector<ArgPlace> places_;
  std::vector<std::vector<std::uint32_t>> starts_,
      ends_;            // by step: values with an interval that starts or ends there
  std::set<Key> live_;  // in step now_
  std::vector<bool>
      heir_;  // value holds what another wrote before it: a view, the result of an `if`
  std::uint32_t now_ = 0;
  std::uint64_t longest_ = 0;  // bytes of the largest value
};

}  // namespace tenon

#endif
