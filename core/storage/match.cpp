#include "core/storage/match.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <set>
#include <tuple>

namespace tenon {
namespace {

constexpr std::uint32_t kNone = UINT32_MAX;

class Matcher {
 public:
  Matcher(const StorageValues& v, const StorageRequest& r) : v_(v), r_(r), home_(v.values.size()) {}

  Status run() {
    members();
    if (!errors_.empty()) return errors_;  // what follows needs each value's place
    for (std::uint32_t i = 0; i < v_.values.size(); ++i) value(i);
    tokens();
    relations();
    joins();
    reserved();
    return errors_.empty() ? Status() : Status(std::move(errors_));
  }

 private:
  struct Home {
    std::uint32_t token = kNone;
    std::uint64_t offset = 0;
  };

  void fail(int code, std::string what) {
    if (errors_.size() < 20)
      errors_.push_back(
          {.code = code, .what = std::move(what), .fix = "a fault of Tenon; please report it"});
  }

  void members() {
    for (std::uint32_t i = 0; i < r_.tokens.size(); ++i)
      for (const TokenMember& m : r_.tokens[i].members) {
        const StorageToken& t = r_.tokens[i];
        if (m.value >= v_.values.size() || v_.values[m.value].id != m.id ||
            v_.values[m.value].size != m.size) {
          fail(4023, fmt::format("token '{}': member '{}' ({} bytes) is not the value it names",
                                 t.name, m.name, m.size));
          continue;
        }
        if (m.offset > t.size || m.size > t.size - m.offset)
          fail(4023, fmt::format("'{}' at [{}, {}) leaves its token '{}' of {} bytes", m.name,
                                 m.offset, m.offset + m.size, t.name, t.size));
        if (home_[m.value].token != kNone)
          fail(4022, fmt::format("'{}' stands in tokens '{}' and '{}'", m.name,
                                 r_.tokens[home_[m.value].token].name, t.name));
        home_[m.value] = {i, m.offset};
      }
    for (std::uint32_t k = 0; k < home_.size(); ++k)
      if (home_[k].token == kNone)
        fail(4021, fmt::format("'{}' stands in no token", v_.values[k].name));
  }

  void value(std::uint32_t k) {
    const StorageValue& x = v_.values[k];
    const StorageToken& t = r_.tokens[home_[k].token];
    const std::uint64_t offset = home_[k].offset;
    if (t.align < x.align || offset % x.align != 0)
      fail(4024, fmt::format("'{}' needs alignment {}, stands at {} of token '{}' aligned to {}",
                             x.name, x.align, offset, t.name, t.align));
    for (const Lifetime& l : x.live)
      if (!occupied(t, {l.first, std::max(l.end, l.first + 1), offset, offset + x.size}))
        fail(4025, fmt::format("'{}' lives in steps [{}, {}), its bytes of token '{}' do not",
                               x.name, l.first, l.end, t.name));
    for (const std::uint32_t p : t.pools)
      if (std::find(x.pools.begin(), x.pools.end(), p) == x.pools.end())
        fail(4026, fmt::format("token '{}' may live in pool '{}', its value '{}' may not", t.name,
                               v_.pools[p].id, x.name));
    if (x.at && (!t.at || *t.at + offset != *x.at))
      fail(4027, fmt::format("'{}' is pinned to {}, its token '{}' is not pinned to match", x.name,
                             *x.at, t.name));
  }

  // All bytes of `want` are occupied in all its steps.
  static bool occupied(const StorageToken& t, const TokenPart& want) {
    if (want.first < t.first || want.end > t.end) return false;
    if (t.parts.empty()) return true;
    std::set<std::uint32_t> times{want.first};
    for (const TokenPart& p : t.parts)
      for (const std::uint32_t s : {p.first, p.end})
        if (s > want.first && s < want.end) times.insert(s);
    for (const std::uint32_t s : times) {
      std::vector<std::pair<std::uint64_t, std::uint64_t>> now;
      for (const TokenPart& p : t.parts)
        if (p.first <= s && s < p.end) now.emplace_back(p.lo, p.hi);
      if (!covers(std::move(now), want.lo, want.hi)) return false;
    }
    return true;
  }

