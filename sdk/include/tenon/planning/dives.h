// A portfolio of skyline dives over one pool: fixed rules first, then orders that learn, each dive
// moving what ended above the bound forward in the next order. Deterministic; integers and products
// only, so the same on every machine. Stable tier, header-only, std library only.
#ifndef TENON_PLANNING_DIVES_H
#define TENON_PLANNING_DIVES_H

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <utility>
#include <vector>

#include "tenon/planning/pool_items.h"
#include "tenon/planning/random.h"
#include "tenon/planning/skyline.h"

namespace tenon::planning {

/// A value rule: tokens with the larger key come first; `width` is the number of sections covered.
struct Rule {
  const char* name;
  Fill fill;
  double (*key)(const Item&, double width);
};

/// What paid most on hard instances and networks comes first.
inline constexpr Rule kRules[] = {
    {"area", Fill::tightest, [](const Item& x, double w) { return w * double(x.size); }},
    {"earliest, left", Fill::leftmost, [](const Item& x, double) { return -double(x.live.first); }},
    {"earliest", Fill::tightest, [](const Item& x, double) { return -double(x.live.first); }},
    {"wide area", Fill::tightest, [](const Item& x, double w) { return w * w * double(x.size); }},
    {"high area", Fill::tightest,
     [](const Item& x, double w) { return w * double(x.size) * double(x.size); }},
    {"widest", Fill::tightest, [](const Item&, double w) { return w; }},
    {"largest", Fill::tightest, [](const Item& x, double) { return double(x.size); }},
    {"latest", Fill::tightest, [](const Item& x, double) { return double(x.live.first); }},
    {"ends last", Fill::tightest, [](const Item& x, double) { return double(x.live.end); }},
    {"ends first, left", Fill::leftmost, [](const Item& x, double) { return -double(x.live.end); }},
    {"latest, left", Fill::leftmost, [](const Item& x, double) { return double(x.live.first); }},
    {"smallest", Fill::tightest, [](const Item& x, double) { return -double(x.size); }},
};
inline constexpr std::uint32_t kRuleCount = std::size(kRules);

class Dives {
 public:
  /// `ceiling`: the pool's capacity, or TN_ANY.
  Dives(PoolItems pool, std::uint64_t ceiling, std::uint64_t granule, std::uint64_t seed = 1)
      : pool_(std::move(pool)),
        ceiling_(ceiling),
        granule_(granule),
        skyline_(pool_.items, pool_.obstacles),
        weight_(pool_.items.size(), 1.0),
        key_(pool_.items.size()),
        order_(pool_.items.size()),
        random_(seed) {}

  /// Nothing better can come: the best packing stands at the bound of these items.
  bool done() const { return best_peak_ <= round_up(skyline_.bound(), granule_); }
  bool fits() const { return best_peak_ <= ceiling_; }
  /// End of the highest byte of the best packing, rounded up to the granule; TN_ANY: none yet.
  std::uint64_t peak() const { return best_peak_; }
  std::uint64_t work() const { return skyline_.work() + 8ull * order_.size() * count_; }
  std::uint32_t count() const { return count_; }
  const PoolItems& pool() const { return pool_; }
  void write(std::vector<tn_slot>& slots) const { pool_.write(best_, slots); }
  /// Of the best packing, the lowest token that ends past the ceiling; kNone when it fits.
  std::uint32_t homeless() const {
    for (std::uint32_t k = 0; k < best_.size(); ++k)
      if (round_up(best_[k] + pool_.items[k].size, granule_) > ceiling_) return pool_.members(k)[0];
    return kNone;
  }

  /// Makes the next dive. False, and no result, when stop(work since its last call) says so.
  template <class Stop>
  bool step(Stop stop) {
    const bool fixed = count_ < kRuleCount;
    const Rule& rule = kRules[fixed ? count_ : 0];
    for (std::uint32_t k = 0; k < order_.size(); ++k) {
      const Span s = skyline_.sections(k);
      key_[k] = rule.key(pool_.items[k], double(s.end - s.first));
      if (!fixed) key_[k] *= weight_[k] * double(1024 + random_.below(307));
    }
    std::iota(order_.begin(), order_.end(), 0u);
    std::stable_sort(order_.begin(), order_.end(),
                     [&](auto a, auto b) { return key_[a] > key_[b]; });
    if (stop(8 * order_.size())) return false;
    if (skyline_.dive(order_, TN_ANY, rule.fill, stop) == Dive::stopped) return false;
    ++count_;
    if (const std::uint64_t peak = round_up(skyline_.peak(), granule_); peak < best_peak_) {
      best_peak_ = peak;
      best_ = skyline_.offsets();
    }
    const std::uint64_t goal = skyline_.bound();
    for (std::uint32_t k = 0; k < order_.size(); ++k)
      if (skyline_.offsets()[k] + pool_.items[k].size > goal) weight_[k] *= 1.2;
    return true;
  }

 private:
  PoolItems pool_;
  std::uint64_t ceiling_, granule_;
  Skyline skyline_;
  std::vector<double> weight_, key_;
  std::vector<std::uint32_t> order_;
  std::vector<std::uint64_t> best_;
  std::uint64_t best_peak_ = TN_ANY;
  std::uint32_t count_ = 0;
  Random random_;
};

}  // namespace tenon::planning

#endif
