#include "core/program/guarded_memory.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <utility>

namespace tenon {
namespace {

constexpr std::byte canary{0xa5};
constexpr std::uint64_t checked_before = 256;  // bytes before the start that are checked

}  // namespace

std::optional<GuardedMemory> GuardedMemory::make(std::uint64_t bytes, std::uint64_t align) {
  const auto page = static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
  if (bytes > UINT64_MAX / 4 || align > UINT64_MAX / 4) return std::nullopt;
  GuardedMemory m;
  m.usable_ = (bytes + align + checked_before + page - 1) / page * page;
  m.mapped_ = m.usable_ + page;
  void* p = mmap(nullptr, m.mapped_, PROT_READ | PROT_WRITE,
                 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (p == MAP_FAILED) return std::nullopt;
  m.map_ = static_cast<std::byte*>(p);
  if (mprotect(m.map_ + m.usable_, page, PROT_NONE) != 0) return std::nullopt;
  const auto end = reinterpret_cast<std::uintptr_t>(m.map_ + m.usable_);
  const std::uintptr_t start = (end - bytes) & ~(align - 1);
  m.data_ = m.map_ + (start - reinterpret_cast<std::uintptr_t>(m.map_));
  m.bytes_ = bytes;
  std::memset(m.data_, static_cast<int>(poison), bytes);
  std::ranges::fill(m.before(), canary);
  std::ranges::fill(m.behind(), canary);
  return m;
}

GuardedMemory::GuardedMemory(GuardedMemory&& other) noexcept { *this = std::move(other); }

GuardedMemory& GuardedMemory::operator=(GuardedMemory&& other) noexcept {
  std::swap(map_, other.map_);
  std::swap(mapped_, other.mapped_);
  std::swap(usable_, other.usable_);
  std::swap(data_, other.data_);
  std::swap(bytes_, other.bytes_);
  return *this;
}

GuardedMemory::~GuardedMemory() {
  if (map_) munmap(map_, mapped_);
}

std::span<std::byte> GuardedMemory::before() const {
  const auto n = std::min<std::uint64_t>(checked_before, static_cast<std::uint64_t>(data_ - map_));
  return {data_ - n, n};
}

std::span<std::byte> GuardedMemory::behind() const { return {data_ + bytes_, map_ + usable_}; }

bool GuardedMemory::intact() const {
  const auto is_canary = [](std::byte b) { return b == canary; };
  return std::ranges::all_of(before(), is_canary) && std::ranges::all_of(behind(), is_canary);
}

}  // namespace tenon
