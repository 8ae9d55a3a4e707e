// Requests of several models in one memory.
#include <doctest/doctest.h>

#include "core/storage/merge.h"
#include "core/storage/request.h"

namespace tenon {
namespace {

StorageToken token(std::string name, std::uint64_t size, std::uint32_t first, std::uint32_t end,
                   Role role = Role::activation) {
  return {.name = name,
          .size = size,
          .first = first,
          .end = end,
          .pools = {0},
          .cost = {0},
          .parts = {},
          .members = {{.name = name, .size = size, .live = {first, end}, .role = role}}};
}

StorageRequest model(std::uint64_t size) {
  StorageRequest r;
  r.pools = {{.id = "ram", .capacity = 4096}};
  r.steps = {"s0", "s1"};
  r.tokens = {token("x", size, 0, 2), token("y", size, 1, 2), token("w", 8, 0, 2, Role::constant)};
  r.tokens.push_back({.name = "reserved[0] boot",
                      .size = 16,
                      .at = 1024,
                      .first = 0,
                      .end = 2,
                      .pools = {0},
                      .cost = {0},
                      .parts = {},
                      .members = {}});
  r.joins = {{0, 1, 0}};
  return *prepare_request(std::move(r));
}

const StorageToken& of(const StorageRequest& r, std::string_view name) {
  for (const StorageToken& t : r.tokens)
    if (t.name == name) return t;
  FAIL("no token " << name);
  return r.tokens[0];
}

}  // namespace

TEST_CASE("storage merge: one after another appends the timelines; constants live throughout") {
  const auto r = merge_requests({{"a", model(100)}, {"b", model(200)}}, Merge::sequence);
  REQUIRE(r);
  CHECK(is_canonical(*r));
  CHECK(r->steps == std::vector<std::string>{"a/s0", "a/s1", "b/s0", "b/s1"});
  CHECK(of(*r, "a/y").first == 1);
  CHECK(of(*r, "b/x").first == 2);
  CHECK(of(*r, "b/y").end == 4);
  CHECK(of(*r, "a/w").end == 4);
  CHECK(of(*r, "b/w").first == 0);
  CHECK(r->tokens.size() == 7);  // what both reserve stands once
  CHECK(r->joins.size() == 2);
  // the larger model decides: what runs later takes the place of what ran before
  CHECK(pool_bounds(*r)[0] >= 200 + 2 * 8 + 16);
  CHECK(of(*r, "b/x").members[0].live == Lifetime{2, 4});
}

TEST_CASE("storage merge: together nothing is shared") {
  const auto r = merge_requests({{"a", model(100)}, {"b", model(200)}}, Merge::together);
  REQUIRE(r);
  for (const StorageToken& t : r->tokens) CHECK((t.first == 0 && t.end == 4));
  CHECK(r->joins.empty());
  CHECK(max_live(*r, std::vector<char>(r->tokens.size(), 1)).bytes == 2 * 300 + 2 * 8 + 16);
}

TEST_CASE("storage merge: names and pools must agree") {
  CHECK(merge_requests({}, Merge::sequence).errors()[0].code == 4431);
  CHECK(merge_requests({{"a", model(1)}, {"a", model(1)}}, Merge::sequence).errors()[0].code ==
        4431);
  const auto unnamed = merge_requests({{"a", model(1)}, {"", model(1)}}, Merge::sequence);
  REQUIRE(!unnamed);
  CHECK(unnamed.errors()[0].code == 4431);
  CHECK(unnamed.errors()[0].what == "model 2 has no name");
  StorageRequest other = model(1);
  other.pools[0].capacity = 8192;
  const auto r = merge_requests({{"a", model(1)}, {"b", other}}, Merge::sequence);
  REQUIRE(!r);
  CHECK(r.errors()[0].code == 4432);
  CHECK(r.errors()[0].what.find("8192 against 4096") != std::string::npos);
}

TEST_CASE("storage merge: what does not fit together is refused with names") {
  const auto r = merge_requests({{"a", model(3000)}, {"b", model(3000)}}, Merge::together);
  REQUIRE(!r);
  REQUIRE(!r.errors()[0].notes.empty());
  CHECK(r.errors()[0].notes[0].find("a/x") != std::string::npos);
}

}  // namespace tenon
