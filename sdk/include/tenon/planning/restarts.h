// The lowest layout of one problem by many short runs of tenon/planning/section_search.h. After a
// few dives the target alternates between the proved lower bound, where a hit ends the search, and
// a height a little below the best layout, which a hit lowers. Limits follow Luby's sequence
// ("Optimal speedup of Las Vegas algorithms", 1993), so that every run becomes long enough to
// refute: best and lower bound meet in the end.
#ifndef TENON_PLANNING_RESTARTS_H
#define TENON_PLANNING_RESTARTS_H

#include <bit>
#include <optional>

#include "tenon/planning/section_search.h"

namespace tenon::planning {

/// 1 1 2 1 1 2 4 1 1 2 1 1 2 4 8 ...; k from 0.
inline std::uint64_t luby(std::uint64_t k) {
  for (++k;;) {
    const auto bits = std::bit_width(k);
    if (std::has_single_bit(k + 1)) return (k + 1) / 2;
    k -= (std::uint64_t(1) << (bits - 1)) - 1;
  }
}

class Restarts {
 public:
  enum class Step : std::uint8_t {
    better,   ///< a lower layout
    nothing,  ///< neither a layout nor the end
    closed,   ///< the lower bound has met the best layout, or passed the limit: see best()
    stopped   ///< tick said stop
  };

  /// `limit`: no layout above it counts. `goal`: a layout as low as that is as good as the lowest.
  /// The problem outlives this.
  Restarts(const Stacking& q, Units limit, Units goal, std::uint64_t seed, SectionSearch::Tick tick)
      : q_(q),
        search_(q, std::move(tick)),
        random_(mix(seed + 1)),
        limit_(limit),
        lower_(std::max(goal, q.bound)) {}

  /// One run.
  Step step() {
    if (closed()) return Step::closed;
    const std::uint64_t k = runs_++;
    const bool dive = k < kDives || !peak_;
    const bool low = !dive && k % 2 == 0;
    const Units target = low ? low_target() : dive && !peak_ ? limit_ : high_target();
    const std::uint64_t nodes =
        2 * q_.size() * (k < kDives ? 1 : luby((k - kDives) / (2 * std::size(kValueRules)))) + 16;
    switch (search_.run(target, nodes, kValueRules[rule(k)], random_)) {
      case SectionSearch::End::found:
        accept();
        step_ = std::max<Units>(step_ / 2, 2);
        return Step::better;
      case SectionSearch::End::refuted:
        lower_ = std::max(lower_, target + 1);
        skip_ = low ? 2 * skip_ + 1 : skip_;
        return closed() ? Step::closed : Step::nothing;
      case SectionSearch::End::limit:
        if (low)
          skip_ = 0;
        else
          step_ = std::min<Units>(step_ + step_ / 2, 1 << 20);
        return Step::nothing;
      case SectionSearch::End::stopped:
        break;
    }
    return Step::stopped;
  }

  /// No layout below it exists, or it is the goal.
  Units lower() const { return lower_; }
  /// Peak of the best layout so far.
  std::optional<Units> peak() const { return peak_; }
  const std::vector<Units>& offsets() const { return best_; }

 private:
  static constexpr std::uint64_t kDives = 6;
  //                                      size width area edge full wall guide noise
  static constexpr ValueRules kValueRules[] = {{1000, 0, 0, 0, 0, 300, 0, 200},
                                               {0, 1000, 0, 0, 0, 300, 0, 200},
                                               {0, 0, 1000, 0, 0, 300, 0, 200},
                                               {500, 500, 0, 200, 200, 500, 0, 300}};

  bool closed() const { return lower_ > (peak_ ? *peak_ - 1 : limit_); }
  // Each target is tried by every rule.
  static std::size_t rule(std::uint64_t k) {
    return (k < kDives ? k : (k - kDives) / 2) % std::size(kValueRules);
  }
  Units low_target() const { return std::min(lower_ + skip_, peak_ ? *peak_ - 1 : limit_); }
  Units high_target() const {
    return std::max(lower_, *peak_ - std::max<Units>(1, (*peak_ - lower_) / step_));
  }

  void accept() {
    best_ = search_.offsets();
    Units peak = 0;
    for (std::uint32_t i = 0; i < q_.size(); ++i) peak = std::max(peak, best_[i] + q_.full[i]);
    peak_ = peak;
  }

  const Stacking& q_;
  SectionSearch search_;
  Random random_;
  Units limit_, lower_;
  std::optional<Units> peak_;
  std::vector<Units> best_;
  std::uint64_t runs_ = 0;
  Units step_ = 2;  // the high target lies 1 / step_ of the gap below the best
  Units skip_ = 0;  // the low target lies that far above the lower bound
};

}  // namespace tenon::planning

#endif
