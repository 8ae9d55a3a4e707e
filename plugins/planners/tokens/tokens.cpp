// The classic scheme of shared storages, for comparison with systems that use it: tokens are met in
// the order of their first step; each takes a free storage whose size is within a factor (16) of
// its own -- the smallest that is large enough, else the largest that is too small, which grows --
// or opens a new one; a storage is free again when its token dies. Storages stand end to end and
// never overlap, so a plan has few distinct places. Prefer greedy: this one needs about twice the
// bytes on hard requests. Cost: O(n log n). Uses no parts and no joins.
#include <algorithm>
#include <cstdlib>
#include <map>
#include <numeric>
#include <optional>
#include <vector>

#include "tenon/planner.hpp"
#include "tenon/planning/host.h"

namespace {

struct Storage {
  std::uint32_t pool;
  std::uint64_t size, align;
};

class Tokens {
 public:
  Tokens(const tn_request* raw, const tn_host* h)
      : q_(*raw),
        h_(h),
        match_(std::strtoull(h->option(h, "match"), nullptr, 10)),
        free_(q_.n_pools()),
        used_(q_.n_pools(), 0),
        storage_of_(q_.size()) {}

  int plan() {
    std::vector<std::uint32_t> by_end(q_.size());
    std::iota(by_end.begin(), by_end.end(), 0u);
    std::stable_sort(by_end.begin(), by_end.end(),
                     [&](auto a, auto b) { return q_[a].end < q_[b].end; });
    std::uint32_t dead = 0;
    for (std::uint32_t i = 0; i < q_.size(); ++i) {  // canonical order ascends by the first step
      if (q_[i].at != TN_ANY) continue;
      for (; q_[by_end[dead]].end <= q_[i].first; ++dead) release(by_end[dead]);
      if (!take(i)) return h_->say(h_, i, "no room in any of its pools"), TN_NO_FIT;
    }
    h_->tick(h_, 10ull * q_.size());
    return lay_out();
  }

 private:
  using Free = std::multimap<std::uint64_t, std::uint32_t>;  // by size

  std::uint64_t bytes(std::uint32_t i, std::uint32_t p) const {
    return tenon::round_up(q_[i].size, q_.pool(p).granule);
  }
  bool room(std::uint32_t p, std::uint64_t more) const {
    const std::uint64_t capacity = q_.pool(p).capacity;
    return capacity == TN_ANY || (more <= capacity && used_[p] <= capacity - more);
  }

  void release(std::uint32_t i) {
    if (q_[i].at != TN_ANY) return;
    const Storage& s = storages_[storage_of_[i]];
    free_[s.pool].emplace(s.size, storage_of_[i]);
  }

  // The free storage that suits `size` bytes, or the end.
  Free::iterator match(Free& free, std::uint64_t size) const {
    const auto fits = free.lower_bound(size);
    if (fits != free.end() && (fits->first - 1) / match_ < size) return fits;
    if (fits == free.begin() || std::prev(fits)->first < size / match_) return free.end();
    return std::prev(fits);
  }

  bool take(std::uint32_t i) {
    for (const std::uint32_t p : q_.pools(i)) {
      const std::uint64_t size = bytes(i, p);
      const auto found = match(free_[p], size);
      if (found != free_[p].end()) {
        Storage& s = storages_[found->second];
        const std::uint64_t more = size > s.size ? size - s.size : 0;
        if (!room(p, more)) continue;
        used_[p] += more;
        s.size += more;
        s.align = std::max(s.align, q_[i].align);
        storage_of_[i] = found->second;
        free_[p].erase(found);
        return true;
      }
      if (!room(p, size)) continue;
      used_[p] += size;
      storage_of_[i] = static_cast<std::uint32_t>(storages_.size());
      storages_.push_back({p, size, std::max(q_[i].align, q_.pool(p).granule)});
      return true;
    }
    return false;
  }

  // Storages of a pool end to end, past its pinned bytes.
  int lay_out() {
    struct Range {
      std::uint64_t lo, hi;
    };
    std::vector<std::vector<Range>> pins(q_.n_pools());
    std::vector<tn_slot> slots(q_.size());
    for (std::uint32_t i = 0; i < q_.size(); ++i)
      if (q_[i].at != TN_ANY) {
        slots[i] = {q_[i].pools[0], q_[i].at};
        pins[slots[i].pool].push_back({q_[i].at, q_[i].at + q_[i].size});
      }
    for (auto& p : pins)
      std::sort(p.begin(), p.end(), [](const Range& x, const Range& y) { return x.lo < y.lo; });
    std::vector<std::uint64_t> end(q_.n_pools(), 0), at(storages_.size());
    for (std::size_t k = 0; k < storages_.size(); ++k) {
      const Storage& s = storages_[k];
      at[k] = tenon::round_up(end[s.pool], s.align);
      for (const Range& r : pins[s.pool])
        if (r.hi > at[k] && r.lo < at[k] + s.size) at[k] = tenon::round_up(r.hi, s.align);
      end[s.pool] = at[k] + s.size;
      if (end[s.pool] > q_.pool(s.pool).capacity)
        return h_->say(h_, UINT32_MAX, "its storages do not fit beside pins and alignment"),
               TN_NO_FIT;
    }
    for (std::uint32_t i = 0; i < q_.size(); ++i)
      if (q_[i].at == TN_ANY) slots[i] = {storages_[storage_of_[i]].pool, at[storage_of_[i]]};
    h_->offer(h_, slots.data(), 0);
    return TN_OK;
  }

  tenon::Request q_;
  const tn_host* h_;
  std::uint64_t match_;
  std::vector<Free> free_;           // by pool
  std::vector<std::uint64_t> used_;  // bytes of all storages, by pool
  std::vector<Storage> storages_;
  std::vector<std::uint32_t> storage_of_;
};

int plan(const tn_request* raw, const tn_host* h) {
  return tenon::planning::guarded(h, [&] { return Tokens(raw, h).plan(); });
}

const tn_option kOptions[] = {
    {"match", "int", "16", "1..1000000000",
     "a free storage is taken when its size is within this factor of the token's"}};

}  // namespace

TENON_PLANNER(
    "tenon.tokens", "0.1.0",
    "The classic shared storages: a free one within a factor of 16 of the size, or a new one",
    TN_POOLS | TN_PINS, plan, kOptions);
