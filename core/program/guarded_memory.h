// Memory whose end is a trap.
#ifndef TENON_CORE_PROGRAM_GUARDED_MEMORY_H
#define TENON_CORE_PROGRAM_GUARDED_MEMORY_H

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace tenon {

/// `bytes` bytes at an address that is a multiple of `align` (a power of two), followed by a page
/// that faults. The end stands right at that page when `bytes` is a multiple of `align`; else less
/// than `align` bytes lie between, filled with a pattern that intact() checks, as are the bytes
/// before the start. Everything starts as `poison`.
class GuardedMemory {
 public:
  static constexpr std::byte poison{0xff};  ///< NaN in every float type

  static std::optional<GuardedMemory> make(std::uint64_t bytes, std::uint64_t align);
  GuardedMemory(GuardedMemory&& other) noexcept;
  GuardedMemory& operator=(GuardedMemory&& other) noexcept;
  ~GuardedMemory();

  std::byte* data() const { return data_; }
  std::uint64_t size() const { return bytes_; }
  /// Whether the bytes around it are as they were.
  bool intact() const;

 private:
  GuardedMemory() = default;
  std::span<std::byte> before() const;
  std::span<std::byte> behind() const;

  std::byte* map_ = nullptr;
  std::uint64_t mapped_ = 0, usable_ = 0;  // bytes; usable_ ends at the guard page
  std::byte* data_ = nullptr;
  std::uint64_t bytes_ = 0;
};

}  // namespace tenon

#endif
