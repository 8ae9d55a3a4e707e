// The shipped planners, through the door that every planner uses: their exported symbol and
// solve().
#include <doctest/doctest.h>

#include "core/storage/judge.h"
#include "tests/support/pairwise_judge.h"
#include "tests/support/storage_fixture.h"

namespace tenon::test {
namespace {

StorageRequest prepared(StorageRequest r) {
  auto p = prepare_request(std::move(r));
  REQUIRE_MESSAGE(p, text(p.status()));
  return *p;
}

Result<Solved> run(const StorageRequest& r, const std::string& planner) {
  return solve(r, load_planner(planner), settings());
}

std::uint64_t peak(const StorageRequest& r, const std::string& planner) {
  auto s = run(r, planner);
  REQUIRE_MESSAGE(s, text(s.status()));
  CHECK(judge_plan(r, s->plan));
  return s->plan.pools[0].peak;
}

Slot slot_of(const StorageRequest& r, const StoragePlan& p, const std::string& id) {
  for (std::size_t i = 0; i < r.tokens.size(); ++i)
    if (r.tokens[i].name == id) return p.slots[i];
  FAIL("no token " << id);
  return {};
}

}  // namespace

TEST_CASE("storage planners: 10000 random requests are solved right by both") {
  Rng rng(7);
  int solved = 0, refused = 0, no_fit = 0, shared = 0, below = 0;
  for (int k = 0; k < 10000; ++k) {
    const RequestShape shape{.tokens = 3 + static_cast<std::uint32_t>(rng.below(20)),
                             .pools = 1 + static_cast<std::uint32_t>(k % 3)};
    auto r = prepare_request(random_request(rng, shape));
    if (!r) {
      ++refused;
      continue;
    }
    const auto naive = run(*r, "naive"), greedy = run(*r, "greedy");
    for (const auto* s : {&naive, &greedy}) {
      if (!*s) {
        REQUIRE_MESSAGE(first_code(s->errors()) == 4301, text(s->status()));
        ++no_fit;
        continue;
      }
      REQUIRE_MESSAGE((*s)->messages.empty(), text((*s)->messages));
      const Status judged = judge_plan(*r, (*s)->plan);
      REQUIRE_MESSAGE(judged, text(judged));
      REQUIRE(pairwise_slots(*r, (*s)->plan.slots));
      for (std::size_t p = 0; p < r->pools.size(); ++p)
        REQUIRE((*s)->plan.pools[p].peak >= (*s)->plan.pools[p].bound);
      ++solved;
    }
    if (naive) {
      REQUIRE(greedy);  // what fits without sharing fits with it
      REQUIRE(compare(rank_of(greedy->plan), rank_of(naive->plan)) <= 0);
      below += compare(rank_of(greedy->plan), rank_of(naive->plan)) < 0;
    }
    shared += greedy && !naive;
  }
  MESSAGE(solved << " solved, " << refused << " refused, " << no_fit << " no fit, " << below
                 << " below naive, " << shared << " fit only by sharing");
  CHECK(solved > 9000);
  CHECK(below > 2000);
  CHECK(shared > 50);
}

TEST_CASE(
    "storage planners: the same plan for every permutation, every run, and longer elements (F24)") {
  Rng rng(11);
  for (int k = 0; k < 300; ++k) {
    const StorageRequest raw = random_request(rng, {.tokens = 20, .pools = 3});
    const auto r = prepare_request(raw);
    if (!r) continue;
    const auto other = prepare_request(shuffled(rng, raw));
    REQUIRE(other);
    REQUIRE(request_hash(*r) == request_hash(*other));
    REQUIRE(request_hash(raw) == request_hash(*r));
    for (const std::string planner : {"naive", "greedy"}) {
      const auto a = run(*r, planner), b = run(*other, planner), c = run(*r, planner);
      REQUIRE(bool(a) == bool(b));
      if (!a) continue;
      for (std::size_t i = 0; i < r->tokens.size(); ++i) {
        REQUIRE(r->tokens[i].name == other->tokens[i].name);
        REQUIRE(a->plan.slots[i] == b->plan.slots[i]);
        REQUIRE(a->plan.slots[i] == c->plan.slots[i]);
      }
    }
  }
}

TEST_CASE("storage planners: faults seen in planners in use") {
  SUBCASE("over capacity is refused whatever the order (F01)") {
    std::vector<Token> tokens{{"A", 0, 3, 60}, {"B", 0, 3, 30}, {"C", 0, 3, 20}};
    Status s;
    for (int order = 0; order < 6; ++order) {
      std::ranges::next_permutation(tokens, {}, &Token::id);
      s = check_request(request(tokens, 100));
      CHECK(first_code(s.errors()) == 4105);
    }
    CHECK(text(s).find("110 bytes must be there in step 0, capacity 100: 10 bytes too many") !=
          std::string::npos);
    CHECK(text(s).find("'A', 60 bytes") != std::string::npos);
  }
  SUBCASE("a neighbour's alignment is kept (F02)") {
    const auto r = prepared(request({{"A", 0, 2, 33, 1}, {"B", 0, 2, 16, 16}}));
    const auto s = run(r, "greedy");
    CHECK(slot_of(r, s->plan, "B").offset % 16 == 0);
    CHECK(peak(r, "greedy") <= peak(r, "naive"));
    CHECK(peak(r, "exact") == 49);
  }
  SUBCASE("a hole below is used (F03)") {
    CHECK(peak(prepared(request({{"A", 0, 2, 40}, {"B", 1, 4, 40}, {"D", 3, 5, 30}}, 80)),
               "greedy") == 80);
  }
  SUBCASE("an empty lifetime is one step (F12)") {
    const auto r = prepared(request({{"dead", 1, 1, 64}, {"y", 1, 3, 64}}));
    CHECK(peak(r, "greedy") == 128);
  }
  SUBCASE("a pin is placed before what could take its bytes (F18)") {
    const auto r = prepared(request({{"big", 0, 3, 60}, {"pin", 1, 2, 40, 1, 0}}, 100));
    const auto s = run(r, "greedy");
    REQUIRE(s);
    CHECK(slot_of(r, s->plan, "pin").offset == 0);
    CHECK(slot_of(r, s->plan, "big").offset == 40);
  }
  SUBCASE("feasible at the bound although the first order fails (F23)") {
    CHECK(peak(prepared(request({{"b1", 0, 3, 4},
                                 {"b2", 3, 9, 4},
                                 {"b3", 0, 9, 4},
                                 {"b4", 9, 21, 4},
                                 {"b5", 0, 21, 4}},
                                12)),
               "greedy") == 12);
  }
  SUBCASE("sizes past 32 bits (F27)") {
    CHECK(peak(prepared(request({{"a", 0, 2, 3000000000}, {"b", 0, 2, 3000000000}})), "greedy") ==
          6000000000);
  }
  SUBCASE("half-open: the end of one is free for the next (F34)") {
    CHECK(peak(prepared(request({{"a", 0, 3, 8}, {"b", 3, 5, 8}})), "greedy") == 8);
    CHECK(peak(prepared(request({{"a", 0, 4, 8}, {"b", 3, 6, 8}})), "greedy") == 16);
  }
}

}  // namespace tenon::test
