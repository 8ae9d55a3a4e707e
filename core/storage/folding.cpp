#include "core/storage/folding.h"

#include <fmt/format.h>

#include <bit>
#include <map>
#include <tuple>

#include "core/storage/lifetimes.h"
#include "core/storage/request.h"
#include "tenon/type.h"

namespace tenon {
namespace {

constexpr std::uint32_t none = UINT32_MAX;

struct Edge {
  std::uint32_t to = 0;
  std::int64_t delta = 0;  ///< offset of `to` minus offset of the value it hangs on
};

class Folding {
 public:
  explicit Folding(const StorageValues& in) : in_(in) {}

  Result<StorageRequest> run() {
    out_.pools = in_.pools;
    out_.steps = in_.steps;
    check_values();
    if (errors_.empty()) check_relations();
    if (errors_.empty()) place_in_classes();
    if (errors_.empty()) make_tokens();
    if (errors_.empty()) make_joins();
    if (errors_.empty()) reserve();
    if (!errors_.empty()) return std::move(errors_);
    return prepare_request(std::move(out_));
  }

 private:
  void fail(int code, std::string what, std::string fix = "", std::vector<std::string> notes = {}) {
    if (errors_.size() < 20) {
      errors_.push_back({.code = code,
                         .what = std::move(what),
                         .fix = std::move(fix),
                         .notes = std::move(notes)});
    }
  }
  const StorageValue& value(std::uint32_t v) const { return in_.values[v]; }
  const std::string& name(std::uint32_t v) const { return in_.values[v].name; }

  /// One more where an empty lifetime at the very end became a step.
  std::uint32_t n_steps() const { return static_cast<std::uint32_t>(out_.steps.size()); }

  void check_values() {
    live_.resize(in_.values.size());
    for (std::uint32_t v = 0; v < in_.values.size(); ++v) {
      const StorageValue& x = value(v);
      if (!std::has_single_bit(x.align)) {
        fail(4227, fmt::format("alignment {} of `{}` is not a power of two", x.align, x.name));
      }
      if (x.size > INT64_MAX)
        fail(4226, fmt::format("`{}` has {} bytes; at most 2^63 - 1 are possible", x.name, x.size));
      if (x.pools.empty()) fail(4227, fmt::format("`{}` may live in no pool", x.name));
      for (const std::uint32_t p : x.pools) {
        if (p >= in_.pools.size())
          fail(4227,
               fmt::format("`{}` may live in pool number {} of {}", x.name, p, in_.pools.size()));
      }
      live_[v] = x.live;
      const std::uint32_t first = x.live.empty() ? 0 : x.live.front().first;
      tidy(live_[v]);
      if (live_[v].empty()) live_[v] = {{first, first + 1}};
      if (live_[v].back().end >
          n_steps() + (x.live.empty() || x.live.back().first == x.live.back().end)) {
        fail(4227,
             fmt::format("`{}` is live to step {} of {}", x.name, live_[v].back().end, n_steps()));
      } else if (live_[v].back().end > out_.steps.size()) {
        out_.steps.resize(live_[v].back().end);
      }
    }
  }

  void check_relations() {
    edges_.resize(in_.values.size());
    for (const StorageRelation& r : in_.relations) {
      if (r.a >= in_.values.size() || r.b >= in_.values.size() || r.delta > INT64_MAX) {
        fail(4227, fmt::format("a relation of values {} and {} at offset {} is malformed", r.a, r.b,
                               r.delta));
        continue;
      }
      const bool same = r.kind == StorageRelation::Kind::same;
      if (r.kind == StorageRelation::Kind::inplace) continue;
      const std::uint64_t delta = same ? 0 : r.delta;
      const auto end = checked_add(delta, value(r.b).size);
      if (!end || *end > value(r.a).size || (same && value(r.a).size != value(r.b).size)) {
        fail(4222,
             fmt::format("`{}` ({} bytes at offset {}) leaves its base `{}` ({} bytes)", name(r.b),
                         value(r.b).size, delta, name(r.a), value(r.a).size),
             "a view lies inside its base");
      }
      edges_[r.a].push_back({r.b, static_cast<std::int64_t>(delta)});
      edges_[r.b].push_back({r.a, -static_cast<std::int64_t>(delta)});
    }
  }

  /// Numbers the classes and gives each value its offset in its class.
  void place_in_classes() {
    class_of_.assign(in_.values.size(), none);
    offset_.assign(in_.values.size(), 0);
    for (std::uint32_t v = 0; v < in_.values.size(); ++v) {
      if (class_of_[v] != none || value(v).size == 0) continue;
      const auto c = static_cast<std::uint32_t>(members_.size());
      std::vector<std::uint32_t>& members = members_.emplace_back(1, v);
      class_of_[v] = c;
      for (std::size_t i = 0; i < members.size(); ++i) {
        for (const Edge& e : edges_[members[i]]) visit(members[i], e, c, members);
      }
      std::int64_t low = 0;
      for (const std::uint32_t m : members) low = std::min(low, offset_[m]);
      for (const std::uint32_t m : members) offset_[m] -= low;
      // The base first, then by place: results do not depend on the order of values.
      std::stable_sort(members.begin(), members.end(), [&](std::uint32_t a, std::uint32_t b) {
        return std::tuple(offset_[a], ~value(a).size, live_[a].front().first, value(a).id) <
               std::tuple(offset_[b], ~value(b).size, live_[b].front().first, value(b).id);
      });
    }
  }

