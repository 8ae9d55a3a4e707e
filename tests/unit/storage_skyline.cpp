// The public planning headers (sdk/include/tenon/planning) against the obvious slow answers, and
// planners at scale.
#include <doctest/doctest.h>

#include <numeric>

#include "core/storage/judge.h"
#include "tenon/planning/dives.h"
#include "tests/support/planning_shapes.h"

namespace tenon::test {
namespace {

using planning::Span;

std::vector<Span> random_spans(Rng& rng, std::uint32_t n, std::uint32_t steps) {
  std::vector<Span> out;
  for (std::uint32_t i = 0; i < n; ++i) {
    const auto first = static_cast<std::uint32_t>(rng.below(steps));
    out.push_back(
        {first, first + 1 + static_cast<std::uint32_t>(rng.below(std::min(6u, steps - first)))});
  }
  return out;
}
bool meet(Span a, Span b) { return a.first < b.end && b.first < a.end; }

double over_bound(const StorageRequest& r, const std::string& planner) {
  const auto s = solve(r, load_planner(planner), settings());
  REQUIRE_MESSAGE(s, text(s.status()));
  REQUIRE(judge_plan(r, s->plan));
  return static_cast<double>(s->plan.pools[0].peak) / static_cast<double>(s->plan.pools[0].bound);
}

}  // namespace

TEST_CASE("planning: two intervals share a section exactly when they share a step") {
  Rng rng(1);
  for (int k = 0; k < 300; ++k) {
    const auto spans = random_spans(rng, 1 + static_cast<std::uint32_t>(rng.below(30)), 20);
    const auto sections = planning::cut_sections(spans);
    std::vector<std::uint64_t> sizes;
    for (std::size_t i = 0; i < spans.size(); ++i) sizes.push_back(1 + rng.below(9));
    for (std::size_t i = 0; i < spans.size(); ++i) {
      REQUIRE(sections.of[i].first < sections.of[i].end);
      REQUIRE(sections.of[i].end <= sections.count);
      for (std::size_t j = 0; j < i; ++j)
        REQUIRE(meet(spans[i], spans[j]) == meet(sections.of[i], sections.of[j]));
    }
    std::uint64_t most = 0;
    for (std::uint32_t step = 0; step < 20; ++step) {
      std::uint64_t live = 0;
      for (std::size_t i = 0; i < spans.size(); ++i)
        if (spans[i].first <= step && step < spans[i].end) live += sizes[i];
      most = std::max(most, live);
    }
    const auto loads = planning::section_loads(sections.of, sections.count, sizes);
    REQUIRE(*std::max_element(loads.begin(), loads.end()) == most);
  }
  CHECK(planning::cut_sections({}).count == 0);
}

TEST_CASE("planning: range maxima against an array") {
  Rng rng(2);
  for (std::size_t n = 1; n < 40; ++n) {
    std::vector<std::uint64_t> values(n);
    for (auto& v : values) v = rng.below(10);
    planning::RangeMax tree;
    tree.assign(values);
    for (int k = 0; k < 60; ++k) {
      const auto l = static_cast<std::uint32_t>(rng.below(n));
      const auto r = l + 1 + static_cast<std::uint32_t>(rng.below(n - l));
      for (std::uint32_t i = l; i < r; ++i) values[i] += static_cast<std::uint64_t>(k % 3);
      tree.add(l, r, static_cast<std::uint64_t>(k % 3));
      const auto a = static_cast<std::uint32_t>(rng.below(n));
      const auto b = a + 1 + static_cast<std::uint32_t>(rng.below(n - a));
      const auto best = std::max_element(values.begin() + a, values.begin() + b);
      REQUIRE(tree.max(a, b).value == *best);
      REQUIRE(tree.max(a, b).at == static_cast<std::uint32_t>(best - values.begin()));
      REQUIRE(tree.max().value == *std::max_element(values.begin(), values.end()));
    }
  }
}

TEST_CASE("planning: candidates against a scan") {
  Rng rng(3);
  for (int k = 0; k < 200; ++k) {
    const auto n = static_cast<std::uint32_t>(1 + rng.below(60));
    const auto spans = random_spans(rng, n, 12);
    std::vector<std::uint32_t> rank(n);
    std::iota(rank.begin(), rank.end(), 0u);
    for (std::uint32_t i = n; i > 1; --i) std::swap(rank[i - 1], rank[rng.below(i)]);
    planning::Candidates tree(spans);
    tree.reset(rank);
    std::vector<char> gone(n, 0);
    const auto accept = [](std::uint32_t i) { return i % 5 != 0; };
    for (std::uint32_t step = 0; step < n; ++step) {
      const auto l = static_cast<std::uint32_t>(rng.below(12));
      const auto r = l + 1 + static_cast<std::uint32_t>(rng.below(12 - l));
      const auto s = l + static_cast<std::uint32_t>(rng.below(r - l));
      std::uint32_t best = planning::kNone, last_end = l, first_begin = r;
      for (std::uint32_t i = 0; i < n; ++i) {
        if (gone[i] || !accept(i) || spans[i].first < l || spans[i].end > r) continue;
        last_end = std::max(last_end, spans[i].end);
        first_begin = std::min(first_begin, spans[i].first);
        if (spans[i].first <= s && s < spans[i].end &&
            (best == planning::kNone || rank[i] < rank[best]))
          best = i;
      }
      REQUIRE(tree.best(l, s, r, accept) == best);
      REQUIRE(tree.last_end(l, r, accept) == last_end);
      REQUIRE(tree.first_begin(l, r, accept) == first_begin);
      const auto dead = static_cast<std::uint32_t>(rng.below(n));
      if (!gone[dead]) tree.remove(dead);
      gone[dead] = 1;
    }
  }
}

TEST_CASE("planning: every dive keeps the rules, beside obstacles too") {
  Rng rng(4);
  for (int k = 0; k < 1000; ++k) {
    const auto spans = random_spans(rng, 1 + static_cast<std::uint32_t>(rng.below(25)), 12);
    std::vector<planning::Item> items;
    for (const Span& s : spans) items.push_back({s, 1 + rng.below(40), 1ull << rng.below(4)});
    std::vector<planning::Obstacle> pins;
    for (std::uint32_t i = 0; k % 2 == 1 && i < rng.below(6); ++i)
      pins.push_back({{2 * i, 2 * i + 2}, 16 * rng.below(6), 0});
    for (auto& p : pins) p.hi = p.lo + 1 + rng.below(40);
    planning::Skyline sky(items, pins);
    std::vector<std::uint32_t> order(items.size());
    std::iota(order.begin(), order.end(), 0u);
    for (std::size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[rng.below(i)]);
    const auto fill = rng.chance(50) ? planning::Fill::tightest : planning::Fill::leftmost;
    const auto never = [](std::uint64_t) { return false; };
    REQUIRE(sky.dive(order, TN_ANY, fill, never) == planning::Dive::complete);
    const auto& at = sky.offsets();
    std::uint64_t peak = 0;
    for (const auto& p : pins) peak = std::max(peak, p.hi);
    for (std::size_t i = 0; i < items.size(); ++i) {
      const std::uint64_t end = at[i] + items[i].size;
      peak = std::max(peak, end);
      REQUIRE(at[i] % items[i].align == 0);
      for (std::size_t j = 0; j < i; ++j)
        REQUIRE_FALSE(
            (meet(items[i].live, items[j].live) && at[i] < at[j] + items[j].size && at[j] < end));
      for (const auto& p : pins)
        REQUIRE_FALSE((meet(items[i].live, p.live) && at[i] < p.hi && p.lo < end));
    }
    REQUIRE(sky.peak() == peak);
    REQUIRE(peak >= sky.bound());
    if (pins.empty()) {  // one byte less is refused, and exactly the peak is not
      REQUIRE(sky.dive(order, peak - 1, fill, never) == planning::Dive::too_high);
      REQUIRE(sky.dive(order, peak, fill, never) == planning::Dive::complete);
    }
  }
}

TEST_CASE("planning: greedy at scale") {
  for (const bool at_once : {true, false})
    CHECK(over_bound(equal_tokens(100'001, at_once), "greedy") == 1.0);
  CHECK(over_bound(chain(60'000), "greedy") == 1.0);
  CHECK(over_bound(unet(60'000), "greedy") == 1.0);
  CHECK(over_bound(transformer(60'000), "greedy") == 1.0);
  CHECK(over_bound(wide(60'000), "greedy") <= 1.005);
  CHECK(over_bound(guillotine(60'000, 60'000, 1 << 30, 7), "greedy") < 1.25);
  CHECK(over_bound(guillotine(60'000, 1'000, 1 << 30, 8), "greedy") < 1.25);
}

TEST_CASE("planning: a plan is offered whatever the budget") {
  SolveSettings s = settings();
  s.work = 1;
  for (const std::string planner : {"naive", "greedy", "search", "tiered", "tokens"}) {
    const auto r = solve(chain(20'000), load_planner(planner), s);
    REQUIRE_MESSAGE(r, text(r.status()));
    CHECK(r->plan.reproducible);
  }
}

}  // namespace tenon::test
