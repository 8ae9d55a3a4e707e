// Objects of targets on disk: linked ones, so that a model that was compiled before needs no code
// generator, and those of single kernels, so that a model that was changed needs it only for what
// is new. An entry is a file named by its key; it carries a hash of key and bytes, is written
// whole or not at all, and is ignored when it is damaged or is another's, so that processes may
// share a folder. The folder is bounded: the entries that were used longest ago go first. What goes
// wrong with the cache is nobody's error.
#ifndef TENON_CORE_PIPELINE_OBJECT_CACHE_H
#define TENON_CORE_PIPELINE_OBJECT_CACHE_H

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "tenon/target.h"

namespace tenon {

class ObjectCache {
 public:
  struct Entry {
    std::string key;
    std::span<const std::byte> object;
  };
  static constexpr std::uint64_t default_limit = std::uint64_t{1} << 30;

  /// `folder` "": nothing is ever found or kept. `limit`: bytes of all entries together.
  explicit ObjectCache(const std::string& folder, std::uint64_t limit = default_limit);
  /// Of this user: $TENON_CACHE_DIR (empty: none), else $XDG_CACHE_HOME/tenon, else ~/.cache/tenon.
  static ObjectCache of_user();

  std::optional<std::vector<std::byte>> find(const std::string& key) const;
  void put(std::span<const Entry> entries) const;
  void put(const std::string& key, std::span<const std::byte> object) const {
    const Entry entry{key, object};
    put(std::span(&entry, 1));
  }
  bool keeps() const { return !folder_.empty(); }

 private:
  void evict() const;
  std::string folder_;
  std::uint64_t limit_;
};

/// Per kernel the hex of a hash of everything its object depends on: the kernel, target, and
/// `identity`, what the target says of itself (TargetInfo::identity).
std::vector<std::string> kernel_keys(std::span<const tir::Kernel* const> kernels,
                                     const TargetFacts& facts, std::string_view identity);
/// Of the object that is linked from those of the kernels with these keys, in this order.
std::string object_key(std::span<const std::string> kernel_keys);

}  // namespace tenon

#endif
