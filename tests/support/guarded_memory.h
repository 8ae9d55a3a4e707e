// Memory between two pages that may not be touched.
#ifndef TENON_TESTS_SUPPORT_GUARDED_MEMORY_H
#define TENON_TESTS_SUPPORT_GUARDED_MEMORY_H

#include <sys/mman.h>

#include <cstddef>
#include <stdexcept>
#include <utility>

namespace tenon::test {

class GuardedMemory {
 public:
  /// `bytes` that end at a guard page, or (ends = false) begin after one.
  GuardedMemory(std::size_t bytes, bool ends)
      : length_((bytes + page - 1) / page * page + 2 * page) {
    void* p = mmap(nullptr, length_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED) throw std::runtime_error("no address space");
    base_ = static_cast<std::byte*>(p);
    const std::size_t inner = length_ - 2 * page;
    if (inner > 0 && mprotect(base_ + page, inner, PROT_READ | PROT_WRITE) != 0)
      throw std::runtime_error("no memory");
    data_ = ends ? base_ + page + inner - bytes : base_ + page;
  }
  GuardedMemory(GuardedMemory&& o) noexcept
      : length_(o.length_), base_(std::exchange(o.base_, nullptr)), data_(o.data_) {}
  GuardedMemory(const GuardedMemory&) = delete;
  GuardedMemory& operator=(const GuardedMemory&) = delete;
  GuardedMemory& operator=(GuardedMemory&&) = delete;
  ~GuardedMemory() {
    if (base_) munmap(base_, length_);
  }
  std::byte* data() const { return data_; }

 private:
  static constexpr std::size_t page = 4096;
  std::size_t length_;
  std::byte* base_ = nullptr;
  std::byte* data_ = nullptr;
};

}  // namespace tenon::test

#endif
