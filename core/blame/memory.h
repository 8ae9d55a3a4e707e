// Memory for trials: every block apart from all others, or regions as the runtime would make them.
#ifndef TENON_CORE_BLAME_MEMORY_H
#define TENON_CORE_BLAME_MEMORY_H

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "tenon/diag.h"

namespace tenon::blame {

inline constexpr std::uint64_t page = 4096;
/// What memory holds that nothing has written: two patterns, so that it is seen who reads it.
inline constexpr std::byte fill_a{0xff}, fill_b{0x5a};

struct Unmap {
  std::uint64_t bytes = 0;
  void operator()(std::byte* p) const;
};

/// Pieces of memory, each at the start of a page, with a margin up to the end of its last page and
/// pages that fault before and behind. Copied by a fork as it stands.
class Pieces {
 public:
  /// 8107 when there is no memory for it.
  static Result<Pieces> make(const std::vector<std::uint64_t>& bytes);

  std::byte* at(std::uint32_t i) const { return base_ + starts_[i]; }
  std::span<std::byte> contents(std::uint32_t i) const { return {at(i), bytes_[i]}; }
  /// The bytes between the end of the piece and the end of its last page.
  std::span<std::byte> margin(std::uint32_t i) const;
  void fill(std::uint32_t i, std::byte contents, std::byte margin) const;
  /// Allows or forbids writing to the pages of a piece.
  void allow(std::uint32_t i, bool writing) const;
  void forbid_all() const;

  struct Found {
    std::uint32_t piece = 0;
    std::int64_t offset = 0;  ///< from its start; before it, in it, or past its end
  };
  /// The piece that an address belongs to, faulting pages included: those before a piece up to the
  /// middle of the gap.
  std::optional<Found> find(std::uintptr_t address) const;

 private:
  std::uint64_t pages(std::uint32_t i) const;

  std::unique_ptr<std::byte, Unmap> map_;
  std::byte* base_ = nullptr;
  std::vector<std::uint64_t> starts_, bytes_;
};

}  // namespace tenon::blame

#endif
