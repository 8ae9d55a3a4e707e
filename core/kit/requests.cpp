#include "core/kit/requests.h"

#include <fmt/format.h>

#include <algorithm>
#include <random>

#include "core/storage/request.h"

namespace tenon::kit {
namespace {

class Dice {
 public:
  explicit Dice(std::uint64_t seed) : engine_(seed) {}
  /// In [lo, hi]. Not a std:: distribution: those differ between libraries.
  std::uint64_t in(std::uint64_t lo, std::uint64_t hi) { return lo + engine_() % (hi - lo + 1); }
  bool one_in(std::uint64_t n) { return in(1, n) == 1; }

 private:
  std::mt19937_64 engine_;
};

std::vector<std::string> step_names(std::uint32_t n) {
  std::vector<std::string> out;
  for (std::uint32_t i = 0; i < n; ++i) out.push_back(fmt::format("s{}", i));
  return out;
}

StorageRequest request(std::uint32_t pools, std::uint32_t steps) {
  StorageRequest r;
  for (std::uint32_t p = 0; p < pools; ++p) r.pools.push_back({.id = fmt::format("p{}", p)});
  r.steps = step_names(steps);
  return r;
}

StorageToken& token(StorageRequest& r, std::uint64_t size, std::uint32_t first, std::uint32_t end) {
  StorageToken t{.name = fmt::format("t{}", r.tokens.size()),
                 .size = size,
                 .first = first,
                 .end = end,
                 .parts = {},
                 .members = {}};
  for (std::uint32_t p = 0; p < r.pools.size(); ++p) {
    t.pools.push_back(p);
    t.cost.push_back(0);
  }
  r.tokens.push_back(std::move(t));
  return r.tokens.back();
}

void add_parts(Dice& dice, StorageToken& t) {
  const std::uint32_t cut = t.first + 1;
  if (t.end - t.first < 2 || t.size < 2) return;
  t.parts.push_back({t.first, cut, 0, dice.in(1, t.size)});
  const std::uint64_t lo = dice.in(0, t.size - 1);
  t.parts.push_back({cut, t.end, lo, dice.in(lo + 1, t.size)});
}

void random_joins(Dice& dice, StorageRequest& r) {
  for (std::uint32_t a = 0; a < r.tokens.size(); ++a)
    for (std::uint32_t b = 0; b < r.tokens.size(); ++b) {
      const StorageToken &x = r.tokens[a], &y = r.tokens[b];
      if (a == b || x.at || y.at || x.end != y.first + 1 || x.first >= y.first) continue;
      if (y.size <= x.size && dice.one_in(2))
        r.joins.push_back({a, b, (x.size - y.size) / 16 * 16});
    }
}

}  // namespace

std::vector<NamedRequest> fixed_requests() {
  std::vector<NamedRequest> out;
  const auto add = [&](std::string name, StorageRequest r) {
    if (auto ready = prepare_request(std::move(r))) out.push_back({std::move(name), *ready});
  };
  StorageRequest r = request(1, 1);
  add("no tokens", r);
  token(r, 1, 0, 1);
  add("one token of one byte", r);
  for (int i = 0; i < 30; ++i) token(r, 64, 0, 1);
  add("equal tokens that all live in one step", r);
  r = request(1, 32);
  for (std::uint32_t i = 0; i < 31; ++i) token(r, 100 + i % 3, i, i + 2);
  add("a chain", r);
  r = request(1, 4);
  token(r, 3, 0, 4).align = 1;
  token(r, 7, 0, 4).align = 4096;
  token(r, 5, 1, 3).align = 64;
  add("alignments up to 4096", r);
  r = request(1, 3);
  r.pools[0].granule = 256;
  token(r, 1, 0, 3), token(r, 257, 0, 2), token(r, 255, 1, 3);
  r.pools[0].capacity = 1024;
  add("a granule of 256 in 1024 bytes", r);
  r = request(1, 4);
  token(r, 32, 0, 4).at = 64;
  token(r, 32, 1, 2).at = 0;
  token(r, 64, 0, 4), token(r, 16, 1, 3);
  add("pins", r);
  r = request(2, 2);
  r.pools[0].capacity = 64;
  for (int i = 0; i < 4; ++i) token(r, 48, 0, 2).cost = {0, static_cast<std::uint64_t>(i + 1)};
  add("two pools, one token fits the first", r);
  r = request(3, 2);
  token(r, 8, 0, 2).pools = {2}, r.tokens[0].cost = {0};
  token(r, 8, 0, 2).pools = {2, 0}, r.tokens[1].cost = {0, 0};
  token(r, 8, 0, 2).pools = {1}, r.tokens[2].cost = {0};
  add("pools in another order than declared", r);
  r = request(1, 4);
  token(r, 64, 0, 4).parts = {{0, 2, 0, 64}, {2, 4, 0, 16}};
  token(r, 48, 2, 4);
  add("parts: a token that shrinks", r);
  r = request(1, 3);
  token(r, 64, 0, 2), token(r, 64, 1, 3);
  r.joins = {{0, 1, 0}};
  add("a join: the second takes the first's place", r);
  r = request(1, 2);
  token(r, std::uint64_t{1} << 61, 0, 2), token(r, std::uint64_t{1} << 61, 0, 1);
  token(r, 1, 1, 2).align = std::uint64_t{1} << 40;
  add("sizes past 32 bits", r);
  return out;
}

StorageRequest random_request(std::uint64_t seed, const Kind& kind) {
  Dice dice(seed);
  while (true) {
    StorageRequest r = request(kind.pools ? static_cast<std::uint32_t>(dice.in(1, 3)) : 1, 8);
    std::uint64_t total = 0;
    for (StoragePool& p : r.pools) p.granule = dice.one_in(3) ? 16u << dice.in(0, 3) : 1;
    for (std::uint64_t n = dice.in(1, kind.tokens); n > 0; --n) {
      const auto first = static_cast<std::uint32_t>(dice.in(0, 7));
      const auto end = static_cast<std::uint32_t>(dice.in(first + 1, 8));
      StorageToken& t = token(r, dice.in(1, 20) * (dice.one_in(4) ? 1 : 16), first, end);
      t.align = std::uint64_t{1} << dice.in(0, 6);
      total += t.size;
      if (r.pools.size() > 1) {
        for (std::uint64_t& c : t.cost) c = dice.one_in(2) ? dice.in(0, 9) : 0;
        if (dice.one_in(3)) std::reverse(t.pools.begin(), t.pools.end());
        if (dice.one_in(3)) t.pools.resize(1), t.cost.resize(1);
      }
      if (kind.pins && dice.one_in(6))
        t.pools.resize(1), t.cost.resize(1), t.at = dice.in(0, 8) * 128;
      if (kind.parts && dice.one_in(4)) add_parts(dice, t);
    }
    if (kind.joins) random_joins(dice, r);
    if (kind.capacity)
      for (StoragePool& p : r.pools)
        if (dice.one_in(2)) p.capacity = dice.in(total / 3, total + 256);
    if (auto ready = prepare_request(std::move(r))) return *ready;
  }
}

StorageRequest large_request(std::uint32_t n, std::uint32_t span) {
  Dice dice(n + span);
  StorageRequest r = request(1, n);
  for (std::uint32_t i = 0; i < n; ++i) {
    const auto first = static_cast<std::uint32_t>(dice.in(0, n - 1));
    const auto end = static_cast<std::uint32_t>(dice.in(first + 1, std::min(n, first + span)));
    token(r, dice.in(1, 4096), first, end);
  }
  return *prepare_request(std::move(r));
}

}  // namespace tenon::kit