  void visit(std::uint32_t from, const Edge& e, std::uint32_t c,
             std::vector<std::uint32_t>& members) {
    if (value(e.to).size == 0) return;
    const std::int64_t at = offset_[from] + e.delta;
    if (class_of_[e.to] == none) {
      class_of_[e.to] = c;
      offset_[e.to] = at;
      members.push_back(e.to);
    } else if (offset_[e.to] != at) {
      fail(4221,
           fmt::format("`{}` should stand {} bytes from `{}` and also {} bytes from it", name(e.to),
                       e.delta, name(from), offset_[e.to] - offset_[from]),
           "two relations contradict each other");
    }
  }

  void make_tokens() {
    out_.tokens.reserve(members_.size());
    for (std::uint32_t c = 0; c < members_.size(); ++c) out_.tokens.push_back(token(members_[c]));
  }

  StorageToken token(const std::vector<std::uint32_t>& members) {
    const StorageValue& base = value(members[0]);
    StorageToken t{.name = base.name, .align = 1, .first = UINT32_MAX, .pools = base.pools};
    std::uint32_t pinned_by = none;
    for (const std::uint32_t m : members) {
      const StorageValue& v = value(m);
      const auto offset = static_cast<std::uint64_t>(offset_[m]);
      if (offset % v.align != 0) {
        fail(4223,
             fmt::format("`{}` needs alignment {} but stands at offset {} of `{}`", v.name, v.align,
                         offset, base.name),
             "make the view a copy");
      }
      t.size = std::max(t.size, offset + v.size);
      t.align = std::max(t.align, v.align);
      t.first = std::min(t.first, live_[m].front().first);
      t.end = std::max(t.end, live_[m].back().end);
      pin(t, m, pinned_by);
      t.members.push_back({m, v.id, v.name, offset, v.size, hull(live_[m]), v.role});
    }
    common_pools(t, members);
    t.parts = parts(t, members);
    return t;
  }

  void pin(StorageToken& t, std::uint32_t m, std::uint32_t& pinned_by) {
    if (!value(m).at) return;
    const auto offset = static_cast<std::uint64_t>(offset_[m]);
    const std::uint64_t at = *value(m).at - offset;
    if (*value(m).at < offset) {
      fail(4225,
           fmt::format(
               "`{}` is pinned to offset {}, so its base `{}` would start {} bytes before the pool",
               name(m), *value(m).at, t.name, offset - *value(m).at),
           "pin the base");
    } else if (pinned_by != none && t.at != at) {
      fail(4225,
           fmt::format("`{}` and `{}` share storage but their pins put it at {} and at {}",
                       name(pinned_by), name(m), *t.at, at),
           "pin one of them");
    } else {
      t.at = at;
      pinned_by = m;
    }
  }

  void common_pools(StorageToken& t, const std::vector<std::uint32_t>& members) {
    std::uint32_t narrowed_by = members[0];
    for (const std::uint32_t m : members) {
      const std::size_t before = t.pools.size();
      const std::vector<std::uint32_t>& may = value(m).pools;
      std::erase_if(t.pools, [&](std::uint32_t p) {
        return std::find(may.begin(), may.end(), p) == may.end();
      });
      if (t.pools.empty()) {
        return fail(
            4224,
            fmt::format("`{}` and `{}` share storage but no pool", name(narrowed_by), name(m)),
            "let both live in one pool, or make one a copy", {reason(narrowed_by), reason(m)});
      }
      if (t.pools.size() < before) narrowed_by = m;
    }
    for (const std::uint32_t p : t.pools) t.cost.push_back(cost(members, p));
  }

  std::string reason(std::uint32_t m) const {
    std::vector<std::string> ids;
    for (const std::uint32_t p : value(m).pools) ids.push_back(in_.pools[p].id);
    std::string s = fmt::format("`{}` may live in {}", name(m), fmt::join(ids, ", "));
    return value(m).place_why.empty() ? s : s + fmt::format(" ({})", value(m).place_why);
  }

  std::uint64_t cost(const std::vector<std::uint32_t>& members, std::uint32_t pool) const {
    std::uint64_t sum = 0;
    for (const std::uint32_t m : members) {
      const StorageValue& v = value(m);
      const auto k = static_cast<std::size_t>(std::find(v.pools.begin(), v.pools.end(), pool) -
                                              v.pools.begin());
      const std::uint64_t c = k < v.cost.size() ? v.cost[k] : 0;
      sum = checked_add(sum, c).value_or(UINT64_MAX);
    }
    return sum;
  }

