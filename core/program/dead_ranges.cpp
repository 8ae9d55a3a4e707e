#include "core/program/dead_ranges.h"

#include <algorithm>

#include "core/storage/lifetimes.h"

namespace tenon {
namespace {

bool before(const ArgPlace& a, const ArgPlace& b) { return std::tie(a.index, a.offset) < std::tie(b.index, b.offset); }

DeadRanges united(DeadRanges ranges) {
  std::sort(ranges.begin(), ranges.end(), before);
  DeadRanges out;
  for (const ArgPlace& r : ranges) {
    if (!out.empty() && out.back().index == r.index && r.offset <= out.back().offset + out.back().bytes) {
      out.back().bytes = std::max(out.back().bytes, r.offset + r.bytes - out.back().offset);
    } else {
      out.push_back(r);
    }
  }
  return out;
}

}  // namespace

DeadRangeSweep::DeadRangeSweep(const StorageValues& values, std::vector<ArgPlace> places)
    : values_(values), places_(std::move(places)), starts_(values.steps.size() + 1), ends_(values.steps.size() + 1) {
  for (std::uint32_t v = 0; v < values.values.size(); ++v) {
    if (values.values[v].role == Role::constant) continue;
    longest_ = std::max(longest_, values.values[v].size);
    for (const Lifetime& l : values.values[v].live) {
      starts_[l.first].push_back(v);
      ends_[l.end].push_back(v);
    }
  }
  for (const std::uint32_t v : starts_[0]) live_.insert(key(v));
}

void DeadRangeSweep::advance(std::uint32_t s) {
  while (now_ < s) {
    ++now_;
    for (const std::uint32_t v : ends_[now_]) live_.erase(key(v));
    for (const std::uint32_t v : starts_[now_]) live_.insert(key(v));
  }
}

bool DeadRangeSweep::needed(std::uint32_t v, std::uint32_t step) const { return contains(values_.values[v].live, step); }

DeadRanges DeadRangeSweep::dying(std::uint32_t to) const {
  DeadRanges out;
  if (to >= values_.steps.size()) return out;
  if (to == now_ + 1) {
    for (const std::uint32_t v : ends_[to]) {
      if (!needed(v, to)) add_rest(v, to, out);
    }
  } else {
    for (const auto& [pool, offset, v] : live_) {
      if (!needed(v, to)) add_rest(v, to, out);
    }
  }
  return united(std::move(out));
}

/// The bytes of v without those of values that live on.
void DeadRangeSweep::add_rest(std::uint32_t v, std::uint32_t to, DeadRanges& out) const {
  ArgPlace rest = places_[v];
  const std::uint64_t end = rest.offset + rest.bytes;
  const std::uint64_t from = rest.offset - std::min(rest.offset, longest_);
  for (auto it = live_.lower_bound({rest.index, from, 0}); it != live_.end() && rest.offset < end; ++it) {
    const auto& [pool, offset, w] = *it;
    if (pool != rest.index || offset >= end) break;
    const std::uint64_t w_end = offset + places_[w].bytes;
    if (w_end <= rest.offset || !needed(w, to)) continue;
    if (offset > rest.offset) {
      out.push_back({ArgPlace::Kind::pool, pool, rest.offset, offset - rest.offset});
    }
    rest.offset = std::max(rest.offset, w_end);
  }
  if (rest.offset < end) out.push_back({ArgPlace::Kind::pool, rest.index, rest.offset, end - rest.offset});
}

}  // namespace tenon
