// The complete planner against definitions: a brute-force search for any better plan, and the
// hard instances.
#include <doctest/doctest.h>

#include <array>
#include <cstdlib>
#include <span>
#include <thread>

#include "core/storage/files.h"
#include "core/storage/judge.h"
#include "core/support/files.h"
#include "tests/support/storage_fixture.h"

namespace tenon::test {
namespace {

/// A request so small that all plans can be looked at; every feature of the boundary occurs.
StorageRequest tiny_request(Rng& rng) {
  StorageRequest r;
  const auto n = static_cast<std::uint32_t>(1 + std::min(rng.below(7), rng.below(8)));
  const auto n_pools = static_cast<std::uint32_t>(1 + rng.below(2));
  constexpr std::uint32_t steps = 6;
  const bool hints = rng.chance(60), pins = rng.chance(40);
  std::uint64_t sum = 0;
  for (std::uint32_t i = 0; i < n; ++i) {
    StorageToken t{
        .name = fmt::format("t{}", i), .size = 1 + rng.below(6), .align = 1ull << rng.below(3)};
    t.first = static_cast<std::uint32_t>(rng.below(steps));
    t.end = t.first + 1 + static_cast<std::uint32_t>(rng.below(std::min(steps - t.first, 4u)));
    sum += t.size;
    const auto begin = static_cast<std::uint32_t>(rng.below(n_pools));
    const auto count = static_cast<std::uint32_t>(1 + rng.below(n_pools));
    for (std::uint32_t k = 0; k < count; ++k) {
      t.pools.push_back((begin + k) % n_pools);
      t.cost.push_back(rng.below(3) * t.size);
    }
    if (pins && rng.chance(20)) {
      t.pools.resize(1);
      t.cost.resize(1);
      t.at = rng.below(rng.chance(50) ? 4 : 12) * 4;
    } else if (hints && rng.chance(40)) {
      add_parts(rng, t);
    }
    r.tokens.push_back(std::move(t));
  }
  for (std::uint32_t p = 0; p < n_pools; ++p) {
    StoragePool pool{.id = fmt::format("p{}", p), .granule = 1ull << rng.below(3)};
    if (rng.chance(60)) pool.capacity = sum / 3 + rng.below(sum) + 2;
    r.pools.push_back(std::move(pool));
  }
  r.steps.resize(steps);
  for (std::uint32_t a = 0; hints && a < n; ++a)
    for (std::uint32_t b = 0; b < n; ++b) {
      const StorageToken &x = r.tokens[a], &y = r.tokens[b];
      if (x.end == y.first + 1 && x.first < y.first && !x.at && rng.chance(60))
        r.joins.push_back({a, b, rng.chance(30) ? rng.below(3) : 0});
    }
  return r;
}

/// Looks at every plan by the rules of tenon/c/planner.h, one after another.
class BruteForce {
 public:
  explicit BruteForce(const StorageRequest& r) : r_(r), slots_(r.tokens.size()) {
    std::uint64_t pin = 0;
    for (const StorageToken& t : r.tokens) {
      high_ += t.size + t.align + 4;
      pin = std::max(pin, t.at.value_or(0));
    }
    high_ += pin;
    rest_.assign(r.tokens.size() + 1, 0);
    for (std::size_t i = r.tokens.size(); i-- > 0;)
      rest_[i] = rest_[i + 1] + *std::min_element(r.tokens[i].cost.begin(), r.tokens[i].cost.end());
  }
  /// Whether a plan better than `than` exists; without it, any plan. Nothing: too many to look at.
  std::optional<bool> exists(const std::optional<Rank>& than) {
    if (than) than_ = {than->cost, than->peaks[0], than->peaks.size() > 1 ? than->peaks[1] : 0};
    const bool found = place(0, {0, 0, 0});
    if (looked_ > kMost) return std::nullopt;
    return found;
  }

 private:
  static constexpr std::uint64_t kMost = 3'000'000;
  using Key = std::array<std::uint64_t, 3>;  // cost, peaks