  static bool covers(std::vector<std::pair<std::uint64_t, std::uint64_t>> ranges, std::uint64_t lo,
                     std::uint64_t hi) {
    std::sort(ranges.begin(), ranges.end());
    for (const auto& [a, b] : ranges)
      if (a <= lo) lo = std::max(lo, b);
    return lo >= hi;
  }

  void tokens() {
    for (const StorageToken& t : r_.tokens) {
      const bool from_value =
          std::any_of(t.members.begin(), t.members.end(),
                      [&](const TokenMember& m) { return v_.values[m.value].at.has_value(); });
      if (t.at && !t.members.empty() && !from_value)
        fail(4027, fmt::format("token '{}' is pinned to {}, none of its values is", t.name, *t.at));
    }
  }

  void relations() {
    for (const StorageRelation& x : v_.relations) {
      if (x.kind == StorageRelation::Kind::inplace) continue;
      const Home a = home_[x.a], b = home_[x.b];
      const std::uint64_t delta = x.kind == StorageRelation::Kind::same ? 0 : x.delta;
      if (a.token != b.token || b.offset != a.offset + delta)
        fail(4028, fmt::format("'{}' must stand at offset {} of '{}' and does not",
                               v_.values[x.b].name, delta, v_.values[x.a].name));
    }
  }

  static bool meet(const StorageValue& x, const StorageValue& y) {
    for (const Lifetime& a : x.live)
      for (const Lifetime& b : y.live)
        if (a.first < std::max(b.end, b.first + 1) && b.first < std::max(a.end, a.first + 1))
          return true;
    return false;
  }

  // Where b's token stands at a's + delta, every two values that then share a byte and a step are a
  // declared pair.
  void joins() {
    std::set<std::tuple<std::uint32_t, std::uint32_t, std::uint64_t>> pairs;
    for (const StorageRelation& x : v_.relations)
      if (x.kind == StorageRelation::Kind::inplace) pairs.emplace(x.a, x.b, x.delta);
    for (const TokenJoin& j : r_.joins) {
      const StorageToken &a = r_.tokens[j.a], &b = r_.tokens[j.b];
      for (const TokenMember& m : a.members)
        for (const TokenMember& n : b.members) {
          const std::uint64_t lo = n.offset + j.delta;  // of n, within a
          if (lo >= m.offset + m.size || m.offset >= lo + n.size ||
              !meet(v_.values[m.value], v_.values[n.value]))
            continue;
          if (lo < m.offset || !pairs.contains({m.value, n.value, lo - m.offset}))
            fail(4029, fmt::format("join of token '{}' onto '{}' at {}: no kernel declares '{}' in "
                                   "place of '{}' there",
                                   b.name, a.name, j.delta, n.name, m.name));
        }
    }
  }

  void reserved() {
    for (const ReservedRange& x : v_.reserved)
      for (std::uint32_t p = 0; p < v_.pools.size(); ++p) {
        if (v_.pools[p].id != x.pool || x.size == 0) continue;
        std::vector<std::pair<std::uint64_t, std::uint64_t>> kept;
        for (const StorageToken& t : r_.tokens)
          if (t.members.empty() && t.at && t.pools[0] == p && t.first == 0 &&
              t.end == r_.steps.size())
            kept.emplace_back(*t.at, *t.at + t.size);
        const std::uint64_t lo = x.at - v_.pools[p].base.value_or(0);
        if (!covers(std::move(kept), lo, lo + x.size))
          fail(4030, fmt::format(
                         "reserved bytes [{}, {}) of pool '{}' ({}) are not kept by pinned tokens",
                         lo, lo + x.size, x.pool, x.why));
      }
  }

  const StorageValues& v_;
  const StorageRequest& r_;
  std::vector<Home> home_;
  Diags errors_;
};

}  // namespace

Status check_request_against_values(const StorageValues& v, const StorageRequest& r) {
  return Matcher(v, r).run();
}

}  // namespace tenon