  /// Which bytes are occupied when; empty when it is all of them, always. Equal byte ranges make
  /// one row.
  std::vector<TokenPart> parts(const StorageToken& t,
                               const std::vector<std::uint32_t>& members) const {
    if (members.size() == 1 && live_[members[0]].size() == 1) return {};
    std::map<std::pair<std::uint64_t, std::uint64_t>, std::vector<Lifetime>> rows;
    for (const std::uint32_t m : members) {
      const auto lo = static_cast<std::uint64_t>(offset_[m]);
      std::vector<Lifetime>& row = rows[{lo, lo + value(m).size}];
      row.insert(row.end(), live_[m].begin(), live_[m].end());
    }
    std::vector<TokenPart> parts;
    for (auto& [bytes, live] : rows) {
      tidy(live);
      for (const Lifetime& l : live) {
        if (bytes == std::pair{std::uint64_t{0}, t.size} && l == Lifetime{t.first, t.end})
          return {};
        parts.push_back({l.first, l.end, bytes.first, bytes.second});
      }
    }
    return parts;
  }

  /// A join is a hint, so it is left out where token a does not die as a whole in the first step of
  /// b, or where members other than the pair would meet.
  void make_joins() {
    Pairs pairs;
    for (const StorageRelation& r : in_.relations) {
      if (r.kind == StorageRelation::Kind::inplace) pairs.emplace_back(r.a, r.b);
    }
    std::sort(pairs.begin(), pairs.end());
    for (const StorageRelation& r : in_.relations) {
      if (r.kind != StorageRelation::Kind::inplace || value(r.a).size == 0 || value(r.b).size == 0)
        continue;
      const std::uint32_t a = class_of_[r.a], b = class_of_[r.b];
      const std::int64_t delta = offset_[r.a] + static_cast<std::int64_t>(r.delta) - offset_[r.b];
      const StorageToken &ta = out_.tokens[a], &tb = out_.tokens[b];
      if (a == b || delta < 0 || ta.at || ta.first >= tb.first || ta.end != tb.first + 1) continue;
      if (static_cast<std::uint64_t>(delta) + tb.size > ta.size ||
          !only_pairs_meet(a, b, delta, pairs))
        continue;
      out_.joins.push_back({a, b, static_cast<std::uint64_t>(delta)});  // twice is once in the end
    }
  }

  using Pairs = std::vector<std::pair<std::uint32_t, std::uint32_t>>;  // in order

  bool only_pairs_meet(std::uint32_t a, std::uint32_t b, std::int64_t delta,
                       const Pairs& pairs) const {
    const std::uint32_t step = out_.tokens[b].first;
    for (const std::uint32_t x : members_[a]) {
      if (value(x).role == Role::constant || value(x).role == Role::state) return false;
      if (!contains(live_[x], step)) continue;
      for (const std::uint32_t y : members_[b]) {
        const std::int64_t at = offset_[y] + delta;
        const bool apart = at >= offset_[x] + static_cast<std::int64_t>(value(x).size) ||
                           offset_[x] >= at + static_cast<std::int64_t>(value(y).size);
        if (!apart && contains(live_[y], step) &&
            !std::binary_search(pairs.begin(), pairs.end(), std::pair{x, y}))
          return false;
      }
    }
    return true;
  }

  void reserve() {
    for (std::size_t i = 0; i < in_.reserved.size(); ++i) {
      const ReservedRange& r = in_.reserved[i];
      if (r.size == 0) continue;
      const auto p = static_cast<std::uint32_t>(
          std::find_if(in_.pools.begin(), in_.pools.end(),
                       [&](const StoragePool& x) { return x.id == r.pool; }) -
          in_.pools.begin());
      if (p == in_.pools.size() || r.at < in_.pools[p].base.value_or(0)) {
        fail(4227, fmt::format("reserved range at {:#x} of pool `{}`: no such place", r.at, r.pool),
             "correct `reserved`");
        continue;
      }
      const std::uint64_t offset = r.at - in_.pools[p].base.value_or(0);
      StorageToken t{.name = fmt::format("reserved[{}] {}", i, r.why),
                     .size = r.size,
                     .align = 1,
                     .at = offset,
                     .first = 0,
                     .end = n_steps(),
                     .pools = {p},
                     .cost = {0}};
      out_.tokens.push_back(std::move(t));
    }
  }

  const StorageValues& in_;
  StorageRequest out_;
  std::vector<std::vector<Lifetime>> live_;  ///< tidy, never empty
  std::vector<std::vector<Edge>> edges_;     ///< by value: same and inside
  std::vector<std::uint32_t> class_of_;      ///< by value; none for 0 bytes
  std::vector<std::int64_t> offset_;         ///< by value: bytes from the start of its class
  std::vector<std::vector<std::uint32_t>>
      members_;  ///< by class; also the token's number before the canonical order
  Diags errors_;
};

}  // namespace

Result<StorageRequest> fold(const StorageValues& values) { return Folding(values).run(); }

}  // namespace tenon