  bool place(std::size_t i, const Key& so_far) {
    Key least = so_far;
    least[0] += rest_[i];
    if (least >= than_ || looked_ > kMost) return false;
    if (i == slots_.size()) return true;
    const StorageToken& t = r_.tokens[i];
    for (std::size_t k = 0; k < t.pools.size(); ++k) {
      const StoragePool& pool = r_.pools[t.pools[k]];
      const std::uint64_t step = std::max(t.align, pool.granule);
      for (std::uint64_t at = t.at.value_or(0); at <= t.at.value_or(high_); at += step) {
        const std::uint64_t end = at + (t.size + pool.granule - 1) / pool.granule * pool.granule;
        if (end > pool.capacity.value_or(UINT64_MAX)) break;
        ++looked_;
        slots_[i] = {t.pools[k], at};
        if (!free(i)) continue;
        Key next = so_far;
        next[0] += t.cost[k];
        next[1 + t.pools[k]] = std::max(next[1 + t.pools[k]], end);
        if (place(i + 1, next)) return true;
      }
    }
    return false;
  }
  bool free(std::size_t i) const {
    for (std::size_t k = 0; k < i; ++k)
      if (slots_[k].pool == slots_[i].pool && !joined(i, k) && !joined(k, i) && overlap(i, k))
        return false;
    return true;
  }
  bool joined(std::size_t a, std::size_t b) const {
    return std::any_of(r_.joins.begin(), r_.joins.end(), [&](const TokenJoin& j) {
      return j.a == a && j.b == b && slots_[b].offset == slots_[a].offset + j.delta;
    });
  }
  bool overlap(std::size_t i, std::size_t k) const {
    const StorageToken &a = r_.tokens[i], &b = r_.tokens[k];
    const TokenPart all_a{a.first, a.end, 0, a.size}, all_b{b.first, b.end, 0, b.size};
    using Parts = std::span<const TokenPart>;
    for (const TokenPart& x : a.parts.empty() ? Parts(&all_a, 1) : Parts(a.parts))
      for (const TokenPart& y : b.parts.empty() ? Parts(&all_b, 1) : Parts(b.parts))
        if (x.first < y.end && y.first < x.end &&
            slots_[i].offset + x.lo < slots_[k].offset + y.hi &&
            slots_[k].offset + y.lo < slots_[i].offset + x.hi)
          return true;
    return false;
  }

