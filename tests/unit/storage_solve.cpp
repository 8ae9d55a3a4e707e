// What the host does with planners: budgets, offers, faults of every kind, options, planners that
// run planners.
#include <doctest/doctest.h>

#include <array>
#include <atomic>
#include <deque>
#include <numeric>
#include <stdexcept>
#include <thread>

#include "core/storage/judge.h"
#include "core/storage/request_view.h"
#include "tenon/planner.hpp"
#include "tests/support/storage_fixture.h"

namespace tenon::test {
namespace {

using Plan = int (*)(const tn_request*, const tn_host*);

constexpr tn_option kOptions[] = {{"tries", "int", "3", "1..8", "how often"},
                                  {"mode", "enum", "quick", "quick|slow", "how"},
                                  {"flag", "bool", "false", "", "whether"},
                                  {"limit", "bytes", "1KiB", "", "how much"},
                                  {"rate", "float", "0.5", "0..1", "how fast"}};

tn_planner planner(Plan plan, std::uint64_t understands = TN_POOLS | TN_PINS) {
  return {sizeof(tn_planner),
          "test.planner",
          "a planner of the tests",
          understands,
          kOptions,
          std::size(kOptions),
          plan};
}

const StorageRequest& two() {
  static const StorageRequest r = *prepare_request(request({{"a", 0, 2, 8}, {"b", 1, 3, 8}}));
  return r;
}

Result<Solved> run(Plan plan, const SolveSettings& s = settings(),
                   const StorageRequest& r = two()) {
  const tn_planner p = planner(plan);
  return solve(r, {&p, "1"}, s);
}
int code(Plan plan, const SolveSettings& s = settings()) {
  return first_code(run(plan, s).status().errors());
}

constexpr std::array<tn_slot, 2> kGood = {{{0, 0}, {0, 8}}}, kLarge = {{{0, 0}, {0, 64}}},
                                 kWrong = {{{0, 0}, {0, 4}}};

// The planner of sdk/docs/storage-plan.md, word for word.
// clang-format off
int first_fit(const tn_request* raw, const tn_host* h) {  // largest first; the first pool with room
  tenon::Request q{*raw};
  std::vector<std::uint32_t> order(q.size());
  std::iota(order.begin(), order.end(), 0u);
  std::ranges::stable_sort(order, std::greater{}, [&](auto i) { return q[i].size; });
  tenon::Placer placer(q);  // pins are in
  for (auto i : order) {
    if (placer.placed(i)) continue;
    std::optional<tn_slot> s;
    for (auto p : q.pools(i)) if ((s = placer.lowest(i, p))) break;
    if (!s) return h->say(h, i, "no room in any of its pools"), TN_NO_FIT;
    placer.put(i, *s);
  }
  return h->offer(h, placer.data(), 0), TN_OK;
}
// clang-format on

}  // namespace

TEST_CASE("storage solve: the planner of the documentation is right on 2000 random requests") {
  Rng rng(21);
  int solved = 0;
  for (int k = 0; k < 2000; ++k) {
    const auto r = prepare_request(random_request(rng, {.tokens = 16, .pools = 3}));
    if (!r) continue;
    const auto s = run(first_fit, settings(), *r);
    if (s) REQUIRE(s->messages.empty());
    if (s) REQUIRE(judge_plan(*r, s->plan));
    solved += bool(s);
  }
  CHECK(solved > 1500);
}

TEST_CASE("storage solve: planners reach elements through strides") {
  Rng rng(22);
  for (int k = 0; k < 100; ++k) {
    const auto r = prepare_request(random_request(rng, {.tokens = 16, .pools = 3}));
    if (!r) continue;
    struct Got {
      std::vector<Slot> slots;
      std::uint32_t n = 0;
    };
    const auto offered = [&](std::size_t extra, const tn_planner& p) {
      const RequestView view(*r, extra);
      Got got{{}, view.raw().n_tokens};
      tn_host h{};
      h.struct_size = sizeof h;
      h.self = &got;
      h.tick = [](const tn_host*, std::uint64_t) { return 0; };
      h.say = [](const tn_host*, std::uint32_t, const char*) {};
      h.option = [](const tn_host*, const char*) -> const char* { return "3"; };
      h.plan = [](const tn_host*, const char*, std::uint64_t, tn_slot*) -> int {
        return TN_UNSUPPORTED;
      };
      h.offer = [](const tn_host* x, const tn_slot* s, std::uint64_t) {
        Got& g = *static_cast<Got*>(x->self);
        g.slots.clear();
        for (std::uint32_t i = 0; i < g.n; ++i) g.slots.push_back({s[i].pool, s[i].offset});
        return 0;
      };
      p.plan(&view.raw(), &h);
      return got.slots;
    };
    for (const char* name : {"naive", "greedy"}) {
      const tn_planner& p = *load_planner(name).planner;
      REQUIRE(offered(0, p) == offered(24, p));
    }
  }
}

TEST_CASE("storage solve: the best judged offer is the answer") {
  const auto s = run([](const tn_request*, const tn_host* h) -> int {
    h->offer(h, kLarge.data(), 0);
    h->offer(h, kWrong.data(), 0);
    h->offer(h, kGood.data(), 0);
    h->offer(h, kLarge.data(), 0);
    return TN_STOPPED;
  });
  REQUIRE(s);
  CHECK(s->plan.pools[0].peak == 16);
  CHECK(s->plan.optimal);  // it stands at the bound
  CHECK(s->plan.planner == "test.planner");
  REQUIRE(s->messages.size() == 1);  // the wrong offer, by the planner's name
  CHECK(s->messages[0].code == 4006);
  CHECK(s->messages[0].severity == Severity::warning);
  CHECK(s->messages[0].what.starts_with("planner 'test.planner': wrong offer, not used"));
}

TEST_CASE("storage solve: outcomes without a plan have codes") {
  CHECK(code([](const tn_request*, const tn_host*) -> int { return TN_NO_FIT; }) == 4301);
  CHECK(code([](const tn_request*, const tn_host*) -> int { return TN_INFEASIBLE; }) == 4302);
  CHECK(code([](const tn_request*, const tn_host*) -> int { return TN_STOPPED; }) == 4303);
  CHECK(code([](const tn_request*, const tn_host*) -> int { return TN_UNSUPPORTED; }) == 4304);
  CHECK(code([](const tn_request*, const tn_host*) -> int { return TN_FAILED; }) == 4305);
  CHECK(code([](const tn_request*, const tn_host*) -> int { return TN_OK; }) == 4306);
  CHECK(code([](const tn_request*, const tn_host*) -> int { return 99; }) == 4306);
  CHECK(code([](const tn_request*, const tn_host* h) -> int {
          return h->offer(h, kWrong.data(), 0), TN_OK;
        }) == 4306);
  CHECK(code([](const tn_request*, const tn_host* h) -> int {
          return h->offer(h, nullptr, 0), TN_OK;
        }) == 4306);
  CHECK(code([](const tn_request*, const tn_host*) -> int { throw std::runtime_error("boom"); }) ==
        4307);
  CHECK(code([](const tn_request*, const tn_host*) -> int { throw 7; }) == 4307);
  const auto said = run([](const tn_request*, const tn_host* h) -> int {
    return h->say(h, 1, "too big"), TN_NO_FIT;
  });
  REQUIRE_FALSE(said);
  CHECK(said.errors()[0].notes[0] == "planner 'test.planner': 'b': too big");
}

TEST_CASE("storage solve: what was offered before a fault counts, and the fault is told") {
  const auto thrown = run([](const tn_request*, const tn_host* h) -> int {
    h->offer(h, kGood.data(), 0);
    throw std::runtime_error("boom");
  });
  REQUIRE(thrown);
  CHECK(first_code(thrown->messages) == 4307);
  const auto lies = run([](const tn_request*, const tn_host* h) -> int {
    return h->offer(h, kGood.data(), 17), TN_OK;
  });
  REQUIRE(lies);
  CHECK(first_code(lies->messages) == 4306);
  const auto contradicts = run([](const tn_request*, const tn_host* h) -> int {
    return h->offer(h, kGood.data(), 0), TN_INFEASIBLE;
  });
  REQUIRE(contradicts);
  CHECK(first_code(contradicts->messages) == 4306);
  const auto proved = run([](const tn_request*, const tn_host* h) -> int {
    return h->offer(h, kLarge.data(), 0), TN_PROVED;
  });
  REQUIRE(proved);
  CHECK(proved->plan.optimal);
}

TEST_CASE("storage solve: budgets") {
  SolveSettings s = settings();
  s.work = 1000;
  const Plan endless = [](const tn_request*, const tn_host* h) -> int {
    h->offer(h, kLarge.data(), 0);
    int ticks = 0;
    while (h->tick(h, 100) == 0) ++ticks;
    return ticks < 11 ? TN_STOPPED : TN_FAILED;
  };
  auto r = run(endless, s);
  REQUIRE(r);
  CHECK(r->plan.reproducible);  // counted in work, not in time
  CHECK(r->plan.options.at("work") == "1000");
  s.work = kDefaultWork;
  s.deadline = std::chrono::milliseconds(5);
  r = run(
      [](const tn_request*, const tn_host* h) -> int {
        h->offer(h, kLarge.data(), 0);
        while (h->tick(h, 1) == 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
        return TN_STOPPED;
      },
      s);
  REQUIRE(r);
  CHECK_FALSE(r->plan.reproducible);
}

namespace {

/// Solves with a planner that is left behind: its table outlives the test, and `go_on` lets it end.
std::atomic<bool> go_on{false};
std::atomic<int> ended{0};
Result<Solved> left_behind(Plan plan) {
  static std::deque<tn_planner> tables;
  tables.push_back(planner(plan));
  SolveSettings s = settings();
  s.deadline = std::chrono::milliseconds(10);
  return solve(two(), {&tables.back(), "1"}, s);
}

}  // namespace

TEST_CASE(
    "storage solve: a planner that never looks up is left behind when its deadline has passed") {
  static const auto sleep = [] {
    while (!go_on) std::this_thread::sleep_for(std::chrono::milliseconds(5));
  };
  const auto none = left_behind([](const tn_request*, const tn_host* h) -> int {
    sleep();
    const bool gone = h->tick(h, 1) != 0 && h->offer(h, kGood.data(), 0) != 0;
    h->say(h, 0, "nobody hears this");
    std::vector<tn_slot> out(2);
    ended += gone && h->plan(h, "tenon.greedy", 0, out.data()) == TN_UNSUPPORTED;
    return TN_OK;
  });
  REQUIRE_FALSE(none);
  CHECK(none.errors()[0].code == 1016);
  CHECK(none.errors()[0].what ==
        "planner 'test.planner': did not call tick() after the deadline; it is left behind");
  const auto best = left_behind([](const tn_request*, const tn_host* h) -> int {
    h->offer(h, kLarge.data(), 0);
    sleep();
    h->offer(h, kGood.data(), 0);
    ++ended;
    return TN_OK;
  });
  REQUIRE_MESSAGE(best, text(best.status()));
  CHECK(best->plan.slots[1] == Slot{0, 64});
  CHECK_FALSE(best->plan.reproducible);
  CHECK(best->plan.options.at("tries") == "3");
  REQUIRE(best->messages.size() == 1);
  CHECK(best->messages[0].code == 1016);
  CHECK(best->messages[0].severity == Severity::warning);
  go_on = true;
  for (int k = 0; ended < 2 && k < 1000; ++k)
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  CHECK(ended == 2);
}

TEST_CASE("storage solve: what does not fit is told with numbers") {
  const StorageRequest tight =
      *prepare_request(request({{"a", 0, 2, 8, 16}, {"b", 0, 2, 8, 16}}, 20));
  for (const Plan p : {Plan([](const tn_request*, const tn_host*) -> int { return TN_INFEASIBLE; }),
                       Plan([](const tn_request*, const tn_host*) -> int { return TN_NO_FIT; })}) {
    const auto r = run(p, settings(), tight);
    REQUIRE_FALSE(r);
    CHECK(
        r.errors()[0].what.ends_with("the 20 bytes of pool 'p0', of which 16 are needed at least"));
  }
}

TEST_CASE("storage solve: a feature that the planner lacks is named with what needs it") {
  const tn_planner plain = planner(first_fit, 0);
  CHECK(solve(two(), {&plain, "1"}, settings()));
  const auto pinned = prepare_request(request({{"a", 0, 2, 8, 1, 16}}));
  const auto no_pins = solve(*pinned, {&plain, "1"}, settings());
  REQUIRE_FALSE(no_pins);
  CHECK(no_pins.errors()[0].code == 4308);
  CHECK(no_pins.errors()[0].what ==
        "planner 'test.planner': does not understand pins; 'a' is pinned to offset 16");
  StorageRequest two_pools = two();
  two_pools.pools.push_back({.id = "p1"});
  const auto no_pools = solve(two_pools, {&plain, "1"}, settings());
  REQUIRE_FALSE(no_pools);
  CHECK(no_pools.errors()[0].what.find("the request has 2 ('p0', 'p1')") != std::string::npos);
}

TEST_CASE("storage solve: options are checked against the planner's table") {
  const Plan tells = [](const tn_request*, const tn_host* h) -> int {
    for (const char* key : {"tries", "mode", "flag", "limit", "rate"})
      h->say(h, UINT32_MAX, h->option(h, key));
    if (h->option(h, "unknown") != nullptr) return TN_FAILED;
    return h->offer(h, kGood.data(), 0), TN_OK;
  };
  SolveSettings s = settings();
  s.options = {{"tries", "8"}, {"mode", "slow"}};
  const auto r = run(tells, s);
  REQUIRE(r);
  CHECK(r->messages[0].what.ends_with(": 8"));
  CHECK(r->messages[1].what.ends_with(": slow"));
  CHECK(r->messages[2].what.ends_with(": false"));
  CHECK(r->plan.options.at("tries") == "8");
  CHECK(r->plan.options.at("limit") == "1KiB");
  const auto bad = [&](const std::string& key, const std::string& value) {
    s.options = {{key, value}};
    return code(tells, s);
  };
  CHECK(bad("trys", "8") == 4310);
  CHECK(bad("tries", "9") == 4311);
  CHECK(bad("tries", "0") == 4311);
  CHECK(bad("tries", "x") == 4311);
  CHECK(bad("mode", "slo") == 4311);
  CHECK(bad("mode", "quick|slow") == 4311);
  CHECK(bad("flag", "yes") == 4311);
  CHECK(bad("limit", "1kb") == 4311);
  CHECK(bad("limit", "2MiB") == 0);
  CHECK(bad("rate", "1.5") == 4311);
  CHECK(bad("rate", "0.25") == 0);
  const auto told = [&](const std::string& key, const std::string& value) {
    s.options = {{key, value}};
    return text(run(tells, s).status());
  };
  CHECK(told("mode", "slo").find("'slo' is none of quick, slow | did you mean 'slow'?") !=
        std::string::npos);
  CHECK(told("mode", "zzz").find("mode: how") != std::string::npos);
  CHECK(told("tries", "9").find("'9' is no int of 1..8 | tries: how often") != std::string::npos);
  CHECK(told("tris", "8").find("did you mean 'tries'? its options: tries (int 1..8)") !=
        std::string::npos);
  const auto kept = run([](const tn_request*, const tn_host* h) -> int {
    const char* tries = h->option(h, "tries");  // lives as long as the call
    h->offer(h, kLarge.data(), 0);
    h->offer(h, kGood.data(), 0);
    return std::string_view(tries) == "3" ? TN_OK : TN_FAILED;
  });
  REQUIRE(kept);
  CHECK(kept->messages.empty());
}

TEST_CASE("storage solve: a planner may run another one") {
  const auto r = run([](const tn_request* q, const tn_host* h) -> int {
    std::vector<tn_slot> slots(q->n_tokens);
    if (h->plan(h, "no.such", 0, slots.data()) != TN_UNSUPPORTED) return TN_FAILED;
    if (h->plan(h, "tenon.greedy", 0, slots.data()) > TN_PROVED) return TN_FAILED;
    return h->offer(h, slots.data(), 0), TN_OK;
  });
  REQUIRE(r);
  CHECK(r->plan.pools[0].peak == 16);
  SolveSettings s = settings();
  static tn_planner self;
  self = planner([](const tn_request* q, const tn_host* h) -> int {
    std::vector<tn_slot> slots(q->n_tokens);
    return h->plan(h, "self", 0, slots.data()) == TN_UNSUPPORTED ? TN_NO_FIT : TN_NO_FIT;
  });
  s.find = [](std::string_view) { return std::optional<PlannerRef>({&self, "1"}); };
  CHECK(first_code(solve(two(), {&self, "1"}, s).status().errors()) ==
        4301);  // without end, it would overflow
}

TEST_CASE("storage solve: 60000 tokens") {
  Rng rng(33);
  StorageRequest raw;
  raw.pools.push_back({.id = "p0"});
  raw.steps.resize(60000);
  for (std::uint32_t i = 0; i < 60000; ++i) {
    const std::uint32_t length =
        rng.chance(2) ? 2000 : 1 + static_cast<std::uint32_t>(rng.below(12));
    raw.tokens.push_back({.name = fmt::format("t{}", i),
                          .size = 64 * (1 + rng.below(2000)),
                          .align = 64,
                          .first = i,
                          .end = std::min(60000u, i + length),
                          .pools = {0}});
  }
  const auto r = prepare_request(std::move(raw));
  REQUIRE(r);
  const auto begin = std::chrono::steady_clock::now();
  const auto s = solve(*r, load_planner("greedy"), settings());
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
  REQUIRE_MESSAGE(s, text(s.status()));
  CHECK(judge_plan(*r, s->plan));
  MESSAGE(took.count() << " s, peak over bound "
                       << static_cast<double>(s->plan.pools[0].peak) /
                              static_cast<double>(s->plan.pools[0].bound));
}

}  // namespace tenon::test
