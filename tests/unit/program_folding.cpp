// From values to tokens, on values written by hand.
#include <doctest/doctest.h>

#include "core/storage/folding.h"
#include "tests/support/storage_fixture.h"

namespace tenon::test {
namespace {

using Kind = StorageRelation::Kind;

struct V {
  std::string name;
  std::uint64_t size = 64;
  std::vector<Lifetime> live = {{0, 1}};
  std::uint64_t align = 1;
  std::optional<std::uint64_t> at = {};
  std::vector<std::uint32_t> pools = {0};
};

StorageValues values(const std::vector<V>& rows, std::vector<StorageRelation> relations = {},
                     std::uint32_t steps = 6) {
  StorageValues out;
  out.pools = {{.id = "p0"}, {.id = "p1"}};
  out.steps.resize(steps);
  for (const V& r : rows) {
    out.values.push_back({.id = static_cast<std::uint32_t>(out.values.size()),
                          .name = r.name,
                          .size = r.size,
                          .align = r.align,
                          .live = r.live,
                          .pools = r.pools,
                          .cost = std::vector<std::uint64_t>(r.pools.size(), 1),
                          .at = r.at});
  }
  out.relations = std::move(relations);
  return out;
}

StorageRequest good(const StorageValues& v) {
  auto r = fold(v);
  REQUIRE_MESSAGE(r, text(r.status()));
  return *r;
}

const StorageToken& token(const StorageRequest& r, const std::string& member) {
  for (const StorageToken& t : r.tokens) {
    for (const TokenMember& m : t.members) {
      if (m.name == member) return t;
    }
  }
  FAIL("no token with ", member);
  return r.tokens[0];
}

void refused(const StorageValues& v, int code, const std::vector<std::string>& names) {
  auto r = fold(v);
  REQUIRE_FALSE(r);
  const std::string said = text(r.status());
  CHECK_MESSAGE(r.errors()[0].code == code, said);
  for (const std::string& n : names)
    CHECK_MESSAGE(said.find(n) != std::string::npos, said, " / ", n);
}

}  // namespace

TEST_CASE("folding: an alias chain is one token, live until the last alias dies (F04, F05)") {
  const StorageRequest r =
      good(values({{"r"}, {"v1", 64, {{1, 2}}, 16}, {"v2", 32, {{2, 4}}, 32}, {"x", 64, {{2, 3}}}},
                  {{Kind::same, 0, 1}, {Kind::inside, 1, 2, 32}}));
  REQUIRE(r.tokens.size() == 2);
  const StorageToken& t = token(r, "v2");
  CHECK(&t == &token(r, "r"));
  CHECK(t.name == "r");
  CHECK(t.size == 64);
  CHECK(t.align == 32);
  CHECK(t.first == 0);
  CHECK(t.end == 4);
  CHECK(t.members.size() == 3);
  CHECK(t.cost == std::vector<std::uint64_t>{3});
}

TEST_CASE("folding: a view of the base lives on after an in-place step (F07)") {
  const StorageRequest r =
      good(values({{"base", 64, {{0, 2}}}, {"view", 32, {{2, 5}}}, {"y", 64, {{1, 4}}}},
                  {{Kind::inside, 0, 1, 32}, {Kind::inplace, 0, 2}}));
  CHECK(token(r, "base").end == 5);
  CHECK(r.joins.empty());  // the token does not die in the step that makes y
}

TEST_CASE("folding: in-place pairs become joins at the member's offset") {
  const StorageRequest r =
      good(values({{"base", 64, {{0, 2}}}, {"view", 32, {{1, 3}}}, {"y", 32, {{2, 4}}}},
                  {{Kind::inside, 0, 1, 32}, {Kind::inplace, 1, 2}}));
  REQUIRE(r.joins.size() == 1);
  CHECK(r.tokens[r.joins[0].a].name == "base");
  CHECK(r.tokens[r.joins[0].b].name == "y");
  CHECK(r.joins[0].delta == 32);
}

TEST_CASE("folding: no join onto what is pinned, or read by others in that step") {
  CHECK(good(values({{"a", 64, {{0, 2}}, 1, 0}, {"b", 64, {{1, 3}}}}, {{Kind::inplace, 0, 1}}))
            .joins.empty());
  const auto with_reader =
      values({{"a", 64, {{0, 2}}}, {"alias", 64, {{0, 2}}}, {"b", 64, {{1, 3}}}},
             {{Kind::same, 0, 1}, {Kind::inplace, 0, 2}});
  CHECK(good(with_reader).joins.empty());
  StorageValues constant =
      values({{"a", 64, {{0, 2}}}, {"b", 64, {{1, 3}}}}, {{Kind::inplace, 0, 1}});
  CHECK(good(constant).joins.size() == 1);
  constant.values[0].role = Role::constant;
  CHECK(good(constant).joins.empty());
}

TEST_CASE("folding: members that live apart leave holes, in time and in bytes") {
  const StorageRequest r =
      good(values({{"whole", 64, {{0, 1}}}, {"low", 16, {{1, 2}}}, {"high", 16, {{3, 5}}}},
                  {{Kind::inside, 0, 1, 0}, {Kind::inside, 0, 2, 48}}));
  CHECK(r.tokens[0].parts == std::vector<TokenPart>{{0, 1, 0, 64}, {1, 2, 0, 16}, {3, 5, 48, 64}});
}

TEST_CASE("folding: exclusive lifetimes are parts of one token (F08)") {
  const StorageRequest r = good(values({{"r", 8, {{4, 6}}}, {"t", 8, {{1, 2}}}, {"e", 8, {{3, 4}}}},
                                       {{Kind::same, 0, 1}, {Kind::same, 0, 2}}));
  REQUIRE(r.tokens.size() == 1);
  CHECK(r.tokens[0].parts == std::vector<TokenPart>{{1, 2, 0, 8}, {3, 6, 0, 8}});
}

TEST_CASE("folding: sizes of 0 and empty lifetimes (F12, F28)") {
  const StorageRequest r =
      good(values({{"z", 0}, {"a", 8, {{0, 2}}}, {"dead", 64, {{1, 1}}}, {"last", 4, {{6, 6}}}}));
  CHECK(r.tokens.size() == 3);
  CHECK(token(r, "dead").end == 2);
  CHECK(token(r, "last").end == 7);
  CHECK(r.steps.size() == 7);
}

TEST_CASE(
    "folding: one pin, moved to the base; pools are what all members allow, in the order of the "
    "base") {
  const StorageRequest r =
      good(values({{"a", 64, {{0, 1}}, 1, {}, {1, 0}}, {"v", 16, {{0, 2}}, 16, 48, {0}}},
                  {{Kind::inside, 0, 1, 32}}));
  CHECK(r.tokens[0].at == 16u);
  CHECK(r.tokens[0].pools == std::vector<std::uint32_t>{0});
  const StorageRequest both =
      good(values({{"a", 64, {{0, 1}}, 1, {}, {1, 0}}, {"v", 16, {{0, 2}}, 1, {}, {0, 1}}},
                  {{Kind::inside, 0, 1, 32}}));
  CHECK(both.tokens[0].pools == std::vector<std::uint32_t>{1, 0});
}

TEST_CASE("folding: contradictions name both values") {
  refused(values({{"a"}, {"b"}, {"c"}}, {{Kind::inside, 0, 1, 0},
                                         {Kind::same, 1, 2},
                                         {Kind::same, 0, 2},
                                         {Kind::inside, 0, 1, 0},
                                         {Kind::inside, 2, 1, 4}}),
          4222, {"b", "c"});
  refused(values({{"a"}, {"b", 8}, {"c", 8}},
                 {{Kind::inside, 0, 1, 8}, {Kind::inside, 0, 2, 16}, {Kind::same, 1, 2}}),
          4221, {"b", "c"});
  refused(values({{"a"}, {"b", 60}}, {{Kind::inside, 0, 1, 8}}), 4222,
          {"`b` (60 bytes at offset 8)", "`a` (64 bytes)"});
  refused(values({{"a"}, {"b", 32}}, {{Kind::same, 0, 1}}), 4222, {"a", "b"});
  refused(values({{"a"}, {"b", 8, {{0, 1}}, 16}}, {{Kind::inside, 0, 1, 8}}), 4223,
          {"`b` needs alignment 16", "offset 8 of `a`"});
  refused(values({{"a", 64, {{0, 1}}, 1, {}, {0}}, {"b", 8, {{0, 1}}, 1, {}, {1}}},
                 {{Kind::inside, 0, 1, 8}}),
          4224, {"`a`", "`b`", "p0", "p1"});
  refused(values({{"a", 64, {{0, 1}}, 1, 0}, {"b", 8, {{0, 1}}, 1, 16}}, {{Kind::inside, 0, 1, 8}}),
          4225, {"`a`", "`b`", "at 0 and at 8"});
  refused(values({{"a"}, {"b", 8, {{0, 1}}, 1, 4}}, {{Kind::inside, 0, 1, 8}}), 4225,
          {"`a`", "`b`", "4 bytes before"});
  refused(values({{"a", UINT64_MAX}}), 4226, {"a"});
  refused(values({{"a", 8, {{0, 1}}, 3}}), 4227, {"a", "3"});
  refused(values({{"a", 8, {{0, 1}}, 1, {}, {}}}), 4227, {"a"});
  refused(values({{"a", 8, {{0, 1}}, 1, {}, {7}}}), 4227, {"a", "7"});
  refused(values({{"a", 8, {{0, 99}}}}), 4227, {"a", "99"});
  refused(values({{"a"}}, {{Kind::same, 0, 5}}), 4227, {"5"});
}

TEST_CASE("folding: the order of values does not matter") {
  Rng rng(3);
  const StorageValues v = values(
      {{"a"}, {"b", 32, {{1, 3}}}, {"c", 64, {{2, 4}}}, {"d", 64, {{3, 5}}}, {"e", 16, {{0, 6}}}},
      {{Kind::inside, 0, 1, 32}, {Kind::inplace, 2, 3}, {Kind::inside, 2, 4, 0}});
  const std::string hash = request_hash(good(v));
  for (int k = 0; k < 20; ++k) {
    std::vector<std::uint32_t> to(v.values.size());
    for (std::uint32_t i = 0; i < to.size(); ++i) to[i] = i;
    for (std::size_t i = to.size(); i > 1; --i) std::swap(to[i - 1], to[rng.below(i)]);
    StorageValues w = v;
    for (std::uint32_t i = 0; i < to.size(); ++i) w.values[to[i]] = v.values[i];
    for (StorageRelation& r : w.relations) r = {r.kind, to[r.a], to[r.b], r.delta};
    CHECK(request_hash(good(w)) == hash);
  }
}

TEST_CASE("folding: 100 000 views of one value are one token, at once") {
  std::vector<V> rows{{"base", 64}};
  std::vector<StorageRelation> relations;
  for (std::uint32_t i = 1; i <= 100000; ++i) {
    rows.push_back({fmt::format("v{}", i), 64, {{i % 5, i % 5 + 1}}});
    relations.push_back({Kind::same, i - 1, i});
  }
  const StorageRequest r = good(values(rows, relations));
  REQUIRE(r.tokens.size() == 1);
  CHECK(r.tokens[0].parts.empty());
  CHECK(r.tokens[0].end == 5);
}

}  // namespace tenon::test
