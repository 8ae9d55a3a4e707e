#include "core/storage/judge.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <numeric>

#include "core/storage/sweep.h"

namespace tenon {
namespace {

constexpr std::size_t kMaxErrors = 20;

std::uint64_t up_to(std::uint64_t x, std::uint64_t unit) { return (x + unit - 1) / unit * unit; }

struct Errors {
  Diags list;
  bool add(int code, std::string what,
           std::string fix = "the planner broke its contract; report it to its author") {
    if (list.size() < kMaxErrors)
      list.push_back({.code = code, .what = std::move(what), .fix = std::move(fix)});
    return list.size() < kMaxErrors;
  }
  Status status() && { return list.empty() ? Status() : Status(std::move(list)); }
};

/// What values and tokens have in common for the laws about one slot.
struct Placed {
  const std::string& name;
  std::uint64_t size, align;
  const std::vector<std::uint32_t>& pools;
  const std::optional<std::uint64_t>& at;
};

bool check_slot(const std::vector<StoragePool>& pools, const Placed& x, const Slot& s,
                std::uint64_t unit, Errors& errors) {
  if (s.pool >= pools.size())
    return errors.add(4002, fmt::format("'{}' stands in pool number {}, there are {}", x.name,
                                        s.pool, pools.size())),
           false;
  const StoragePool& pool = pools[s.pool];
  const std::size_t before = errors.list.size();
  if (std::find(x.pools.begin(), x.pools.end(), s.pool) == x.pools.end())
    errors.add(4002, fmt::format("'{}' stands in pool '{}', which is not one of its pools", x.name,
                                 pool.id));
  if (s.offset % unit != 0)
    errors.add(4003, fmt::format("'{}' stands at offset {} of pool '{}', no multiple of {}", x.name,
                                 s.offset, pool.id, unit));
  const std::uint64_t end = s.offset + x.size, cap = pool.capacity.value_or(INT64_MAX);
  if (end < s.offset || end > cap || up_to(end, pool.granule) > cap)
    errors.add(
        4004,
        fmt::format(
            "'{}' stands at offset {} and is {} bytes long: it ends past the {} bytes of pool '{}'",
            x.name, s.offset, x.size, cap, pool.id));
  if (x.at && *x.at != s.offset)
    errors.add(4005, fmt::format("'{}' is pinned to offset {} of pool '{}' and stands at {}",
                                 x.name, *x.at, pool.id, s.offset));
  return errors.list.size() == before;
}

class UnionFind {
 public:
  explicit UnionFind(std::size_t n) : up_(n) { std::iota(up_.begin(), up_.end(), 0u); }
  std::uint32_t root(std::uint32_t x) {
    while (up_[x] != x) x = up_[x] = up_[up_[x]];
    return x;
  }
  void unite(std::uint32_t a, std::uint32_t b) { up_[root(b)] = root(a); }

