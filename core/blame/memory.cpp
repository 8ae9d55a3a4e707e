#include "core/blame/memory.h"

#include <fmt/format.h>
#include <sys/mman.h>

#include <algorithm>
#include <cstring>

namespace tenon::blame {
namespace {

constexpr std::uint64_t gap = 16 * page;  // between pieces; what steps over it is not told apart

std::uint64_t round_up(std::uint64_t n) { return (n + page - 1) / page * page; }

}  // namespace

void Unmap::operator()(std::byte* p) const { munmap(p, bytes); }

Result<Pieces> Pieces::make(const std::vector<std::uint64_t>& bytes) {
  Pieces out;
  out.bytes_ = bytes;
  std::uint64_t at = gap;
  for (const std::uint64_t n : bytes) {
    out.starts_.push_back(at);
    at += round_up(std::max<std::uint64_t>(n, 1)) + gap;
  }
  void* p = mmap(nullptr, at, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  bool ok = p != MAP_FAILED;
  if (ok) {
    out.base_ = static_cast<std::byte*>(p);
    out.map_ = {out.base_, Unmap{at}};
    for (std::uint32_t i = 0; ok && i < bytes.size(); ++i)
      ok = mprotect(out.at(i), out.pages(i), PROT_READ | PROT_WRITE) == 0;
  }
  if (ok) return out;
  return Diag{.code = 8107,
              .what = fmt::format("no memory to keep {} values apart: {} bytes", bytes.size(), at),
              .fix = "free memory, or take a smaller model"};
}

std::uint64_t Pieces::pages(std::uint32_t i) const {
  return round_up(std::max<std::uint64_t>(bytes_[i], 1));
}

std::span<std::byte> Pieces::margin(std::uint32_t i) const {
  return {at(i) + bytes_[i], at(i) + pages(i)};
}

void Pieces::fill(std::uint32_t i, std::byte contents, std::byte margin) const {
  std::memset(at(i), static_cast<int>(contents), bytes_[i]);
  std::ranges::fill(this->margin(i), margin);
}

void Pieces::allow(std::uint32_t i, bool writing) const {
  mprotect(at(i), pages(i), writing ? PROT_READ | PROT_WRITE : PROT_READ);
}

void Pieces::forbid_all() const {
  for (std::uint32_t i = 0; i < bytes_.size(); ++i) allow(i, false);
}

std::optional<Pieces::Found> Pieces::find(std::uintptr_t address) const {
  const auto base = reinterpret_cast<std::uintptr_t>(base_);
  if (!base_ || address < base || address >= base + map_.get_deleter().bytes || starts_.empty())
    return std::nullopt;
  const std::uint64_t at = address - base;
  auto next = std::upper_bound(starts_.begin(), starts_.end(), at + gap / 2);
  const auto i =
      next == starts_.begin() ? 0u : static_cast<std::uint32_t>(next - starts_.begin() - 1);
  return Found{i, static_cast<std::int64_t>(at) - static_cast<std::int64_t>(starts_[i])};
}

}  // namespace tenon::blame
