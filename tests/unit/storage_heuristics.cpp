// Every planner that ships, on random requests and on small ones that have misled planners; and
// what each of the heuristic ones promises beyond that.
#include <doctest/doctest.h>

#include <cstdlib>
#include <fstream>
#include <set>
#include <thread>

#include "core/storage/judge.h"
#include "tests/support/pairwise_judge.h"
#include "tests/support/planning_shapes.h"
#include "tests/support/storage_fixture.h"

namespace tenon::test {
namespace {

using Options = std::map<std::string, std::string>;

StorageRequest prepared(StorageRequest r) {
  auto p = prepare_request(std::move(r));
  REQUIRE_MESSAGE(p, text(p.status()));
  return *p;
}

Result<Solved> run(const StorageRequest& r, const std::string& planner, std::uint64_t work,
                   const Options& options = {}) {
  SolveSettings s = settings();
  s.work = work;
  s.options = options;
  return solve(r, load_planner(planner), s);
}

/// All but `file`, which decides nothing.
std::vector<std::string> deciding_planners() {
  std::vector<std::string> out = shipped_planners();
  std::erase(out, "file");
  return out;
}

/// How many random requests each planner gets; the nightly run sets more.
int request_count() {
  const char* text = std::getenv("TENON_TEST_REQUESTS");
  return text ? std::atoi(text) : 1500;
}

// A plan that keeps every rule, or an honest no.
void require_right(const StorageRequest& r, const Result<Solved>& s) {
  if (!s) {
    const std::set<int> honest = {4301, 4302, 4303};
    REQUIRE_MESSAGE(honest.contains(first_code(s.errors())), text(s.status()));
    return;
  }
  REQUIRE_MESSAGE(s->messages.empty(), text(s->messages));
  const Status judged = judge_plan(r, s->plan);
  REQUIRE_MESSAGE(judged, text(judged));
  REQUIRE(pairwise_slots(r, s->plan.slots));
}

void require_same(const Result<Solved>& a, const Result<Solved>& b) {
  REQUIRE(bool(a) == bool(b));
  if (a) REQUIRE(a->plan.slots == b->plan.slots);
  if (!a) REQUIRE(first_code(a.errors()) == first_code(b.errors()));
}

bool better(const StoragePlan& a, const StoragePlan& b) {
  return compare(rank_of(a), rank_of(b)) < 0;
}

Slot slot_of(const StorageRequest& r, const StoragePlan& p, const std::string& name) {
  for (std::size_t i = 0; i < r.tokens.size(); ++i)
    if (r.tokens[i].name == name) return p.slots[i];
  FAIL("no token " << name);
  return {};
}

/// The places of tokens in order, numbered as they first occur.
std::vector<int> storage_ids(const StorageRequest& r, const StoragePlan& p,
                             const std::vector<std::string>& tokens) {
  std::vector<Slot> seen;
  std::vector<int> out;
  for (const std::string& name : tokens) {
    const Slot s = slot_of(r, p, name);
    const auto at = std::find(seen.begin(), seen.end(), s);
    out.push_back(static_cast<int>(at - seen.begin()) + 1);
    if (at == seen.end()) seen.push_back(s);
  }
  return out;
}

struct TemporaryFile {
  explicit TemporaryFile(const std::string& text)
      : path((std::filesystem::temp_directory_path() /
              fmt::format("tenon-placements-{}", reinterpret_cast<std::uintptr_t>(this)))
                 .string()) {
    std::ofstream(path, std::ios::binary) << text;
  }
  ~TemporaryFile() { std::filesystem::remove(path); }
  std::string path;
};

}  // namespace

TEST_CASE(
    "storage planners: all are right on random requests, the same twice, and agree on claims") {
  Rng rng(101);
  const auto planners = deciding_planners();
  int solved = 0, refused = 0;
  for (int k = 0; k < request_count(); ++k) {
    const RequestShape shape{.tokens = 3 + static_cast<std::uint32_t>(rng.below(20)),
                             .pools = 1 + static_cast<std::uint32_t>(k % 3)};
    const auto r = prepare_request(random_request(rng, shape));
    if (!r) {
      ++refused;
      continue;
    }
    std::vector<Result<Solved>> first, second;
    std::thread other([&] {
      for (const auto& p : planners) second.push_back(run(*r, p, 60'000));
    });
    for (const auto& p : planners) first.push_back(run(*r, p, 60'000));
    other.join();
    for (std::size_t i = 0; i < planners.size(); ++i) {
      INFO("planner " << planners[i] << ", request " << k << "\n" << to_json(*r));
      require_right(*r, first[i]);
      require_same(first[i], second[i]);
      if (!first[i]) continue;
      ++solved;
      for (std::size_t j = 0; j < planners.size(); ++j) {
        INFO("against " << planners[j]);
        if (first[j] && first[j]->plan.optimal) REQUIRE(!better(first[i]->plan, first[j]->plan));
        if (!first[j]) REQUIRE(first_code(first[j].errors()) != 4302);
        if (planners[j] == "search" || planners[j] == "tiered")
          if (planners[i] == "greedy") {
            REQUIRE(first[j]);
            REQUIRE(!better(first[i]->plan, first[j]->plan));
          }
      }
    }
  }
  MESSAGE(solved << " plans of " << planners.size() << " planners, " << refused << " refused");
  CHECK(solved > request_count() * 3);
}

TEST_CASE("storage planners: twenty runs give the same bytes") {
  Rng rng(102);
  for (const auto& p : deciding_planners())
    for (int k = 0; k < 5; ++k) {
      const auto r = prepare_request(random_request(rng, {.tokens = 40, .pools = 3}));
      if (!r) continue;
      const auto once = run(*r, p, 100'000);
      for (int again = 0; again < 19; ++again) require_same(once, run(*r, p, 100'000));
    }
}

TEST_CASE("storage planners: kinds of small requests that mislead planners") {
  for (const auto& p : deciding_planners()) {
    INFO("planner " << p);
    const auto plan = [&](const StorageRequest& r) {
      auto s = run(r, p, 1'000'000);
      require_right(r, s);
      return s;
    };
    const bool shares = p != "naive";
    {  // the larger alignment of a neighbour, in both orders of size
      const auto r = prepared(request({{"A", 0, 2, 33, 1}, {"B", 0, 2, 16, 16}}));
      CHECK(slot_of(r, plan(r)->plan, "B").offset % 16 == 0);
      const auto s = prepared(request({{"A", 0, 2, 3, 1}, {"B", 0, 2, 48, 16}, {"C", 0, 2, 5, 8}}));
      CHECK(slot_of(s, plan(s)->plan, "C").offset % 8 == 0);
    }
    {  // a hole under a token that lives on
      const auto s =
          plan(prepared(request({{"A", 0, 2, 40}, {"B", 1, 4, 40}, {"D", 3, 5, 30}}, 80)));
      CHECK(bool(s) == shares);
    }
    {  // a pin in the way of a larger token, at the bottom and in the middle
      const auto r = prepared(request({{"big", 0, 3, 60}, {"pin", 1, 2, 40, 1, 0}}, 100));
      CHECK(slot_of(r, plan(r)->plan, "big").offset == 40);
      const auto m =
          prepared(request({{"low", 0, 3, 30}, {"high", 0, 3, 40}, {"pin", 1, 2, 20, 1, 40}}, 110));
      CHECK(slot_of(m, plan(m)->plan, "pin").offset == 40);
    }
    {  // at the bound although the first order fails; tokens never share between sizes that differ
      const auto s = plan(prepared(request(
          {{"b1", 0, 3, 4}, {"b2", 3, 9, 4}, {"b3", 0, 9, 4}, {"b4", 9, 21, 4}, {"b5", 0, 21, 4}},
          12)));
      CHECK(bool(s) == shares);
    }
    {  // sizes past 32 bits; half-open lives; equal tokens
      CHECK(plan(prepared(request({{"a", 0, 2, 3000000000}, {"b", 0, 2, 3000000000}})))
                ->plan.pools[0]
                .peak == 6000000000);
      const auto touch = plan(prepared(request({{"a", 0, 3, 8}, {"b", 3, 5, 8}})));
      CHECK(touch->plan.pools[0].peak == (shares ? 8 : 16));
      CHECK(plan(prepared(request({{"a", 0, 2, 8}, {"b", 0, 2, 8}, {"c", 0, 2, 8}})))
                ->plan.pools[0]
                .peak == 24);
    }
    CHECK(plan(prepared(request({})))->plan.slots.empty());
  }
}

TEST_CASE("planner tokens: storages as the classic scheme numbers them") {
  // x is the caller's (0); a reshape is no token of its own, so a stands for both.
  const auto ids = [](const std::vector<Token>& tokens, const std::vector<std::string>& names) {
    const auto r = prepared(request(tokens));
    const auto s = run(r, "tokens", kDefaultWork);
    require_right(r, s);
    return storage_ids(r, s->plan, names);
  };
  using Ids = std::vector<int>;
  // x -> a -> reshape(a) -> b; c = f(b) ; d = g(c, a)
  CHECK(ids({{"a", 0, 5, 64}, {"b", 2, 4, 64}, {"c", 3, 5, 64}, {"d", 4, 6, 64}},
            {"a", "a", "b", "c", "d"}) == Ids{1, 1, 2, 3, 2});
  // a chain cycles through two
  CHECK(ids({{"a", 0, 2, 64}, {"b", 1, 3, 64}, {"c", 2, 4, 64}, {"d", 3, 5, 64}},
            {"a", "b", "c", "d"}) == Ids{1, 2, 1, 2});
  // sizes further apart than 16 times do not match
  CHECK(ids({{"a", 0, 1, 64}, {"b", 1, 2, 1024}}, {"a", "b"}) == Ids{1, 1});
  CHECK(ids({{"a", 0, 1, 64}, {"b", 1, 2, 1088}}, {"a", "b"}) == Ids{1, 2});
  CHECK(ids({{"a", 0, 1, 1024}, {"b", 1, 2, 64}}, {"a", "b"}) == Ids{1, 1});
  CHECK(ids({{"a", 0, 1, 1025}, {"b", 1, 2, 64}}, {"a", "b"}) == Ids{1, 2});
  // the smallest that is large enough before the largest that is not
  CHECK(ids({{"a", 0, 1, 100}, {"b", 0, 1, 70}, {"c", 0, 1, 60}, {"d", 1, 2, 64}},
            {"a", "b", "c", "d"}) == Ids{1, 2, 3, 2});
  CHECK(ids({{"b", 0, 1, 50}, {"c", 0, 1, 60}, {"d", 1, 2, 64}}, {"c", "b", "d"}) == Ids{1, 2, 1});
}

TEST_CASE("planner search: better with more work, and by its seed alone") {
  const StorageRequest r = guillotine(150, 60, 100'000, 9);
  std::uint64_t before = UINT64_MAX;
  for (const std::uint64_t work : {100'000u, 1'000'000u, 20'000'000u}) {
    const auto s = run(r, "search", work);
    require_right(r, s);
    CHECK(s->plan.pools[0].peak <= before);
    before = s->plan.pools[0].peak;
  }
  const auto greedy = run(r, "greedy", kDefaultWork);
  CHECK(before < greedy->plan.pools[0].peak);
  CHECK(before <= 104'000);
  const auto seed = [&](const char* s) { return run(r, "search", 500'000, {{"seed", s}}); };
  require_same(seed("7"), seed("7"));
}

TEST_CASE("planner tiered: what pays most lives in the fast pool") {
  // 100 bytes are fast; b and c together gain more there than a, though a gains most per byte.
  StorageRequest r = request({{"a", 0, 4, 80}, {"b", 0, 4, 50}, {"c", 0, 4, 50}}, 100);
  r.pools.push_back({.id = "slow"});
  const std::uint64_t loss[] = {100, 60, 60};
  for (std::size_t i = 0; i < 3; ++i) {
    r.tokens[i].pools = {0, 1};
    r.tokens[i].cost = {0, loss[i]};
  }
  const StorageRequest q = prepared(r);
  const auto s = run(q, "tiered", kDefaultWork);
  require_right(q, s);
  CHECK(s->plan.cost == 100);
  CHECK(slot_of(q, s->plan, "a").pool == 1);

  Rng rng(103);
  std::uint64_t greedy_cost = 0, tiered_cost = 0;
  for (int k = 0; k < 40; ++k) {
    StorageRequest wide = request({}, 0);
    wide.pools.push_back({.id = "slow"});
    std::uint64_t sum = 0;
    for (std::uint32_t i = 0; i < 80; ++i) {
      const auto first = static_cast<std::uint32_t>(rng.below(40));
      const std::uint64_t size = 16 * (1 + rng.below(64));
      wide.tokens.push_back({.name = std::to_string(i),
                             .size = size,
                             .align = 16,
                             .first = first,
                             .end = first + 1 + static_cast<std::uint32_t>(rng.below(8)),
                             .pools = {0, 1},
                             .cost = {size, size * (2 + rng.below(8))}});
      sum += size;
    }
    wide.steps.resize(50);
    wide.pools[0].capacity = sum / 20;
    std::erase_if(wide.tokens, [&](const auto& t) { return t.size > sum / 20; });
    const StorageRequest w = prepared(wide);
    const auto a = run(w, "greedy", kDefaultWork), b = run(w, "tiered", kDefaultWork);
    require_right(w, a);
    require_right(w, b);
    greedy_cost += a->plan.cost;
    tiered_cost += b->plan.cost;
  }
  MESSAGE("cost of greedy " << greedy_cost << ", of tiered " << tiered_cost);
  CHECK(tiered_cost < greedy_cost);
}

TEST_CASE("planner file: a frozen plan, and one made by hand") {
  StorageRequest raw = request({{"a", 0, 2, 8}, {"b", 1, 3, 8}, {"pin", 0, 3, 8, 1, 32}});
  raw.pools.push_back({.id = "p1"});
  raw.tokens[0].pools = {0, 1};
  const StorageRequest r = prepared(raw);
  const auto from = [&](const std::string& text) {
    const TemporaryFile f(text);
    return run(r, "file", kDefaultWork, {{"path", f.path}});
  };
  const auto greedy = run(r, "greedy", kDefaultWork);
  const auto frozen = from(to_json(greedy->plan, r));
  require_right(r, frozen);
  CHECK(frozen->plan.slots == greedy->plan.slots);

  const auto hand = from("# by hand\r\n\r\noffset, pool ,id,why\r\n16,p1,a,\r\n8,p0,b,fits\r\n");
  require_right(r, hand);
  CHECK(slot_of(r, hand->plan, "a") == Slot{1, 16});
  CHECK(slot_of(r, hand->plan, "b") == Slot{0, 8});
  CHECK(slot_of(r, hand->plan, "pin") == Slot{0, 32});

  const auto refused = [&](const std::string& text, int code, const std::string& note) {
    const auto s = from(text);
    REQUIRE_FALSE(s);
    CHECK(first_code(s.errors()) == code);
    std::string notes;
    for (const auto& n : s.errors()[0].notes) notes += n + "\n";
    CHECK_MESSAGE(notes.find(note) != std::string::npos, notes);
  };
  refused("id,offset\na,0\n", 4305, "'b': ");
  refused("id,offset\na,0\n", 4305, "does not place it");
  refused("id,offset\na,0\nb,8\nzed,8\n", 4305, "line 4: the request has no token 'zed'");
  refused("id,offset\na,0\nb,8\na,8\n", 4305, "placed twice");
  refused("id,offset,pool\na,0,p7\nb,8,p0\n", 4305, "no pool 'p7'");
  refused("id,offset\na,zero\n", 4305, "line 2: 'zero' is no offset");
  refused("id,offset\na,-1\n", 4305, "'-1' is no offset");
  refused("id,offset\na\n", 4305, "line 2: 1 cells, the header has 2");
  refused("id,size\na,8\n", 4305, "needs a column `id` and a column `offset`");
  refused("", 4305, "is empty");
  refused("{", 4305, "is no JSON");
  refused("{}", 4305, "no array `slots`");
  refused(R"({"slots": [{"token": "a", "offset": -8}]})", 4305, "slots[0]");
  refused("id,offset\na,0\nb,4\n", 4306, "share bytes");  // wrong, so judged
  CHECK(first_code(run(r, "file", kDefaultWork).errors()) == 4305);
  CHECK(first_code(run(r, "file", kDefaultWork, {{"path", "/no/such/plan"}}).errors()) == 4305);
}

}  // namespace tenon::test
