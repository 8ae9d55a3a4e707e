// What is wrong with a request before any planner is called. One function per law; each names the
// value and the numbers.
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <set>
#include <tuple>
#include <unordered_set>

#include "core/storage/request.h"

namespace tenon {
namespace {

constexpr std::size_t kMaxErrors = 20;
constexpr std::uint64_t kMaxTotal = std::uint64_t{1} << 63;  // all sizes, rounded up, stay below

class Checker {
 public:
  explicit Checker(const StorageRequest& r) : r_(r) {}

  Status run() {
    pools();
    for (const StorageToken& t : r_.tokens) {
      token(t);
      members(t);
    }
    names();
    joins();
    if (!errors_.empty()) return errors_;  // the sums below need sound numbers
    total();
    for (const StorageToken& t : r_.tokens) room(t);
    pins();
    if (errors_.empty()) loads();
    return errors_.empty() ? Status() : Status(std::move(errors_));
  }

 private:
  void fail(int code, std::string what, std::string fix, std::vector<std::string> notes = {}) {
    if (errors_.size() < kMaxErrors)
      errors_.push_back({.code = code,
                         .what = std::move(what),
                         .fix = std::move(fix),
                         .notes = std::move(notes)});
  }

  void pools() {
    if (r_.pools.empty())
      fail(4109, "the request has no pool", "declare at least one under `pools`");
    std::set<std::string_view> seen;
    for (const StoragePool& p : r_.pools) {
      if (!seen.insert(p.id).second)
        fail(4107, fmt::format("two pools are called '{}'", p.id), "rename one");
      if (!std::has_single_bit(p.granule))
        fail(4108, fmt::format("pool '{}': granule {} is not a power of two", p.id, p.granule),
             "use 1, 2, 4, 8, ...");
      if (p.base) addresses(p);
    }
  }

  /// Every address of a pool is a number of 64 bits; without a capacity it may reach 2^63 bytes.
  void addresses(const StoragePool& p) {
    if (*p.base <= UINT64_MAX - p.capacity.value_or(kMaxTotal)) return;
    fail(4114,
         fmt::format("pool '{}': {} bytes from address {} reach 2^64", p.id,
                     p.capacity ? fmt::format("{}", *p.capacity) : "without a capacity, 2^63",
                     *p.base),
         p.capacity ? "correct `base` or `capacity`" : "give it its `capacity`");
  }

  /// What a token says it holds lies inside it, in bytes and in time.
  void members(const StorageToken& t) {
    for (const TokenMember& m : t.members)
      if (m.offset > t.size || m.size > t.size - m.offset || m.live.first > m.live.end ||
          (m.live.first < m.live.end && (m.live.first < t.first || m.live.end > t.end)))
        fail(
            4116,
            fmt::format("{}: its value '{}' has {} bytes at {} in steps [{}, {}); the token has {} "
                        "bytes in steps [{}, {})",
                        describe(t), m.name, m.size, m.offset, m.live.first, m.live.end, t.size,
                        t.first, t.end),
            "make the token larger or longer-lived, or correct the value");
  }

  void names() {
    std::unordered_set<std::string_view> seen;
    seen.reserve(r_.tokens.size());
    for (const StorageToken& t : r_.tokens) {
      if (t.name.empty())
        fail(4107, "a token has no name", "give each token a name of its own");
      else if (!seen.insert(t.name).second)
        fail(4107, fmt::format("two tokens are called '{}'", t.name), "rename one");
    }
  }

  void token(const StorageToken& t) {
    const auto who = [&] { return describe(t); };
    if (!std::has_single_bit(t.align))
      fail(4108, fmt::format("{}: alignment {} is not a power of two", who(), t.align),
           "use 1, 2, 4, 8, ...");
    if (t.first > t.end || t.end > r_.steps.size() || t.first == UINT32_MAX)
      fail(4110,
           fmt::format("{}: lifetime [{}, {}) does not lie in the {} steps", who(), t.first, t.end,
                       r_.steps.size()),
           "lifetimes are half-open intervals of steps");
    if (t.pools.empty())
      fail(4101, fmt::format("{}: no pool is left for it", who()),
           "allow it a pool that holds its sort of value (`place:`)");
    for (std::size_t k = 0; k < t.pools.size(); ++k) {
      const std::uint32_t p = t.pools[k];
      if (p >= r_.pools.size())
        fail(4109, fmt::format("{}: pool number {} of {}", who(), p, r_.pools.size()),
             "pools count from 0");
      else if (std::find(t.pools.begin(), t.pools.begin() + k, p) != t.pools.begin() + k)
        fail(4107, fmt::format("{}: pool '{}' is listed twice", who(), r_.pools[p].id),
             "list it once");
    }
    if (!t.cost.empty() && t.cost.size() != t.pools.size())
      fail(4109, fmt::format("{}: {} costs for {} pools", who(), t.cost.size(), t.pools.size()),
           "give one cost per pool, or none");
    if (t.at && t.pools.size() > 1)
      fail(4111,
           fmt::format("{}: pinned to offset {} but allowed in {} pools", who(), *t.at,
                       t.pools.size()),
           "a pin names one pool");
    for (const TokenPart& p : t.parts)
      if (p.first >= p.end || p.first < t.first || p.end > t.end || p.lo >= p.hi || p.hi > t.size)
        fail(4112,
             fmt::format(
                 "{}: part [{}, {}) in steps [{}, {}) does not lie in [0, {}) in steps [{}, {})",
                 who(), p.lo, p.hi, p.first, p.end, t.size, t.first, t.end),
             "parts say which bytes of the token are occupied when");
  }