 private:
  std::vector<std::uint32_t> up_;
};

/// The in-place pairs by both ends, for the question "may b overlap a?".
struct Pairs {
  std::vector<StorageRelation> list;  // ascending by (a, b)
  explicit Pairs(std::vector<StorageRelation> pairs) : list(std::move(pairs)) {
    std::sort(list.begin(), list.end(), less);
  }
  static bool less(const StorageRelation& x, const StorageRelation& y) {
    return std::pair(x.a, x.b) < std::pair(y.a, y.b);
  }
  template <class Ok>
  bool any(std::uint32_t a, std::uint32_t b, Ok ok) const {
    const StorageRelation key{StorageRelation::Kind::inplace, a, b, 0};
    auto [lo, hi] = std::equal_range(list.begin(), list.end(), key, less);
    return std::any_of(lo, hi, ok);
  }
  bool related(std::uint32_t a, std::uint32_t b) const {
    return any(a, b, [](const auto&) { return true; }) ||
           any(b, a, [](const auto&) { return true; });
  }
};

bool ends_at(const StorageValue& v, std::uint32_t end) {
  return std::any_of(v.live.begin(), v.live.end(), [&](const Lifetime& l) { return l.end == end; });
}

std::string step_name(const std::vector<std::string>& steps, std::uint32_t s) {
  return s < steps.size() && !steps[s].empty() ? fmt::format("step {} ({})", s, steps[s])
                                               : fmt::format("step {}", s);
}

// Aliases and views stand where their base does. Says whether all do.
void check_relations(const StorageValues& v, std::span<const std::optional<Slot>> slots,
                     Errors& errors) {
  for (const StorageRelation& r : v.relations) {
    if (r.kind == StorageRelation::Kind::inplace || !slots[r.a] || !slots[r.b]) continue;
    const StorageValue &a = v.values[r.a], &b = v.values[r.b];
    const Slot sa = *slots[r.a], sb = *slots[r.b];
    const bool same = r.kind == StorageRelation::Kind::same;
    const std::uint64_t delta = same ? 0 : r.delta;
    if (!same && (delta > a.size || b.size > a.size - delta))
      errors.add(4008,
                 fmt::format("view '{}', {} bytes at {} of '{}', does not fit its {} bytes", b.name,
                             b.size, delta, a.name, a.size),
                 "");
    if (sa.pool != sb.pool || sb.offset != sa.offset + delta)
      errors.add(
          same ? 4007 : 4008,
          fmt::format("{} '{}' stands at ({}, {}); '{}' at ({}, {}) asks for offset {} there",
                      same ? "alias" : "view", b.name, sb.pool, sb.offset, a.name, sa.pool,
                      sa.offset, sa.offset + delta));
  }
}

void report_overlap(const std::vector<StoragePool>& pools, const std::vector<std::string>& steps,
                    const Claim& x, const std::string& x_name, const Claim& y,
                    const std::string& y_name, bool pair, Errors& errors) {
  errors.add(pair ? 4010 : 4006,
             fmt::format("'{}' at [{}, {}) and '{}' at [{}, {}) of pool '{}' share bytes in {}{}",
                         x_name, x.lo, x.hi, y_name, y.lo, y.hi, pools[x.pool].id,
                         step_name(steps, std::max(x.first, y.first)),
                         pair ? "; as an in-place pair they may only at the exact offset and in "
                                "the step that takes over"
                              : ""));
}

}  // namespace

Status judge_values(const StorageValues& v, std::span<const std::optional<Slot>> slots) {
  Errors errors;
  UnionFind storage(v.values.size());
  std::vector<StorageRelation> inplace;
  for (const StorageRelation& r : v.relations)
    if (r.kind == StorageRelation::Kind::inplace)
      inplace.push_back(r);
    else
      storage.unite(r.a, r.b);
  const Pairs pairs(std::move(inplace));
  check_relations(v, slots, errors);

  // The first byte of each storage begins a granule; reserved bytes are a storage of their own,
  // past all values.
  const auto n = static_cast<std::uint32_t>(v.values.size());
  std::vector<std::uint64_t> begin(n, UINT64_MAX);
  for (std::uint32_t i = 0; i < n; ++i)
    if (slots[i]) begin[storage.root(i)] = std::min(begin[storage.root(i)], slots[i]->offset);
  std::vector<Claim> claims;
  for (std::uint32_t i = 0; i < n; ++i) {
    const StorageValue& x = v.values[i];
    if (!slots[i]) {
      errors.add(4001, fmt::format("'{}' has no slot", x.name));
      continue;
    }
    const Slot s = *slots[i];
    if (!check_slot(v.pools, {x.name, x.size, x.align, x.pools, x.at}, s, x.align, errors))
      continue;
    if (storage.root(i) == i && begin[i] % v.pools[s.pool].granule != 0)
      errors.add(
          4003,
          fmt::format(
              "the storage of '{}' begins at offset {} of pool '{}', no multiple of its granule {}",
              x.name, begin[i], v.pools[s.pool].id, v.pools[s.pool].granule));
    for (const Lifetime& l : x.live)
      claims.push_back({i, storage.root(i), s.pool, l.first, std::max(l.end, l.first + 1), s.offset,
                        s.offset + x.size});
  }
  for (std::uint32_t k = 0; k < v.reserved.size(); ++k)
    for (std::uint32_t p = 0; p < v.pools.size(); ++p)
      if (const ReservedRange& r = v.reserved[k]; r.pool == v.pools[p].id && r.size > 0)
        claims.push_back({n + k, n, p, 0, UINT32_MAX, r.at - v.pools[p].base.value_or(0),
                          r.at - v.pools[p].base.value_or(0) + r.size});

  // b takes over from a in the step that makes b.
  const auto takes_over = [&](std::uint32_t ia, std::uint32_t ib, std::uint32_t step) {
    if (ia >= n || ib >= n || v.values[ia].live.empty() || v.values[ib].live.empty()) return false;
    const StorageValue &a = v.values[ia], &b = v.values[ib];
    return b.live.front().first == step && a.live.front().first < step && ends_at(a, step + 1) &&
           pairs.any(ia, ib, [&](const StorageRelation& r) {
             return slots[ib]->offset == slots[ia]->offset + r.delta;
           });
  };
  sweep(std::move(claims), [&](const Claim& there, const Claim& comes) {
    const std::uint32_t step = std::max(there.first, comes.first);
    if (takes_over(there.owner, comes.owner, step) || takes_over(comes.owner, there.owner, step))
      return true;
    if (there.owner >= n || comes.owner >= n) {
      const bool first = there.owner < n;
      const ReservedRange& r = v.reserved[(first ? comes : there).owner - n];
      return errors.add(4009,
                        fmt::format("'{}' stands on reserved bytes of pool '{}' ({})",
                                    v.values[(first ? there : comes).owner].name, r.pool, r.why));
    }
    report_overlap(v.pools, v.steps, there, v.values[there.owner].name, comes,
                   v.values[comes.owner].name, pairs.related(there.owner, comes.owner), errors);
    return errors.list.size() < kMaxErrors;
  });
  return std::move(errors).status();
}

Status judge_slots(const StorageRequest& r, std::span<const Slot> slots) {
  Errors errors;
  if (slots.size() != r.tokens.size())
    return Diag{.code = 4001,
                .what = fmt::format("{} slots for {} tokens", slots.size(), r.tokens.size()),
                .fix = "give each token one slot"};
  std::vector<StorageRelation> joins;
  for (const TokenJoin& j : r.joins)
    joins.push_back({StorageRelation::Kind::inplace, j.a, j.b, j.delta});
  const Pairs pairs(std::move(joins));
  std::vector<Claim> claims;
  for (std::uint32_t i = 0; i < r.tokens.size(); ++i) {
    const StorageToken& t = r.tokens[i];
    const Slot s = slots[i];
    const std::uint64_t unit =
        s.pool < r.pools.size() ? std::max(t.align, r.pools[s.pool].granule) : t.align;
    if (!check_slot(r.pools, {t.name, t.size, t.align, t.pools, t.at}, s, unit, errors)) continue;
    if (t.parts.empty())
      claims.push_back({i, i, s.pool, t.first, t.end, s.offset, s.offset + t.size});
    for (const TokenPart& p : t.parts)
      claims.push_back({i, i, s.pool, p.first, p.end, s.offset + p.lo, s.offset + p.hi});
  }
  const auto joined = [&](std::uint32_t a, std::uint32_t b) {
    return pairs.any(a, b, [&](const StorageRelation& j) {
      return slots[b].offset == slots[a].offset + j.delta;
    });
  };
  sweep(std::move(claims), [&](const Claim& there, const Claim& comes) {
    if (joined(there.owner, comes.owner) || joined(comes.owner, there.owner)) return true;
    report_overlap(r.pools, r.steps, there, r.tokens[there.owner].name, comes,
                   r.tokens[comes.owner].name, pairs.related(there.owner, comes.owner), errors);
    return errors.list.size() < kMaxErrors;
  });
  return std::move(errors).status();
}

}  // namespace tenon
