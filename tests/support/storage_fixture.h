// What storage tests share: small requests written like their picture, random ones, planners loaded
// from the build.
#ifndef TENON_TESTS_SUPPORT_STORAGE_FIXTURE_H
#define TENON_TESTS_SUPPORT_STORAGE_FIXTURE_H

#include <dlfcn.h>
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <optional>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

#include "core/storage/request.h"
#include "core/storage/solve.h"

namespace tenon::test {

/// A planner of the build tree, through its exported symbol; never unloaded.
inline PlannerRef load_planner(const std::string& name) {
  const std::string path =
      std::string(TENON_BUILD_DIR) + "/lib/tenon/stable/planner-" + name + ".so";
  void* so = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!so) throw std::runtime_error(dlerror());
  using At = const tn_planner* (*)(std::uint32_t);
  return {reinterpret_cast<At>(dlsym(so, "tenon_planner_at"))(0), "0.1.0"};
}
/// Short names of the planners of the build, without tests' own: what stands in its plugin folder.
inline std::vector<std::string> shipped_planners() {
  std::vector<std::string> out;
  for (const auto& e :
       std::filesystem::directory_iterator(std::string(TENON_BUILD_DIR) + "/lib/tenon/stable"))
    if (const std::string name = e.path().stem(); name.starts_with("planner-"))
      out.push_back(name.substr(std::string_view("planner-").size()));
  std::sort(out.begin(), out.end());
  return out;
}
inline std::optional<PlannerRef> find_planner(std::string_view id) {
  for (const std::string& name : shipped_planners())
    if (id == "tenon." + name) return load_planner(name);
  return std::nullopt;
}

struct Token {
  std::string id;
  std::uint32_t lo, hi;
  std::uint64_t size, align = 1;
  std::optional<std::uint64_t> at = {};
};

/// One pool "p0" (no capacity unless given).
inline StorageRequest request(const std::vector<Token>& tokens,
                              std::optional<std::uint64_t> cap = {}) {
  StorageRequest r;
  r.pools.push_back({.id = "p0", .capacity = cap});
  std::uint32_t end = 0;
  for (const Token& t : tokens) {
    r.tokens.push_back({.name = t.id,
                        .size = t.size,
                        .align = t.align,
                        .at = t.at,
                        .first = t.lo,
                        .end = t.hi,
                        .pools = {0}});
    end = std::max(end, t.hi);
  }
  r.steps.resize(end);
  return r;
}

inline SolveSettings settings() {
  SolveSettings s;
  s.find = find_planner;
  return s;
}

inline std::string text(const Diags& d) {
  std::string out;
  for (const Diag& x : d) {
    out += fmt::format("TN{}: {} | {}\n", x.code, x.what, x.fix);
    for (const auto& n : x.notes) out += "  " + n + "\n";
  }
  return out;
}
inline std::string text(const Status& s) { return text(s.errors()); }
inline int first_code(const Diags& d) { return d.empty() ? 0 : d[0].code; }

/// Seeded, and the same on every machine: no distribution of the standard library.
class Rng {
 public:
  explicit Rng(std::uint64_t seed) : engine_(seed) {}
  std::uint64_t below(std::uint64_t n) { return engine_() % n; }
  bool chance(unsigned percent) { return below(100) < percent; }

 private:
  std::mt19937_64 engine_;
};

struct RequestShape {
  std::uint32_t tokens = 12, steps = 10, pools = 2;
  std::uint64_t size = 40;
  bool pins = true, hints = true, caps = true;
};

inline void add_parts(Rng& rng, StorageToken& t) {
  const std::uint32_t mid = t.first + static_cast<std::uint32_t>(rng.below(t.end - t.first));
  const std::uint64_t cut = rng.below(t.size);
  if (mid > t.first) t.parts.push_back({t.first, mid, 0, t.size});
  if (cut > 0) t.parts.push_back({mid, t.end, 0, cut});
  if (rng.chance(50)) t.parts.push_back({t.first, mid + 1, cut, t.size});
}

/// Pools with and without limits, granules, alignments, costs, pins, parts and joins. Not
/// canonical; may be refused for room, loads or colliding pins.
inline StorageRequest random_request(Rng& rng, const RequestShape& shape) {
  StorageRequest r;
  std::uint64_t sum = 0;
  const auto n = static_cast<std::uint32_t>(1 + rng.below(shape.tokens));
  const auto n_pools = static_cast<std::uint32_t>(1 + rng.below(shape.pools));
  for (std::uint32_t i = 0; i < n; ++i) {
    StorageToken t{.name = fmt::format("t{}", i),
                   .size = 1 + rng.below(shape.size),
                   .align = 1ull << rng.below(4)};
    t.first = static_cast<std::uint32_t>(rng.below(shape.steps));
    t.end =
        t.first + 1 + static_cast<std::uint32_t>(rng.below(std::min(shape.steps - t.first, 5u)));
    sum += t.size;
    const auto begin = static_cast<std::uint32_t>(rng.below(n_pools));
    const auto count = static_cast<std::uint32_t>(1 + rng.below(n_pools));
    for (std::uint32_t k = 0; k < count; ++k) {
      t.pools.push_back((begin + k) % n_pools);
      t.cost.push_back(rng.below(4) * t.size);
    }
    if (shape.pins && rng.chance(8)) {
      t.pools.resize(1);
      t.cost.resize(1);
      t.at = rng.below(8) * 16;
    } else if (shape.hints && rng.chance(25)) {
      add_parts(rng, t);
    }
    r.tokens.push_back(std::move(t));
  }
  for (std::uint32_t p = 0; p < n_pools; ++p) {
    StoragePool pool{.id = fmt::format("p{}", p), .granule = 1ull << rng.below(4)};
    if (shape.caps && rng.chance(60)) pool.capacity = sum / 3 + rng.below(sum + 1) + 32;
    r.pools.push_back(std::move(pool));
  }
  r.steps.resize(shape.steps);
  if (shape.hints)
    for (std::uint32_t a = 0; a < n; ++a)
      for (std::uint32_t b = 0; b < n; ++b) {
        const StorageToken &x = r.tokens[a], &y = r.tokens[b];
        if (x.end == y.first + 1 && x.first < y.first && !x.at && rng.chance(50))
          r.joins.push_back(
              {a, b, x.size > y.size && rng.chance(30) ? (x.size - y.size) / 8 * 8 : 0});
      }
  return r;
}

inline StorageRequest shuffled(Rng& rng, const StorageRequest& r) {
  StorageRequest out = r;
  std::vector<std::uint32_t> order(r.tokens.size()), to(r.tokens.size());
  for (std::uint32_t i = 0; i < order.size(); ++i) order[i] = i;
  for (std::size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[rng.below(i)]);
  for (std::uint32_t i = 0; i < order.size(); ++i) {
    out.tokens[i] = r.tokens[order[i]];
    to[order[i]] = i;
  }
  for (TokenJoin& j : out.joins) j = {to[j.a], to[j.b], j.delta};
  std::reverse(out.joins.begin(), out.joins.end());
  return out;
}

}  // namespace tenon::test

#endif