  void joins() {
    for (const TokenJoin& j : r_.joins) {
      if (j.a >= r_.tokens.size() || j.b >= r_.tokens.size() || j.a == j.b) {
        fail(4109, fmt::format("join of tokens {} and {} of {}", j.a, j.b, r_.tokens.size()),
             "a join names two different tokens");
        continue;
      }
      const StorageToken &a = r_.tokens[j.a], &b = r_.tokens[j.b];
      if (j.delta > a.size)
        fail(4109,
             fmt::format("join of tokens {} and {}: delta {} is past the {} bytes of {}", j.a, j.b,
                         j.delta, a.size, describe(a)),
             "the delta is where the second stands in the first");
      const auto who = [&] { return fmt::format("join of {} onto {}", describe(b), describe(a)); };
      if (a.at)
        fail(4113, fmt::format("{}: the latter is pinned", who()), "drop the join or the pin");
      if (a.first >= b.first || a.end != std::uint64_t{b.first} + 1)
        fail(4113,
             fmt::format("{}: it lives in steps [{}, {}), its successor starts in step {}", who(),
                         a.first, a.end, b.first),
             "a token may be taken over only in its last step");
      for (const TokenMember& m : a.members)
        if (m.role == Role::constant || m.role == Role::state)
          fail(4113, fmt::format("{}: '{}' is a {}", who(), m.name, name(m.role)),
               "constants and state are never taken over");
    }
  }

  void total() {
    std::uint64_t sum = 0;
    for (const StorageToken& t : r_.tokens) {
      std::uint64_t unit = t.align;
      for (const std::uint32_t p : t.pools) unit = std::max(unit, r_.pools[p].granule);
      // Each layout stays below the sum of sizes, each with its padding.
      if (t.size >= kMaxTotal || unit >= kMaxTotal / 2 || t.size + unit >= kMaxTotal - sum)
        return fail(
            4106,
            fmt::format("{}: size {} brings the sum of all sizes past 2^63", describe(t), t.size),
            "sizes are bytes; check the shape");
      sum += t.size + unit;
    }
  }

  void room(const StorageToken& t) {
    std::vector<std::string> why;
    for (const std::uint32_t p : t.pools) {
      const StoragePool& pool = r_.pools[p];
      if (!pool.capacity || round_up_to(t.size, pool.granule) <= *pool.capacity || t.size == 0)
        return;
      why.push_back(fmt::format("pool '{}' has {} bytes, {} too few", pool.id, *pool.capacity,
                                round_up_to(t.size, pool.granule) - *pool.capacity));
    }
    fail(4115,
         fmt::format("{}: needs {} bytes, more than any of its pools has", describe(t), t.size),
         "allow it a larger pool, or split the value", std::move(why));
  }

  void pins() {
    std::vector<const StorageToken*> pinned;
    for (const StorageToken& t : r_.tokens)
      if (t.at && t.size > 0 && pin_fits(t)) pinned.push_back(&t);
    std::sort(pinned.begin(), pinned.end(), [](const auto* a, const auto* b) {
      return std::tie(a->pools[0], *a->at, a->name) < std::tie(b->pools[0], *b->at, b->name);
    });
    for (std::size_t i = 0; i < pinned.size(); ++i)
      for (std::size_t k = i + 1; k < pinned.size(); ++k) {
        const StorageToken &a = *pinned[i], &b = *pinned[k];
        if (a.pools[0] != b.pools[0] || *b.at >= *a.at + a.size) break;
        if (a.first < std::max(b.end, b.first + 1) && b.first < std::max(a.end, a.first + 1))
          fail(4102,
               fmt::format(
                   "{} is pinned to [{}, {}) and {} to [{}, {}) of pool '{}'; both live in step {}",
                   describe(a), *a.at, *a.at + a.size, describe(b), *b.at, *b.at + b.size,
                   r_.pools[a.pools[0]].id, std::max(a.first, b.first)),
               fmt::format("move one pin by {} bytes or more", *a.at + a.size - *b.at));
      }
  }

