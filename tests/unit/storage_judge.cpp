// The judge: one planted fault per law, and agreement with the pairwise definition on 100000 small
// plans.
#include <doctest/doctest.h>

#include "core/storage/judge.h"
#include "core/storage/match.h"
#include "tests/support/pairwise_judge.h"
#include "tests/support/storage_fixture.h"

namespace tenon::test {
namespace {

using Kind = StorageRelation::Kind;
using Slots = std::vector<std::optional<Slot>>;

StorageValues values(const std::vector<Token>& list, std::optional<std::uint64_t> cap = {}) {
  StorageValues v;
  v.pools.push_back({.id = "p0", .capacity = cap});
  std::uint32_t end = 0;
  for (const Token& t : list) {
    v.values.push_back({.id = static_cast<std::uint32_t>(v.values.size()),
                        .name = t.id,
                        .size = t.size,
                        .align = t.align,
                        .live = {{t.lo, t.hi}},
                        .pools = {0},
                        .cost = {0},
                        .at = t.at});
    end = std::max(end, t.hi);
  }
  v.steps.resize(end);
  return v;
}

/// Every value a token of its own.
StorageRequest unfolded(const StorageValues& v) {
  StorageRequest r;
  r.pools = v.pools;
  r.steps = v.steps;
  for (std::uint32_t k = 0; k < v.values.size(); ++k) {
    const StorageValue& x = v.values[k];
    StorageToken t{.name = x.name,
                   .size = x.size,
                   .align = x.align,
                   .at = x.at,
                   .first = x.live.front().first,
                   .end = x.live.back().end,
                   .pools = x.pools,
                   .cost = x.cost};
    t.members.push_back(
        {.value = k, .id = x.id, .name = x.name, .size = x.size, .live = {t.first, t.end}});
    r.tokens.push_back(std::move(t));
  }
  return r;
}

int code(const StorageValues& v, const Slots& s) {
  REQUIRE(pairwise_values(v, s) == bool(judge_values(v, s)));
  return first_code(judge_values(v, s).errors());
}

/// Values with aliases, views, in-place pairs and lives in several pieces.
StorageValues random_values(Rng& rng) {
  StorageValues v;
  const auto n = static_cast<std::uint32_t>(2 + rng.below(6));
  v.steps.resize(8);
  for (std::uint32_t p = 0; p <= rng.below(2); ++p)
    v.pools.push_back({.id = fmt::format("p{}", p), .granule = 1ull << rng.below(3)});
  if (rng.chance(30)) v.pools[0].capacity = 16 + rng.below(32);
  if (rng.chance(20)) v.reserved.push_back({"p0", "test", 4 * rng.below(4), 4, {}});
  for (std::uint32_t i = 0; i < n; ++i) {
    StorageValue x{.id = i,
                   .name = fmt::format("v{}", i),
                   .size = 1 + rng.below(12),
                   .align = 1ull << rng.below(3)};
    const auto first = static_cast<std::uint32_t>(rng.below(6));
    x.live.push_back({first, first + 1 + static_cast<std::uint32_t>(rng.below(2))});
    if (rng.chance(25) && x.live[0].end < 7)
      x.live.push_back({x.live[0].end + static_cast<std::uint32_t>(rng.below(2)), 8});
    for (std::uint32_t p = 0; p < v.pools.size(); ++p)
      if (p == 0 || rng.chance(70)) x.pools.push_back(p);
    v.values.push_back(std::move(x));
  }
  for (std::uint32_t k = 0; k < rng.below(4); ++k) {
    const auto a = static_cast<std::uint32_t>(rng.below(n)),
               b = static_cast<std::uint32_t>(rng.below(n));
    if (a == b) continue;
    const Kind kind = rng.chance(60) ? Kind::inplace : rng.chance(50) ? Kind::same : Kind::inside;
    StorageRelation r{kind, a, b, kind == Kind::same ? 0 : 4 * rng.below(2)};
    if (kind == Kind::inplace && rng.chance(70)) {  // mostly as kernels declare them
      v.values[b].live.front() = {v.values[a].live.front().end - 1,
                                  v.values[a].live.front().end + 1};
      if (v.values[b].live.size() > 1) v.values[b].live.pop_back();
    }
    v.relations.push_back(r);
  }
  return v;
}

/// Mostly what relations ask for, else anywhere near.
Slots random_slots(Rng& rng, const StorageValues& v) {
  Slots s(v.values.size());
  for (auto& x : s)
    x = Slot{static_cast<std::uint32_t>(rng.below(v.pools.size())), 4 * rng.below(16)};
  if (rng.chance(90))
    for (int pass = 0; pass < 3; ++pass)
      for (const StorageRelation& r : v.relations)
        s[r.b] = Slot{s[r.a]->pool, s[r.a]->offset + r.delta};
  return s;
}

}  // namespace

TEST_CASE("storage judge: a planted fault per law, named") {
  auto v = values({{"a", 0, 2, 16, 8}, {"b", 1, 3, 16, 8}}, 64);
  CHECK(code(v, {Slot{0, 0}, Slot{0, 16}}) == 0);
  SUBCASE("no slot") { CHECK(code(v, {Slot{0, 0}, {}}) == 4001); }
  SUBCASE("pool out of range") { CHECK(code(v, {Slot{0, 0}, Slot{7, 16}}) == 4002); }
  SUBCASE("pool not allowed") {
    v.pools.push_back({.id = "p1"});
    CHECK(code(v, {Slot{0, 0}, Slot{1, 16}}) == 4002);
  }
  SUBCASE("misaligned") { CHECK(code(v, {Slot{0, 0}, Slot{0, 20}}) == 4003); }
  SUBCASE("granule") {
    v.pools[0].granule = 32;
    CHECK(code(v, {Slot{0, 0}, Slot{0, 16}}) == 4003);
    CHECK(code(v, {Slot{0, 0}, Slot{0, 32}}) == 0);
  }
  SUBCASE("past the end, also by rounding and by wrapping") {
    CHECK(code(v, {Slot{0, 0}, Slot{0, 56}}) == 4004);
    CHECK(first_code(judge_values(v, Slots{Slot{0, 0}, Slot{0, UINT64_MAX - 7}}).errors()) == 4004);
    v.pools[0] = {.id = "p0", .capacity = 40, .granule = 16};
    CHECK(code(v, {Slot{0, 0}, Slot{0, 32}}) == 4004);
  }
  SUBCASE("pin") {
    v.values[1].at = 32;
    CHECK(code(v, {Slot{0, 0}, Slot{0, 16}}) == 4005);
    CHECK(code(v, {Slot{0, 0}, Slot{0, 32}}) == 0);
  }
  SUBCASE("overlap names both, pool, step and numbers") {
    const Status s = judge_values(v, Slots{Slot{0, 0}, Slot{0, 8}});
    CHECK(first_code(s.errors()) == 4006);
    CHECK(s.errors()[0].what ==
          "'a' at [0, 16) and 'b' at [8, 24) of pool 'p0' share bytes in step 1");
  }
  SUBCASE("reserved") {
    v.reserved.push_back({"p0", "vectors", 40, 8, {}});
    CHECK(code(v, {Slot{0, 0}, Slot{0, 32}}) == 4009);
    CHECK(code(v, {Slot{0, 0}, Slot{0, 16}}) == 0);
  }
}

TEST_CASE("storage judge: aliases, views and in-place pairs") {
  SUBCASE("alias exact, and what it keeps alive") {
    auto v = values({{"src", 0, 1, 64}, {"left", 1, 3, 64}, {"right", 1, 3, 64}});
    v.relations.push_back({Kind::same, 0, 1, 0});
    CHECK(code(v, {Slot{0, 0}, Slot{0, 0}, Slot{0, 64}}) == 0);
    CHECK(code(v, {Slot{0, 0}, Slot{0, 64}, Slot{0, 0}}) == 4007);
    CHECK(code(v, {Slot{0, 0}, Slot{0, 0}, Slot{0, 0}}) == 4006);
  }
  SUBCASE("chain of aliases") {
    auto v = values({{"r", 0, 1, 64}, {"v1", 1, 2, 64}, {"v2", 2, 4, 64}, {"x", 2, 3, 64}});
    v.relations = {{Kind::same, 0, 1, 0}, {Kind::same, 1, 2, 0}};
    CHECK(code(v, {Slot{0, 0}, Slot{0, 0}, Slot{0, 0}, Slot{0, 0}}) == 4006);
    CHECK(code(v, {Slot{0, 0}, Slot{0, 0}, Slot{0, 0}, Slot{0, 64}}) == 0);
  }
  SUBCASE("view inside its base") {
    auto v = values({{"base", 0, 2, 64}, {"view", 2, 5, 32}, {"y", 3, 4, 64}});
    v.relations.push_back({Kind::inside, 0, 1, 32});
    CHECK(code(v, {Slot{0, 0}, Slot{0, 32}, Slot{0, 64}}) == 0);
    CHECK(code(v, {Slot{0, 0}, Slot{0, 16}, Slot{0, 64}}) == 4008);
    CHECK(code(v, {Slot{0, 0}, Slot{0, 32}, Slot{0, 0}}) == 4006);  // the view still lives there
    v.relations[0].delta = 48;
    CHECK(code(v, {Slot{0, 0}, Slot{0, 48}, Slot{0, 80}}) == 4008);  // it sticks out
  }
  SUBCASE("in place: only at the exact offset, in the step that takes over, by a declared pair") {
    auto v = values({{"a", 0, 3, 16}, {"b", 2, 4, 16}});
    CHECK(code(v, {Slot{0, 0}, Slot{0, 0}}) == 4006);
    v.relations.push_back({Kind::inplace, 0, 1, 0});
    CHECK(code(v, {Slot{0, 0}, Slot{0, 0}}) == 0);
    CHECK(code(v, {Slot{0, 0}, Slot{0, 8}}) == 4010);
    v.values[0].live = {{0, 4}};  // still read
    CHECK(code(v, {Slot{0, 0}, Slot{0, 0}}) == 4010);
    v.values[0].live = {{2, 3}};  // made by the same step
    CHECK(code(v, {Slot{0, 0}, Slot{0, 0}}) == 4010);
  }
  SUBCASE("in place while a view of the operand lives") {
    auto v = values({{"a", 0, 3, 16}, {"b", 2, 4, 16}, {"view", 1, 3, 8}});
    v.relations = {{Kind::inplace, 0, 1, 0}, {Kind::inside, 0, 2, 8}};
    CHECK(code(v, {Slot{0, 0}, Slot{0, 0}, Slot{0, 8}}) == 4006);
    v.values[2].live = {{1, 2}};
    CHECK(code(v, {Slot{0, 0}, Slot{0, 0}, Slot{0, 8}}) == 0);
  }
  SUBCASE("two results in one operand's place") {
    auto v = values({{"a", 0, 3, 16}, {"b", 2, 4, 16}, {"c", 2, 4, 16}});
    v.relations = {{Kind::inplace, 0, 1, 0}, {Kind::inplace, 0, 2, 0}};
    CHECK(code(v, {Slot{0, 0}, Slot{0, 0}, Slot{0, 0}}) == 4006);
  }
  SUBCASE("a byte range that only the second neighbour covers") {
    auto v = values({{"big", 0, 3, 100}, {"small", 0, 1, 10}, {"c", 1, 2, 10}, {"late", 2, 3, 10}});
    v.relations.push_back({Kind::inside, 0, 1, 0});
    CHECK(code(v, {Slot{0, 0}, Slot{0, 0}, Slot{0, 100}, Slot{0, 50}}) == 4006);
  }
  SUBCASE("arms of an if may share") {
    auto v = values({{"then", 1, 2, 8}, {"else", 2, 3, 8}, {"x", 0, 1, 8}});
    v.values[2].live = {{0, 1}, {2, 3}};  // not needed in the first arm
    CHECK(code(v, {Slot{0, 0}, Slot{0, 0}, Slot{0, 8}}) == 0);
    CHECK(code(v, {Slot{0, 0}, Slot{0, 8}, Slot{0, 0}}) == 0);
    CHECK(code(v, {Slot{0, 8}, Slot{0, 0}, Slot{0, 0}}) == 4006);
  }
}

TEST_CASE("storage judge: agrees with the pairwise definition on 100000 plans") {
  Rng rng(3);
  int good = 0, bad = 0;
  for (int k = 0; k < 73000; ++k) {
    const StorageValues v = random_values(rng);
    const Slots s = random_slots(rng, v);
    const bool right = pairwise_values(v, s);
    const Status judged = judge_values(v, s);
    REQUIRE_MESSAGE(right == bool(judged), "plan " << k << ": " << text(judged));
    ++(right ? good : bad);
  }
  for (int k = 0; k < 30000; ++k) {
    const auto r = prepare_request(random_request(rng, {.tokens = 6, .steps = 6, .size = 12}));
    if (!r) continue;
    std::vector<Slot> s;
    for (const StorageToken& t : r->tokens)
      s.push_back(
          {t.pools[rng.below(t.pools.size())], rng.chance(15) ? rng.below(64) : 8 * rng.below(12)});
    for (std::size_t i = 0; i < s.size(); ++i)
      if (r->tokens[i].at) s[i].offset = *r->tokens[i].at;
    for (const TokenJoin& j : r->joins)
      if (rng.chance(60)) s[j.b] = {s[j.a].pool, s[j.a].offset + j.delta};
    const bool right = pairwise_slots(*r, s);
    const Status judged = judge_slots(*r, s);
    REQUIRE_MESSAGE(right == bool(judged), "request " << k << ": " << text(judged));
    ++(right ? good : bad);
  }
  MESSAGE(good << " good, " << bad << " bad");
  CHECK(good > 5000);
  CHECK(bad > 5000);
}

TEST_CASE("storage judge: a plan must tell the truth about itself") {
  const auto r = prepare_request(request({{"a", 0, 2, 16}, {"b", 1, 3, 16}}));
  REQUIRE(r);
  auto s = solve(*r, load_planner("greedy"), settings());
  REQUIRE(s);
  const StoragePlan& good = s->plan;
  CHECK(judge_plan(*r, good));
  const auto broken = [&](auto change) {
    StoragePlan p = good;
    change(p);
    return first_code(judge_plan(*r, p).errors());
  };
  CHECK(broken([](StoragePlan& p) { p.request_hash[0] ^= 1; }) == 4012);
  CHECK(broken([](StoragePlan& p) { p.pools[0].peak += 1; }) == 4011);
  CHECK(broken([](StoragePlan& p) { p.pools[0].peak -= 1; }) == 4011);
  CHECK(broken([](StoragePlan& p) { p.pools[0].bound = 1000; }) == 4011);
  CHECK(broken([](StoragePlan& p) { p.pools[0].bound = 0; }) == 0);  // a weaker claim is true
  StoragePlan loose = good;  // with room between bound and peak
  loose.slots[1].offset += 64;
  measure(*r, loose);
  CHECK(judge_plan(*r, loose));
  loose.pools[0].bound += 1;
  const Status more = judge_plan(*r, loose);
  CHECK(first_code(more.errors()) == 4011);
  CHECK(text(more).find("needs 33 bytes at least; 32 are proved") != std::string::npos);
  CHECK(broken([](StoragePlan& p) { p.pools.clear(); }) == 4011);
  CHECK(broken([](StoragePlan& p) { p.cost = 5; }) == 4011);
  CHECK(broken([](StoragePlan& p) { p.slots.pop_back(); }) == 4001);
  StorageRequest other = *r;
  other.tokens[0].size = 15;
  CHECK(first_code(judge_plan(other, good).errors()) == 4012);
}

TEST_CASE("storage judge: a request is held against its values") {
  auto v = values({{"a", 0, 3, 16, 4}, {"b", 2, 4, 16, 4}, {"c", 3, 5, 8, 4}});
  v.relations = {{Kind::inplace, 0, 1, 0}};
  StorageRequest r = unfolded(v);
  r.joins.push_back({0, 1, 0});
  REQUIRE(check_request_against_values(v, r));
  const auto broken = [&](auto change) {
    StorageRequest x = r;
    change(x);
    return first_code(check_request_against_values(v, x).errors());
  };
  CHECK(broken([](auto& x) { x.tokens[2].members.clear(); }) == 4021);
  CHECK(broken([](auto& x) { x.tokens[2].members.push_back(x.tokens[1].members[0]); }) != 0);
  CHECK(broken([](auto& x) { x.tokens[1].members.push_back(x.tokens[2].members[0]); }) == 4022);
  CHECK(broken([](auto& x) { x.tokens[2].members[0].size = 7; }) == 4023);
  CHECK(broken([](auto& x) { x.tokens[2].size = 4; }) == 4023);
  CHECK(broken([](auto& x) { x.tokens[2].align = 2; }) == 4024);
  CHECK(broken([](auto& x) { x.tokens[2].end = 4; }) == 4025);
  CHECK(broken([](auto& x) { x.tokens[2].parts = {{3, 4, 0, 8}, {4, 5, 0, 4}}; }) == 4025);
  CHECK(broken([](auto& x) {
          x.tokens[2].parts = {{3, 4, 0, 8}, {4, 5, 0, 4}, {4, 5, 4, 8}};
        }) == 0);
  CHECK(broken([](auto& x) { x.tokens[2].at = 64; }) == 4027);
  CHECK(broken([](auto& x) { x.joins.push_back({1, 2, 0}); }) == 4029);
  CHECK(broken([](auto& x) { x.joins[0].delta = 4; }) == 4029);
  v.pools.push_back({.id = "p1"});
  CHECK(broken([](auto& x) { x.tokens[2].pools = {1}; }) == 4026);
  v.values[2].at = 64;
  CHECK(broken([](auto&) {}) == 4027);
  v.values[2].at.reset();
  v.relations.push_back({Kind::inside, 0, 2, 4});
  CHECK(broken([](auto&) {}) == 4028);
  v.relations.pop_back();
  v.reserved.push_back({"p0", "vectors", 0, 4, {}});
  CHECK(broken([](auto&) {}) == 4030);
}

}  // namespace tenon::test
