#include "core/program/dead_ranges.h"

#include <algorithm>

#include "core/storage/lifetimes.h"

namespace tenon {
namespace {

bool before(const ArgPlace& a, const ArgPlace& b) {
  return std::tie(a.index, a.offset) < std::tie(b.index, b.offset);
}

DeadRanges united(DeadRanges ranges) {
  std::sort(ranges.begin(), ranges.end(), before);
  DeadRanges out;
  for (const ArgPlace& r : ranges) {
    if (!out.empty() && out.back().index == r.index &&
        r.offset <= out.back().offset + out.back().bytes) {
      out.back().bytes = std::max(out.back().bytes, r.offset + r.bytes - out.back().offset);
    } else {
      out.push_back(r);
    }
  }
  return out;
}

}  // namespace

DeadRangeSweep::DeadRangeSweep(const StorageValues& values, std::vector<ArgPlace> places)
    : values_(values),
      places_(std::move(places)),
      starts_(values.steps.size() + 1),
      ends_(values.steps.size() + 1) {
  for (std::uint32_t v = 0; v < values.values.size(); ++v) {
    if (values.values[v].role == Role::constant) continue;
    longest_ = std::max(longest_, values.values[v].size);
    for (const Lifetime& l : values.values[v].live) {
      starts_[l.first].push_back(v);
      ends_[l.end].push_back(v);
    }
  }
  for (const std::uint32_t v : starts_[0]) live_.insert(key(v));
  find_heirs();
}

void DeadRangeSweep::advance(std::uint32_t s) {
  while (now_ < s) {
    ++now_;
    for (const std::uint32_t v : ends_[now_]) live_.erase(key(v));
    for (const std::uint32_t v : starts_[now_]) live_.insert(key(v));
  }
}

bool DeadRangeSweep::needed(std::uint32_t v, std::uint32_t step) const {
  return contains(values_.values[v].live, step);
}

DeadRanges DeadRangeSweep::dying(std::uint32_t to) const {
  DeadRanges out;
  if (to >= values_.steps.size()) return out;
  const std::vector<std::uint32_t> inherit = heirs(to);
  if (to == now_ + 1) {
    for (const std::uint32_t v : ends_[to]) {
      if (!needed(v, to)) add_rest(v, to, inherit, out);
    }
  } else {
    for (const auto& [pool, offset, v] : live_) {
      if (!needed(v, to)) add_rest(v, to, inherit, out);
    }
  }
  return united(std::move(out));
}

void DeadRangeSweep::find_heirs() {
  heir_.assign(values_.values.size(), false);
  for (const StorageRelation& r : values_.relations) {
    if (r.kind == StorageRelation::Kind::inplace) continue;
    const std::uint32_t a = hull(values_.values[r.a].live).first,
                        b = hull(values_.values[r.b].live).first;
    if (a < b) heir_[r.b] = true;
    if (b < a) heir_[r.a] = true;
  }
}

/// Values that `to` needs and that came to be on the way there, of bytes written before.
std::vector<std::uint32_t> DeadRangeSweep::heirs(std::uint32_t to) const {
  std::vector<std::uint32_t> out;
  for (std::uint32_t s = std::min(now_ + 1, to); s <= to; ++s) {
    for (const std::uint32_t w : starts_[s]) {
      if (heir_[w] && needed(w, to)) out.push_back(w);
    }
  }
  return out;
}

/// Bytes in the range of v that something needs in step `to`: of values that live on, or inherit
/// there.
std::vector<ArgPlace> DeadRangeSweep::kept(std::uint32_t v, std::uint32_t to,
                                           const std::vector<std::uint32_t>& heirs) const {
  const ArgPlace& range = places_[v];
  const std::uint64_t end = range.offset + range.bytes;
  std::vector<ArgPlace> out;
  const auto keep = [&](const ArgPlace& p) {
    if (p.index == range.index && p.offset < end && range.offset < p.offset + p.bytes)
      out.push_back(p);
  };
  const std::uint64_t from = range.offset - std::min(range.offset, longest_);
  for (auto it = live_.lower_bound({range.index, from, 0}); it != live_.end(); ++it) {
    const auto& [pool, offset, w] = *it;
    if (pool != range.index || offset >= end) break;
    if (needed(w, to)) keep(places_[w]);
  }
  for (const std::uint32_t w : heirs) keep(places_[w]);
  std::sort(out.begin(), out.end(), before);
  return out;
}

/// The bytes of v that nothing needs.
void DeadRangeSweep::add_rest(std::uint32_t v, std::uint32_t to,
                              const std::vector<std::uint32_t>& heirs, DeadRanges& out) const {
  const std::uint32_t pool = places_[v].index;
  std::uint64_t at = places_[v].offset;
  const std::uint64_t end = at + places_[v].bytes;
  for (const ArgPlace& k : kept(v, to, heirs)) {
    if (k.offset > at) out.push_back({ArgPlace::Kind::pool, pool, at, k.offset - at});
    at = std::max(at, k.offset + k.bytes);
  }
  if (at < end) out.push_back({ArgPlace::Kind::pool, pool, at, end - at});
}

}  // namespace tenon