  const StorageRequest& r_;
  std::vector<Slot> slots_;
  std::uint64_t high_ = 0, looked_ = 0;
  std::vector<std::uint64_t> rest_;  // least cost of the tokens from i on
  Key than_{UINT64_MAX, UINT64_MAX, UINT64_MAX};
};

std::string picture(const StorageRequest& r) { return to_json(r); }

int cases() {
  const char* n = std::getenv("TENON_EXACT_CASES");
  return n ? std::atoi(n) : 5000;
}

}  // namespace

TEST_CASE("storage exact: no plan is better, and nothing that fits is missed") {
  Rng rng(2024);
  int solved = 0, infeasible = 0, refused = 0, unknown = 0;
  const PlannerRef exact = load_planner("exact");
  for (int k = 0; k < cases(); ++k) {
    const auto r = prepare_request(tiny_request(rng));
    if (!r) {
      ++refused;
      continue;
    }
    const auto s = solve(*r, exact, settings());
    if (!s) {
      REQUIRE_MESSAGE(first_code(s.errors()) == 4302, text(s.status()) << picture(*r));
      const auto exists = BruteForce(*r).exists({});
      REQUIRE_MESSAGE(!exists.value_or(false), picture(*r));
      ++(exists ? infeasible : unknown);
      continue;
    }
    REQUIRE_MESSAGE(s->messages.empty(), text(s->messages) << picture(*r));
    REQUIRE(judge_plan(*r, s->plan));
    REQUIRE_MESSAGE(s->plan.optimal, picture(*r));
    const auto exists = BruteForce(*r).exists(rank_of(s->plan));
    REQUIRE_MESSAGE(!exists.value_or(false), picture(*r) << to_json(s->plan, *r));
    ++(exists ? solved : unknown);
  }
  MESSAGE(solved << " optimal, " << infeasible << " infeasible, " << refused << " refused, "
                 << unknown << " too large to know");
  CHECK(solved > cases() / 2);
  CHECK(unknown < cases() / 20);
  CHECK(infeasible > cases() / 200);
}

/// One pool, odd sizes and alignments, and now and then a pin: often the optimum is above max-live.
StorageRequest misaligned_request(Rng& rng, std::uint32_t n, std::uint32_t steps) {
  StorageRequest r;
  r.pools.push_back({.id = "p0", .granule = 1});
  for (std::uint32_t i = 0; i < n; ++i) {
    StorageToken t{.name = fmt::format("t{}", i),
                   .size = 1 + rng.below(24),
                   .align = 1ull << rng.below(5),
                   .pools = {0}};
    t.first = static_cast<std::uint32_t>(rng.below(steps));
    t.end = t.first + 1 + static_cast<std::uint32_t>(rng.below(std::min(steps - t.first, 4u)));
    if (rng.chance(5)) t.at = rng.below(4) * t.align;
    r.tokens.push_back(std::move(t));
  }
  r.steps.resize(steps);
  return r;
}

/// Of random requests whose optimum is above the bound, `count`: one byte less is proved
/// infeasible.
void check_refutations(std::uint32_t least, std::uint32_t most, std::uint32_t steps, int count,
                       Rng& rng) {
  const PlannerRef exact = load_planner("exact");
  int found = 0, tried = 0, open = 0;
  while (found < count && tried < 40 * count) {
    ++tried;
    const auto n = static_cast<std::uint32_t>(least + rng.below(most - least + 1));
    auto r = prepare_request(misaligned_request(rng, n, steps));
    if (!r) continue;
    SolveSettings limited = settings();
    limited.work = 5'000'000;
    const auto s = solve(*r, exact, limited);
    REQUIRE_MESSAGE(s, text(s.status()));
    const PoolUse& use = s->plan.pools[0];
    open += !s->plan.optimal;
    if (!s->plan.optimal || use.peak == use.bound) continue;
    ++found;
    r->pools[0].capacity = use.peak;
    const auto at = solve(*r, exact, settings());
    REQUIRE(at);
    REQUIRE(at->plan.pools[0].peak == use.peak);
    r->pools[0].capacity = use.peak - 1;
    if (!check_request(*r)) continue;
    const auto below = solve(*r, exact, settings());
    REQUIRE(!below);
    REQUIRE_MESSAGE(first_code(below.errors()) == 4302, text(below.status()));
  }
  MESSAGE(found << " refuted of " << tried << ", " << open << " not proved within the work");
  CHECK(found == count);
}

TEST_CASE("storage exact: without a capacity everything fits, above the highest pin if it must") {
  for (const std::uint32_t n_pools : {1u, 2u}) {
    StorageRequest r;
    r.pools = {{.id = "p0", .granule = 2}, {.id = "p1", .granule = 2}};
    r.pools.resize(n_pools);
    r.steps.resize(1);
    r.tokens = {{.name = "below", .size = 36, .align = 4, .first = 0, .end = 1, .pools = {0}},
                {.name = "pinned", .size = 14, .at = 32, .first = 0, .end = 1, .pools = {0}}};
    for (StorageToken& t : r.tokens) t.cost = {1};
    const auto ready = prepare_request(r);
    REQUIRE_MESSAGE(ready, text(ready.status()));
    const auto solved = solve(*ready, load_planner("exact"), settings());
    REQUIRE_MESSAGE(solved, text(solved.status()));
    CHECK(solved->plan.optimal);
    CHECK(solved->plan.pools[0].peak == 84);
  }
}

TEST_CASE("storage exact: what is above the bound is proved, one byte less is infeasible") {
  Rng rng(99);
  check_refutations(4, 12, 4, 500, rng);
  check_refutations(30, 40, 36, 20, rng);
}

TEST_CASE("storage exact: the same plan for every run, thread and permutation") {
  Rng rng(5);
  const PlannerRef exact = load_planner("exact");
  SolveSettings limited = settings();
  limited.work = 2'000'000;
  for (int k = 0; k < 40; ++k) {
    const StorageRequest raw =
        random_request(rng, {.tokens = 30, .pools = 1 + static_cast<std::uint32_t>(k % 2)});
    const auto r = prepare_request(raw), other = prepare_request(shuffled(rng, raw));
    if (!r) continue;
    REQUIRE(other);
    std::vector<std::string> seen(4);
    const auto plan = [&](const StorageRequest& q) {
      const auto s = solve(q, exact, limited);
      return s ? to_json(s->plan, q) : text(s.status());
    };
    std::thread a([&] { seen[0] = plan(*r); }), b([&] { seen[1] = plan(*r); });
    seen[2] = plan(*r);
    seen[3] = plan(*other);
    a.join();
    b.join();
    for (const std::string& x : seen) REQUIRE(x == seen[0]);
  }
}

TEST_CASE("storage auto: greedy, then exact; either may be missing") {
  const auto with = [](const StorageRequest& r, const std::vector<std::string>& there) {
    SolveSettings s;
    s.work = 3'000'000;
    s.find = [there](std::string_view id) -> std::optional<PlannerRef> {
      for (const std::string& name : there)
        if (id == "tenon." + name) return load_planner(name);
      return std::nullopt;
    };
    return solve(r, load_planner("auto"), s);
  };
  Rng rng(17);
  int better = 0, infeasible = 0;
  for (int k = 0; k < 400; ++k) {
    const auto r = prepare_request(tiny_request(rng));
    if (!r) continue;
    const auto all = with(*r, {"naive", "greedy", "exact"}), quick = with(*r, {"greedy"}),
               slow = with(*r, {"exact"}), none = with(*r, {});
    REQUIRE(!none);
    CHECK(first_code(none.errors()) == 4301);
    REQUIRE(bool(all) == bool(slow));
    if (!all) {
      CHECK(first_code(all.errors()) == 4302);
      CHECK(!quick);
      ++infeasible;
      continue;
    }
    CHECK(all->messages.empty());
    CHECK(all->plan.optimal);
    CHECK(slow->plan.optimal);
    CHECK(compare(rank_of(all->plan), rank_of(slow->plan)) == 0);
    if (!quick) continue;
    CHECK(compare(rank_of(all->plan), rank_of(quick->plan)) <= 0);
    better += compare(rank_of(all->plan), rank_of(quick->plan)) < 0;
  }
  CHECK(better > 10);
  CHECK(infeasible > 3);
}

TEST_CASE("storage exact, auto: a request without tokens has the empty plan") {
  for (const std::string planner : {"exact", "auto"})
    for (const std::size_t n_pools : {1u, 2u}) {
      StorageRequest r;
      for (std::size_t p = 0; p < n_pools; ++p) r.pools.push_back({.id = fmt::format("p{}", p)});
      SolveSettings s = settings();
      s.find = [](std::string_view id) -> std::optional<PlannerRef> {
        if (!id.starts_with("tenon.") || id == "tenon.search" || id == "tenon.tiered") return {};
        return load_planner(std::string(id.substr(6)));
      };
      const auto prepared = prepare_request(std::move(r));
      REQUIRE(prepared);
      const auto plan = solve(*prepared, load_planner(planner), s);
      REQUIRE_MESSAGE(plan, text(plan.status()));
      CHECK(plan->plan.optimal);
      CHECK(plan->messages.empty());
    }
}

TEST_CASE("storage exact: the hard instances fit their capacity, with every seed") {
  const char* shared = std::getenv("TENON_SHARED");
  const std::string dir =
      std::string(shared ? shared : TENON_SOURCE_DIR "/../shared") + "/planning/";
  const PlannerRef exact = load_planner("exact");
  for (const char name : std::string("ABCDEFGHIJK")) {
    auto csv = DiskFiles().read(dir + name + ".1048576.csv");
    if (!csv) continue;  // the instances do not come with the sources
    const std::uint64_t capacity = name == 'C' ? 1039360 : 1048576;
    const auto file =
        load_request(*csv, "hard.csv", StorageFormat::csv, {{.id = "p", .capacity = capacity}});
    REQUIRE_MESSAGE(file, text(file.status()));
    for (const char* seed : {"0", "1", "2"}) {
      SolveSettings one = settings();
      one.options = {{"goal", "fit"}, {"seed", seed}};
      const auto s = solve(file->request, exact, one);
      REQUIRE_MESSAGE(s, name << " seed " << seed << text(s.status()));
      CHECK(s->plan.pools[0].peak <= capacity);
    }
  }
}

}  // namespace tenon::test