  bool pin_fits(const StorageToken& t) {
    const StoragePool& pool = r_.pools[t.pools[0]];
    const std::uint64_t unit = std::max(t.align, pool.granule);
    if (*t.at % unit != 0) {
      fail(4103,
           fmt::format("{}: pinned to offset {} of pool '{}', which is no multiple of {}",
                       describe(t), *t.at, pool.id, unit),
           fmt::format("use {} or {}", *t.at / unit * unit, (*t.at / unit + 1) * unit));
      return false;
    }
    const std::uint64_t size = round_up_to(t.size, pool.granule),
                        cap = pool.capacity.value_or(kMaxTotal);
    if (*t.at >= kMaxTotal || *t.at + size > cap) {
      fail(4104,
           fmt::format(
               "{}: pinned to offset {} and {} bytes long: ends past the {} bytes of pool '{}'",
               describe(t), *t.at, t.size, cap, pool.id),
           size <= cap ? fmt::format("pin it to {} or below", (cap - size) / unit * unit) : "");
      return false;
    }
    return true;
  }

  // Tokens that may live only in some set of pools have no more than these pools' capacity
  // together.
  void loads() {
    if (std::ranges::none_of(r_.pools, [](const StoragePool& p) { return p.capacity.has_value(); }))
      return;
    const StorageRequest c =
        canonical_request(r_);  // parts are disjoint there, so they may be summed
    std::set<std::vector<std::uint32_t>> sets;
    for (const StorageToken& t : c.tokens) {
      std::vector<std::uint32_t> s = t.pools;
      std::sort(s.begin(), s.end());
      if (sets.size() < 64) sets.insert(std::move(s));
    }
    for (const auto& s : sets) load(c, s);
  }

  void load(const StorageRequest& c, const std::vector<std::uint32_t>& set) {
    std::uint64_t capacity = 0;
    std::string which;
    for (const std::uint32_t p : set) {
      if (!r_.pools[p].capacity) return;
      capacity += std::min(*r_.pools[p].capacity, kMaxTotal / r_.pools.size());
      which += fmt::format("{}'{}'", which.empty() ? "" : " and ", r_.pools[p].id);
    }
    std::vector<char> in(c.tokens.size());
    for (std::size_t i = 0; i < in.size(); ++i)
      in[i] = std::all_of(c.tokens[i].pools.begin(), c.tokens[i].pools.end(), [&](std::uint32_t p) {
        return std::binary_search(set.begin(), set.end(), p);
      });
    const MaxLive need = max_live(c, in);
    if (need.bytes <= capacity) return;
    fail(4105,
         fmt::format("{} {}: {} bytes must be there in step {}{}, capacity {}: {} bytes too many",
                     set.size() == 1 ? "pool" : "pools", which, need.bytes, need.step,
                     step_name(need.step), capacity, need.bytes - capacity),
         "enlarge the pool, allow one of these values another pool (`place:`), or shorten its life "
         "by reordering",
         live_at(c, in, need.step));
  }

  std::string step_name(std::uint32_t s) const {
    return s < r_.steps.size() && !r_.steps[s].empty() ? fmt::format(" ({})", r_.steps[s]) : "";
  }

  std::vector<std::string> live_at(const StorageRequest& c, const std::vector<char>& in,
                                   std::uint32_t step) const {
    std::vector<const StorageToken*> live;
    for (std::size_t i = 0; i < in.size(); ++i) {
      const StorageToken& t = c.tokens[i];
      if (in[i] && t.first <= step && step < t.end) live.push_back(&t);
    }
    std::sort(live.begin(), live.end(), [](const auto* a, const auto* b) {
      return std::tie(b->size, a->name) < std::tie(a->size, b->name);
    });
    std::vector<std::string> out;
    for (std::size_t k = 0; k < std::min<std::size_t>(live.size(), 8); ++k)
      out.push_back(fmt::format("live: {}, {} bytes, steps [{}, {})", describe(*live[k]),
                                live[k]->size, live[k]->first, live[k]->end));
    if (live.size() > 8) out.push_back(fmt::format("and {} more", live.size() - 8));
    return out;
  }

  const StorageRequest& r_;
  Diags errors_;
};

}  // namespace

Status check_request(const StorageRequest& r) { return Checker(r).run(); }

}  // namespace tenon
