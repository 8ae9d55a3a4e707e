// What is refused before any planner is called: one test per law, naming value and numbers.
#include <doctest/doctest.h>

#include "core/storage/request.h"
#include "tests/support/storage_fixture.h"

namespace tenon::test {
namespace {

int code(const StorageRequest& r) { return first_code(check_request(r).errors()); }
bool says(const StorageRequest& r, std::string_view what) {
  return text(check_request(r)).find(what) != std::string::npos;
}

/// A sound request with one thing changed.
template <class F>
int with(F change) {
  StorageRequest r = request({{"a", 0, 2, 16}, {"b", 1, 4, 32}}, 100);
  r.pools.push_back({.id = "p1", .capacity = 64});
  REQUIRE(code(r) == 0);
  change(r);
  return code(r);
}

}  // namespace

TEST_CASE("storage request: malformed requests are refused by name (F30)") {
  CHECK(with([](auto& r) { r.pools.clear(); }) == 4109);
  CHECK(with([](auto& r) { r.pools[1].id = "p0"; }) == 4107);
  CHECK(with([](auto& r) { r.pools[1].granule = 0; }) == 4108);
  CHECK(with([](auto& r) { r.pools[1].granule = 24; }) == 4108);
  CHECK(with([](auto& r) { r.tokens[0].align = 0; }) == 4108);
  CHECK(with([](auto& r) { r.tokens[0].align = 6; }) == 4108);
  CHECK(with([](auto& r) { r.tokens[0].name = "b"; }) == 4107);
  CHECK(with([](auto& r) { r.tokens[0].name = ""; }) == 4107);
  CHECK(with([](auto& r) { r.tokens[0].pools.clear(); }) == 4101);
  CHECK(with([](auto& r) { r.tokens[0].pools = {0, 0}; }) == 4107);
  CHECK(with([](auto& r) { r.tokens[0].pools = {2}; }) == 4109);
  CHECK(with([](auto& r) { r.tokens[0].cost = {1, 2, 3}; }) == 4109);
  CHECK(with([](auto& r) { r.tokens[0].first = 3; }) == 4110);
  CHECK(with([](auto& r) { r.tokens[0].end = 5; }) == 4110);
  CHECK(with([](auto& r) { r.tokens[0].first = r.tokens[0].end = UINT32_MAX; }) == 4110);
  CHECK(with([](auto& r) {
          r.tokens[0].pools = {0, 1};
          r.tokens[0].at = 0;
        }) == 4111);
  CHECK(with([](auto& r) { r.tokens[0].parts = {{0, 2, 0, 17}}; }) == 4112);
  CHECK(with([](auto& r) { r.tokens[0].parts = {{0, 3, 0, 16}}; }) == 4112);
  CHECK(with([](auto& r) { r.tokens[0].parts = {{1, 1, 0, 16}}; }) == 4112);
  CHECK(with([](auto& r) { r.tokens[0].size = 101; }) == 4115);
  CHECK(with([](auto& r) {
          r.pools[0].granule = 64;
          r.tokens[1].size = 65;
        }) == 4115);
  CHECK(with([](auto& r) { r.pools[0].capacity = 0; }) ==
        4115);  // a pool of 0 bytes is switched off
}

TEST_CASE("storage request: every address of a pool is a number of 64 bits") {
  const auto at = [](std::uint64_t base, std::optional<std::uint64_t> capacity) {
    StorageRequest r = request({{"a", 0, 2, 16}}, capacity);
    r.pools[0].base = base;
    return r;
  };
  CHECK(code(at(UINT64_MAX - 64, 64)) == 0);
  CHECK(code(at(UINT64_MAX - 63, 64)) == 4114);
  CHECK(code(at(UINT64_MAX, 64)) == 4114);
  CHECK(code(at(0, {})) == 0);
  CHECK(code(at(1ull << 62, {})) == 0);
  CHECK(code(at(UINT64_MAX - 64, {})) == 4114);
  CHECK(says(at(UINT64_MAX - 15, 64), "pool 'p0': 64 bytes from address 18446744073709551600"));
}

TEST_CASE("storage request: pins (F19, F20, F21)") {
  CHECK(code(request({{"p", 0, 2, 40, 1, 0}, {"q", 1, 3, 40, 1, 20}})) == 4102);
  CHECK(says(request({{"p", 0, 2, 40, 1, 0}, {"q", 1, 3, 40, 1, 20}}),
             "'p' is pinned to [0, 40) and 'q' to [20, 60) of pool 'p0'; both live in step 1"));
  CHECK(code(request({{"p", 0, 2, 40, 1, 0}, {"q", 2, 3, 40, 1, 20}})) == 0);
  CHECK(code(request({{"p", 0, 2, 16, 16, 8}})) == 4103);
  CHECK(says(request({{"p", 0, 2, 16, 16, 8}}),
             "'p': pinned to offset 8 of pool 'p0', which is no multiple of 16"));
  CHECK(code(request({{"p", 0, 2, 40, 1, 80}}, 100)) == 4104);
  CHECK(code(request({{"p", 0, 2, 40, 1, UINT64_MAX - 8}})) == 4104);
  CHECK(code(request({{"p", 0, 2, 40, 1, 60}}, 100)) == 0);
}

TEST_CASE("storage request: joins only onto storage that dies there") {
  const auto joined = [](std::uint32_t a_end, std::uint32_t b_first, auto change) {
    StorageRequest r = request({{"a", 1, a_end, 16}, {"b", b_first, 6, 16}});
    r.tokens[0].members.push_back({.name = "a", .size = 16});
    r.joins.push_back({0, 1, 0});
    change(r);
    return code(r);
  };
  const auto nothing = [](StorageRequest&) {};
  CHECK(joined(4, 3, nothing) == 0);
  CHECK(joined(5, 3, nothing) == 4113);  // still read
  CHECK(joined(3, 3, nothing) == 4113);  // already dead
  CHECK(joined(2, 1, nothing) == 4113);  // made by the same step
  CHECK(joined(4, 3, [](auto& r) { r.tokens[0].at = 0; }) == 4113);
  CHECK(joined(4, 3, [](auto& r) { r.tokens[0].members[0].role = Role::constant; }) == 4113);
  CHECK(joined(4, 3, [](auto& r) { r.tokens[0].members[0].role = Role::state; }) == 4113);
  CHECK(joined(4, 3, [](auto& r) { r.joins[0].b = 2; }) == 4109);
  CHECK(joined(4, 3, [](auto& r) { r.joins[0].b = 0; }) == 4109);
}

TEST_CASE("storage request: sums are 64-bit and checked (F27)") {
  CHECK(code(request({{"a", 0, 2, 3000000000}, {"b", 0, 2, 3000000000}})) == 0);
  CHECK(code(request({{"a", 0, 2, 1ull << 62}, {"b", 2, 4, 1ull << 62}})) == 4106);
  CHECK(code(request({{"a", 0, 2, UINT64_MAX}})) == 4106);
  CHECK(code(request({{"a", 0, 2, 1, 1ull << 63}})) == 4106);
}

TEST_CASE("storage request: too much at once is refused with all that is needed to act") {
  StorageRequest r =
      request({{"A", 0, 3, 60}, {"B", 1, 2, 30}, {"C", 1, 3, 20}, {"D", 3, 4, 100}}, 100);
  r.steps[1] = "conv1";
  CHECK(code(r) == 4105);
  CHECK(says(
      r, "pool 'p0': 110 bytes must be there in step 1 (conv1), capacity 100: 10 bytes too many"));
  CHECK(says(r, "live: 'A', 60 bytes, steps [0, 3)"));
  CHECK_FALSE(says(r, "'D', 100"));
  SUBCASE("several pools together") {
    r.pools.push_back({.id = "p1", .capacity = 5});
    for (StorageToken& t : r.tokens) t.pools = {0, 1};
    CHECK(says(r,
               "pools 'p0' and 'p1': 110 bytes must be there in step 1 (conv1), capacity 105: 5 "
               "bytes too many"));
    r.pools[1].capacity = 10;
    CHECK(code(r) == 0);
  }
  SUBCASE("what a join saves is not counted") {
    r = request({{"a", 0, 3, 60}, {"b", 2, 4, 60}}, 100);
    CHECK(code(r) == 4105);
    r.joins.push_back({0, 1, 0});
    CHECK(code(r) == 0);
  }
  SUBCASE("parts that overlap are not counted twice") {
    r = request({{"a", 0, 3, 100}}, 100);
    r.tokens[0].parts = {{0, 3, 0, 100}, {1, 2, 20, 90}};
    CHECK(code(r) == 0);
  }
}

TEST_CASE("storage request: canonical form") {
  StorageRequest r =
      request({{"z", 1, 2, 0}, {"late", 2, 3, 8}, {"empty", 4, 4, 8}, {"first", 0, 2, 8}});
  r.joins.push_back({3, 0, 0});
  std::vector<std::uint32_t> where;
  const auto c = prepare_request(r, &where);
  REQUIRE(c);
  CHECK(is_canonical(*c));
  CHECK_FALSE(is_canonical(r));
  CHECK(where == std::vector<std::uint32_t>{kNoToken, 1, 2, 0});
  CHECK(c->joins.empty());
  CHECK(c->tokens[2].end == 5);
  CHECK(c->steps.size() == 5);
  SUBCASE("parts become disjoint and whole ones go") {
    r = request({{"a", 0, 4, 10}, {"b", 0, 4, 10}});
    r.tokens[0].parts = {{0, 3, 0, 6}, {1, 4, 4, 10}};
    r.tokens[1].parts = {{0, 2, 0, 10}, {2, 4, 0, 10}};
    const auto d = prepare_request(r);
    REQUIRE(d);
    CHECK(d->tokens[0].parts == std::vector<TokenPart>{});
    CHECK(d->tokens[1].parts == std::vector<TokenPart>{{0, 1, 0, 6}, {1, 3, 0, 10}, {3, 4, 4, 10}});
  }
}

TEST_CASE("storage request: every field of a request is in its hash") {
  StorageRequest r = request({{"a", 0, 3, 16}, {"b", 2, 4, 16}});
  r.tokens[0].members.push_back({.id = 1, .name = "v", .size = 16});
  r.tokens[0].parts = {{0, 2, 0, 16}};
  r.joins.push_back({0, 1, 0});
  const std::string hash = request_hash(r);
  CHECK(hash.size() == 64);
  const auto differs = [&](auto change) {
    StorageRequest x = r;
    change(x);
    return request_hash(x) != hash;
  };
  CHECK(differs([](auto& x) { x.pools[0].id = "q"; }));
  CHECK(differs([](auto& x) { x.pools[0].capacity = 0; }));
  CHECK(differs([](auto& x) { x.pools[0].granule = 2; }));
  CHECK(differs([](auto& x) { x.pools[0].base = 0; }));
  CHECK(differs([](auto& x) { x.pools[0].access["cpu"] = Access::read; }));
  CHECK(differs([](auto& x) { x.pools[0].holds = {Holds::constants}; }));
  CHECK(differs([](auto& x) { x.pools[0].image = "flash"; }));
  CHECK(differs([](auto& x) { x.pools[0].read_cost = 1; }));
  CHECK(differs([](auto& x) { x.pools[0].write_cost = 1; }));
  CHECK(differs([](auto& x) { x.pools.push_back({.id = "p1"}); }));
  CHECK(differs([](auto& x) { x.steps.emplace_back(); }));
  CHECK(differs([](auto& x) { x.tokens[0].name = "c"; }));
  CHECK(differs([](auto& x) { x.tokens[0].size = 17; }));
  CHECK(differs([](auto& x) { x.tokens[0].align = 2; }));
  CHECK(differs([](auto& x) { x.tokens[0].at = 0; }));
  CHECK(differs([](auto& x) { x.tokens[1].end = 3; }));
  CHECK(differs([](auto& x) { x.tokens[1].first = 1; }));
  CHECK(differs([](auto& x) { x.tokens[0].cost = {3}; }));
  CHECK(differs([](auto& x) { x.tokens[0].parts.clear(); }));
  CHECK(differs([](auto& x) { x.tokens[0].members[0].id = 2; }));
  CHECK(differs([](auto& x) { x.tokens[0].members[0].offset = 2; }));
  CHECK(differs([](auto& x) { x.tokens[0].members[0].role = Role::input; }));
  CHECK(differs([](auto& x) { x.joins[0].delta = 1; }));
  CHECK(differs([](auto& x) { x.joins.clear(); }));
  CHECK_FALSE(differs([](auto& x) { x.steps[0] = "renamed"; }));
  CHECK_FALSE(differs([](auto& x) { x.tokens[0].members[0].value = 9; }));
}

TEST_CASE("storage request: the ranking") {
  const Rank a{true, 5, {10, 20}}, b{true, 5, {11, 1}}, c{true, 6, {1, 1}}, none{false, 0, {}};
  CHECK(compare(a, b) < 0);
  CHECK(compare(b, c) < 0);
  CHECK(compare(c, none) < 0);
  CHECK(compare(a, a) == 0);
}

TEST_CASE("storage request: bounds never exceed what the best of many layouts needs") {
  Rng rng(5);
  for (int k = 0; k < 500; ++k) {
    const auto r = prepare_request(
        random_request(rng, {.tokens = 5, .steps = 5, .pools = 1, .size = 20, .caps = false}));
    if (!r) continue;
    const auto s = solve(*r, load_planner("greedy"), settings());
    REQUIRE(s);
    REQUIRE(s->plan.pools[0].bound <= s->plan.pools[0].peak);
    REQUIRE((!s->plan.optimal || s->plan.pools[0].bound == s->plan.pools[0].peak));
  }
}

}  // namespace tenon::test
