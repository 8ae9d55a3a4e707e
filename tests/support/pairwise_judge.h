// The judge's judge: the laws of storage written pair by pair, O(n^2), as obvious as possible. Says
// only right or wrong.
#ifndef TENON_TESTS_SUPPORT_PAIRWISE_JUDGE_H
#define TENON_TESTS_SUPPORT_PAIRWISE_JUDGE_H

#include <algorithm>
#include <optional>
#include <vector>

#include "tenon/storage.h"

namespace tenon::test {

inline bool slot_ok(const std::vector<StoragePool>& pools,
                    const std::vector<std::uint32_t>& allowed, std::uint64_t size,
                    std::uint64_t unit, const std::optional<std::uint64_t>& at, const Slot& s) {
  if (std::count(allowed.begin(), allowed.end(), s.pool) == 0) return false;
  const StoragePool& p = pools[s.pool];
  if (s.offset % unit != 0 || (at && *at != s.offset)) return false;
  const std::uint64_t end = (s.offset + size + p.granule - 1) / p.granule * p.granule;
  return !p.capacity || end <= *p.capacity;
}

inline bool meet(std::uint64_t a, std::uint64_t a_end, std::uint64_t b, std::uint64_t b_end) {
  return a < b_end && b < a_end;
}

inline bool pairwise_slots(const StorageRequest& r, const std::vector<Slot>& slots) {
  const auto boxes = [](const StorageToken& t) {
    return t.parts.empty() ? std::vector<TokenPart>{{t.first, t.end, 0, t.size}} : t.parts;
  };
  for (std::uint32_t i = 0; i < r.tokens.size(); ++i) {
    const StorageToken& t = r.tokens[i];
    if (slots[i].pool >= r.pools.size()) return false;
    if (!slot_ok(r.pools, t.pools, t.size, std::max(t.align, r.pools[slots[i].pool].granule), t.at,
                 slots[i]))
      return false;
  }
  for (std::uint32_t i = 0; i < r.tokens.size(); ++i)
    for (std::uint32_t k = 0; k < i; ++k) {
      if (slots[i].pool != slots[k].pool) continue;
      bool joined = false;
      for (const TokenJoin& j : r.joins)
        joined = joined || (((j.a == i && j.b == k) || (j.a == k && j.b == i)) &&
                            slots[j.b].offset == slots[j.a].offset + j.delta);
      if (joined) continue;
      for (const TokenPart& x : boxes(r.tokens[i]))
        for (const TokenPart& y : boxes(r.tokens[k]))
          if (meet(x.first, x.end, y.first, y.end) &&
              meet(slots[i].offset + x.lo, slots[i].offset + x.hi, slots[k].offset + y.lo,
                   slots[k].offset + y.hi))
            return false;
    }
  return true;
}

/// root[i]: which storage value i belongs to, by `same` and `inside`.
inline std::vector<std::uint32_t> storages(const StorageValues& v) {
  std::vector<std::uint32_t> root(v.values.size());
  for (std::uint32_t i = 0; i < root.size(); ++i) root[i] = i;
  for (bool again = true; std::exchange(again, false);)
    for (const StorageRelation& r : v.relations)
      if (r.kind != StorageRelation::Kind::inplace && root[r.a] != root[r.b]) {
        root[r.a] = root[r.b] = std::min(root[r.a], root[r.b]);
        again = true;
      }
  return root;
}

/// The steps in which both live.
inline std::vector<std::uint32_t> common_steps(const StorageValue& a, const StorageValue& b) {
  std::vector<std::uint32_t> out;
  for (const Lifetime& x : a.live)
    for (const Lifetime& y : b.live)
      for (std::uint32_t s = std::max(x.first, y.first); s < std::min(x.end, y.end); ++s)
        out.push_back(s);
  return out;
}

inline bool pairwise_values(const StorageValues& v, const std::vector<std::optional<Slot>>& slots) {
  const auto root = storages(v);
  for (std::uint32_t i = 0; i < v.values.size(); ++i) {
    const StorageValue& x = v.values[i];
    if (!slots[i] || slots[i]->pool >= v.pools.size()) return false;
    if (!slot_ok(v.pools, x.pools, x.size, x.align, x.at, *slots[i])) return false;
    std::uint64_t begin = slots[i]->offset;
    for (std::uint32_t k = 0; k < v.values.size(); ++k)
      if (root[k] == root[i]) begin = std::min(begin, slots[k]->offset);
    if (begin % v.pools[slots[i]->pool].granule != 0) return false;
    for (const ReservedRange& r : v.reserved)
      if (v.pools[slots[i]->pool].id == r.pool && !x.live.empty() &&
          meet(slots[i]->offset, slots[i]->offset + x.size, r.at, r.at + r.size))
        return false;
  }
  for (const StorageRelation& r : v.relations) {
    if (r.kind == StorageRelation::Kind::inplace) continue;
    const std::uint64_t delta = r.kind == StorageRelation::Kind::same ? 0 : r.delta;
    if (slots[r.a]->pool != slots[r.b]->pool || slots[r.b]->offset != slots[r.a]->offset + delta)
      return false;
    if (r.kind == StorageRelation::Kind::inside && delta + v.values[r.b].size > v.values[r.a].size)
      return false;
  }
  const auto may_overlap = [&](std::uint32_t a, std::uint32_t b,
                               const std::vector<std::uint32_t>& common) {
    const StorageValue &x = v.values[a], &y = v.values[b];
    for (const StorageRelation& r : v.relations)
      if (r.kind == StorageRelation::Kind::inplace && r.a == a && r.b == b &&
          slots[b]->offset == slots[a]->offset + r.delta && common.size() == 1 &&
          common[0] == y.live[0].first && x.live[0].first < common[0] &&
          std::any_of(x.live.begin(), x.live.end(),
                      [&](const Lifetime& l) { return l.end == common[0] + 1; }))
        return true;
    return false;
  };
  for (std::uint32_t i = 0; i < v.values.size(); ++i)
    for (std::uint32_t k = 0; k < i; ++k) {
      if (root[i] == root[k] || slots[i]->pool != slots[k]->pool) continue;
      if (!meet(slots[i]->offset, slots[i]->offset + v.values[i].size, slots[k]->offset,
                slots[k]->offset + v.values[k].size))
        continue;
      const auto common = common_steps(v.values[i], v.values[k]);
      if (!common.empty() && !may_overlap(i, k, common) && !may_overlap(k, i, common)) return false;
    }
  return true;
}

}  // namespace tenon::test

#endif
