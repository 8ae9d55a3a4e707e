// The lowering cache: equal work is done once. Key: the compute description, the target's facts,
// the lowering and its options. The hash only filters; equality decides. Safe to use from several
// threads.
#ifndef TENON_CORE_LOWER_CACHE_H
#define TENON_CORE_LOWER_CACHE_H

#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "tenon/lowering.h"

namespace tenon {

struct LoweringKey {
  te::Compute compute;  ///< as composed, before the lowering has touched it
  TargetFacts target;
  std::string lowering;  ///< implementations of the three sub-slots and their options, spelled out
  bool operator==(const LoweringKey&) const = default;
};

/// What one region became. Immutable once made.
struct Lowered {
  te::Compute compute;
  Schedule schedule;
  tir::Kernel kernel;
};

class LoweringCache {
 public:
  using Hash = std::function<std::size_t(const LoweringKey&)>;
  /// `hash` is replaced in tests, to show that equality decides.
  explicit LoweringCache(Hash hash = {});

  /// The entry of `key`, made by `make` when there is none. `make` runs without the lock held; of
  /// two threads that make the same entry, the first to finish wins, and both get its entry.
  Result<std::shared_ptr<const Lowered>> get(const LoweringKey& key,
                                             const std::function<Result<Lowered>()>& make);
  std::size_t size() const;

 private:
  struct Entry {
    LoweringKey key;
    std::shared_ptr<const Lowered> value;
  };
  std::shared_ptr<const Lowered> find(std::size_t h, const LoweringKey& key) const;

  Hash hash_;
  mutable std::mutex mutex_;
  std::unordered_multimap<std::size_t, Entry> entries_;
};

}  // namespace tenon

#endif
