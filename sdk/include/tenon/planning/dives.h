// Skyline dives over one pool: first a portfolio of fixed rules, then a local search over weights
// of the first rule's order. A weight grows when its token is still to come at the section that
// makes a dive too high, or ends above the bound in one that completes; a dive is given up as soon
// as it cannot beat the one whose weights are kept, so most cost a third of a whole one. Anytime,
// deterministic; integers and products only, so the same on every machine. On hard public instances
// 1.10 of the bound after 40 dives, 1.05 after 10 000.
// Stable tier, header-only, std library only.
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
    sort_by(kRules[fixed ? count_ : 0], !fixed);
    if (stop(8 * order_.size())) return false;
    const std::uint64_t limit = fixed ? TN_ANY : kept_peak_ - count_ % 2;
    const Dive end = skyline_.dive(order_, limit, kRules[fixed ? count_ : 0].fill, stop);
    if (end == Dive::stopped) return false;
    if (end == Dive::complete) keep();
    if (count_ == 0 || !fixed) walk(end == Dive::complete);
    ++count_;
    return true;
  }

 private:
  static constexpr std::uint32_t kPatience = 8000;  // dives

  void sort_by(const Rule& rule, bool weighted) {
    for (std::uint32_t k = 0; k < order_.size(); ++k) {
      const Span s = skyline_.sections(k);
      key_[k] = rule.key(pool_.items[k], double(s.end - s.first));
      if (weighted) key_[k] *= weight_[k];
    }
    std::iota(order_.begin(), order_.end(), 0u);
    std::stable_sort(order_.begin(), order_.end(),
                     [&](auto a, auto b) { return key_[a] > key_[b]; });
  }

  void keep() {
    const std::uint64_t peak = round_up(skyline_.peak(), granule_);
    if (peak >= best_peak_) return;
    best_peak_ = peak;
    best_ = skyline_.offsets();
  }

  // Takes the dive's weights when it completed, which it does only below kept_peak_, or forgets
  // them; a walk that gets no lower for long begins anew elsewhere.
  void walk(bool complete) {
    if (complete) {
      stale_ = skyline_.peak() < kept_peak_ ? 0 : stale_;
      kept_peak_ = skyline_.peak();
      kept_ = weight_;
    }
    learn(complete);
    if (++stale_ < kPatience) return;
    stale_ = 0;
    kept_peak_ = TN_ANY;
    std::fill(weight_.begin(), weight_.end(), 1.0);
    for (std::uint32_t k = 0; k < weight_.size(); ++k) grow(k);
    kept_ = weight_;
  }

  // By up to 4, a fixed-point factor. Weights only compare; a runaway starts again.
  void grow(std::uint32_t k) {
    weight_[k] *= double(1024 + random_.below(3 * 1024)) * 0x1p-10;
    if (weight_[k] > 0x1p100) weight_[k] = 1;
  }

  void learn(bool complete) {
    const auto n = static_cast<std::uint32_t>(order_.size());
    if (n == 0) return;
    if (!complete && random_.below(2) == 0) weight_ = kept_;
    const std::uint32_t section = skyline_.tightest();
    const std::uint64_t goal = skyline_.bound();
    const auto hurts = [&](std::uint32_t k) {
      const std::uint64_t at = skyline_.offsets()[k];
      if (complete) return at + pool_.items[k].size > goal;
      const Span s = skyline_.sections(k);
      return at == TN_ANY && s.first <= section && section < s.end;
    };
    if (complete)
      for (std::uint64_t times = 1 + random_.below(3); times > 0; --times)
        grow(static_cast<std::uint32_t>(random_.below(n)));
    for (std::uint32_t k = 0; k < n; ++k)
      if (hurts(k) && random_.below(10) == 0) grow(k);
  }

  PoolItems pool_;
  std::uint64_t ceiling_, granule_;
  Skyline skyline_;
  std::vector<double> weight_, kept_, key_;  // kept_: of the best dive of the local search
  std::vector<std::uint32_t> order_;
  std::vector<std::uint64_t> best_;
  std::uint64_t best_peak_ = TN_ANY, kept_peak_ = TN_ANY;
  std::uint32_t count_ = 0, stale_ = 0;
  Random random_;
};

}  // namespace tenon::planning

#endif
