#include "core/storage/request.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <set>
#include <tuple>

namespace tenon {
namespace {

using Range = std::pair<std::uint64_t, std::uint64_t>;  // bytes [first, second)

// Disjoint, ascending, neighbours merged.
std::vector<Range> united(std::vector<Range> v) {
  std::sort(v.begin(), v.end());
  std::vector<Range> out;
  for (const Range& x : v) {
    if (!out.empty() && x.first <= out.back().second)
      out.back().second = std::max(out.back().second, x.second);
    else
      out.push_back(x);
  }
  return out;
}

constexpr std::size_t kMaxParts = 4096;  // beyond, the hint is dropped: its upkeep is quadratic

// The same occupancy as disjoint rectangles; empty where it is the whole token at all times.
std::vector<TokenPart> disjoint_parts(const StorageToken& t) {
  if (t.parts.empty() || t.parts.size() > kMaxParts) return {};
  std::vector<std::uint32_t> times;
  for (const TokenPart& p : t.parts) {
    times.push_back(p.first);
    times.push_back(p.end);
  }
  std::sort(times.begin(), times.end());
  times.erase(std::unique(times.begin(), times.end()), times.end());
  std::vector<TokenPart> out;
  std::map<Range, std::size_t> open;  // ranges that reach to the current time -> index in out
  for (std::size_t k = 0; k + 1 < times.size(); ++k) {
    std::vector<Range> now;
    for (const TokenPart& p : t.parts)
      if (p.first <= times[k] && times[k] < p.end) now.emplace_back(p.lo, p.hi);
    std::map<Range, std::size_t> next;
    for (const Range& r : united(std::move(now))) {
      if (const auto it = open.find(r); it != open.end()) {
        out[it->second].end = times[k + 1];
        next.insert(*it);
      } else {
        next.emplace(r, out.size());
        out.push_back({times[k], times[k + 1], r.first, r.second});
      }
    }
    open = std::move(next);
  }
  std::sort(out.begin(), out.end(), [](const TokenPart& a, const TokenPart& b) {
    return std::tie(a.first, a.lo, a.end, a.hi) < std::tie(b.first, b.lo, b.end, b.hi);
  });
  if (out.size() == 1 && out[0] == TokenPart{t.first, t.end, 0, t.size}) out.clear();
  return out;
}

auto part_key(const TokenPart& p) { return std::tie(p.first, p.lo, p.end, p.hi); }

std::strong_ordering order_parts(const std::vector<TokenPart>& a, const std::vector<TokenPart>& b) {
  if (a.size() != b.size()) return a.size() <=> b.size();
  for (std::size_t k = 0; k < a.size(); ++k)
    if (auto c = part_key(a[k]) <=> part_key(b[k]); c != 0) return c;
  return std::strong_ordering::equal;
}

// Names are unique, so this is a total order: no permutation of the input changes the result.
bool before(const StorageToken& a, const StorageToken& b) {
  if (auto c = std::tie(a.first, a.end, b.size, a.align, a.at) <=>
               std::tie(b.first, b.end, a.size, b.align, b.at);
      c != 0)
    return c < 0;
  if (auto c = std::tie(a.pools, a.cost) <=> std::tie(b.pools, b.cost); c != 0) return c < 0;
  if (auto c = order_parts(a.parts, b.parts); c != 0) return c < 0;
  return a.name < b.name;
}

bool member_before(const TokenMember& a, const TokenMember& b) {
  return std::tie(a.offset, a.id, a.name) < std::tie(b.offset, b.id, b.name);
}

void settle(StorageToken& t, std::size_t& n_steps) {
  if (t.first == t.end) {
    ++t.end;
    n_steps = std::max<std::size_t>(n_steps, t.end);
  }
  t.cost.resize(t.pools.size(), 0);
  t.parts = disjoint_parts(t);
  std::sort(t.members.begin(), t.members.end(), member_before);
}

bool join_before(const TokenJoin& x, const TokenJoin& y) {
  return std::tie(x.a, x.b, x.delta) < std::tie(y.a, y.b, y.delta);
}

}  // namespace

std::string_view name(Role r) {
  static constexpr std::string_view kNames[] = {"input",      "output",  "constant", "state",
                                                "activation", "scratch", "worker"};
  return kNames[static_cast<std::size_t>(r)];
}

StorageRequest canonical_request(StorageRequest r, std::vector<std::uint32_t>* where) {
  std::size_t n_steps = r.steps.size();
  std::vector<std::uint32_t> order;
  for (std::uint32_t i = 0; i < r.tokens.size(); ++i) {
    settle(r.tokens[i], n_steps);
    if (r.tokens[i].size > 0) order.push_back(i);
  }
  r.steps.resize(n_steps);
  std::sort(order.begin(), order.end(),
            [&](auto a, auto b) { return before(r.tokens[a], r.tokens[b]); });
  std::vector<std::uint32_t> to(r.tokens.size(), kNoToken);
  std::vector<StorageToken> tokens;
  tokens.reserve(order.size());
  for (const std::uint32_t i : order) {
    to[i] = static_cast<std::uint32_t>(tokens.size());
    tokens.push_back(std::move(r.tokens[i]));
  }
  r.tokens = std::move(tokens);
  std::erase_if(r.joins,
                [&](const TokenJoin& j) { return to[j.a] == kNoToken || to[j.b] == kNoToken; });
  for (TokenJoin& j : r.joins) j = {to[j.a], to[j.b], j.delta};
  std::sort(r.joins.begin(), r.joins.end(), join_before);
  r.joins.erase(std::unique(r.joins.begin(), r.joins.end()), r.joins.end());
  if (where) *where = std::move(to);
  return r;
}

bool is_canonical(const StorageRequest& r) {
  for (const StorageToken& t : r.tokens)
    if (t.size == 0 || t.first >= t.end || t.end > r.steps.size() ||
        t.cost.size() != t.pools.size() || t.parts != disjoint_parts(t) ||
        !std::is_sorted(t.members.begin(), t.members.end(), member_before))
      return false;
  return std::is_sorted(r.tokens.begin(), r.tokens.end(), before) &&
         std::is_sorted(r.joins.begin(), r.joins.end(), join_before);
}

Result<StorageRequest> prepare_request(StorageRequest r, std::vector<std::uint32_t>* where) {
  if (Status s = check_request(r); !s) return std::move(s).take();
  return canonical_request(std::move(r), where);
}

std::string describe(const StorageToken& t) {
  if (t.members.empty() || (t.members.size() == 1 && t.members[0].name == t.name))
    return fmt::format("'{}'", t.name);
  std::string in;
  for (std::size_t k = 0; k < std::min<std::size_t>(t.members.size(), 3); ++k)
    in += (k ? ", " : "") + t.members[k].name;
  if (t.members.size() > 3) in += fmt::format(" and {} more", t.members.size() - 3);
  return fmt::format("'{}' ({})", t.name, in);
}

}  // namespace tenon
