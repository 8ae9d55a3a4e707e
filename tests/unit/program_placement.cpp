// Which pool: rules, sorts, access, pins, costs, kept values; and every way to get them wrong.
#include <doctest/doctest.h>

#include "tests/support/lowered_module.h"
#include "tests/support/planned.h"

namespace tenon::test {
namespace {

/// x -> a -> b -> y, a constant, scratch.
Module sample() {
  LoweredModule b({{"x", i32(8)}});
  const Value w = b.constant("weights", {1, 2, 3, 4});
  const Value a = b.call("alpha", {b.in(0), w}, i32(8), {.target = "m7"});
  const Value v = b.view("alpha_view", a, i32(4), 16);
  const Value c = b.call("beta", {a, v}, i32(8), {.shared = {64}, .worker = 16, .target = "npu"});
  return b.finish({b.call("y", {c}, i32(8), {.target = "m7"})});
}

MemoryConfig board() {
  MemoryConfig c;
  c.pools = {{.id = "dtcm",
              .capacity = 128,
              .base = 0x1000,
              .access = {{"m7", Access::write}},
              .read_cost = 1,
              .write_cost = 1},
             {.id = "sram", .base = 0x8000, .read_cost = 2, .write_cost = 4},
             {.id = "flash",
              .access = {{"m7", Access::read}, {"npu", Access::read}},
              .holds = {Holds::constants},
              .read_cost = 6}};
  return c;
}

std::vector<std::uint32_t> pools_of(const StorageValues& v, const std::string& name) {
  for (const StorageValue& x : v.values) {
    if (x.name == name) return x.pools;
  }
  return {99};
}

StorageValues good(const MemoryConfig& c) {
  auto v = storage_values(sample(), c);
  REQUIRE_MESSAGE(v, text(v.status()));
  return *v;
}

void refused(const MemoryConfig& c, int code, const std::vector<std::string>& words) {
  auto v = storage_values(sample(), c);
  REQUIRE_FALSE(v);
  const std::string said = text(v.status());
  CHECK_MESSAGE(v.errors()[0].code == code, said);
  for (const std::string& w : words)
    CHECK_MESSAGE(said.find(w) != std::string::npos, said, " / ", w);
}

using Pools = std::vector<std::uint32_t>;

}  // namespace

TEST_CASE(
    "placement: without pools the defaults; without rules every pool that may hold it, in order") {
  const StorageValues d = good({});
  CHECK(d.pools.size() == 3);
  CHECK(pools_of(d, "alpha") == Pools{0});
  CHECK(pools_of(d, "weights") == Pools{1});
  CHECK(pools_of(d, "beta.worker") == Pools{2});
  const StorageValues b = good(board());
  CHECK(pools_of(b, "alpha") == Pools{1});  // the npu reads it, and cannot see dtcm
  CHECK(pools_of(b, "beta") == Pools{1});
  CHECK(pools_of(b, "weights") == Pools{2});
  CHECK(b.pools.back().id == "worker");  // a device that says nothing about worker scratch
  CHECK(pools_of(b, "beta.worker") == Pools{3});
}

TEST_CASE("placement: costs are bytes moved times the pool's figures") {
  const StorageValues b = good(board());
  for (const StorageValue& v : b.values) {
    if (v.name == "alpha") CHECK(v.cost == std::vector<std::uint64_t>{32 * 2 / 8 + 32 * 4 / 8});
    if (v.name == "alpha_view") CHECK(v.cost == std::vector<std::uint64_t>{16 * 2 / 8});
    if (v.name == "weights") CHECK(v.cost == std::vector<std::uint64_t>{16 * 6 / 8});
  }
  auto request = fold(b);
  REQUIRE(request);
  for (const StorageToken& t : request->tokens) {
    if (t.name == "alpha") CHECK(t.cost == std::vector<std::uint64_t>{24 + 4});
  }
}

TEST_CASE(
    "placement: the first rule that matches decides; views follow their base unless a rule names "
    "them") {
  MemoryConfig c;
  c.pools = {{.id = "a"}, {.id = "b"}, {.id = "k", .holds = {Holds::constants}}};
  c.place = {{.value = "al*a", .pools = {"b"}},
             {.role = Role::scratch, .pools = {"b", "a"}},
             {.op = "k_be?a", .pools = {"a"}},
             {.role = Role::constant, .pools = {"k"}},
             {.pools = {"a", "b"}}};
  const StorageValues v = good(c);
  CHECK(pools_of(v, "alpha") == Pools{1});
  CHECK(pools_of(v, "alpha_view") == Pools{1});
  CHECK(pools_of(v, "beta") == Pools{0});
  CHECK(pools_of(v, "beta.b3") == Pools{1, 0});
  CHECK(pools_of(v, "weights") == Pools{2});
  c.place[0].value = "alpha_view";
  CHECK(pools_of(good(c), "alpha_view") == Pools{1});
  CHECK(pools_of(good(c), "alpha") == Pools{0, 1});
  auto request = fold(good(c));
  REQUIRE(request);
  for (const StorageToken& t : request->tokens) {
    if (t.name == "alpha") CHECK(t.pools == Pools{1});  // what both allow
  }
  c.place = {
      {.on = "npu", .pools = {"b"}}, {.role = Role::constant, .pools = {"k"}}, {.pools = {"a"}}};
  CHECK(pools_of(good(c), "beta") == Pools{1});
  CHECK(pools_of(good(c), "alpha") == Pools{0});
}

TEST_CASE("placement: a pin is an address where the pool has a base, else an offset") {
  MemoryConfig c = board();
  c.place = {{.value = "alpha", .pools = {"sram"}, .at = 0x8040},
             {.role = Role::constant, .pools = {"flash"}},
             {.pools = {"sram"}}};
  Module m = sample();
  const Planned p = plan_module(m, c);
  CHECK(p.value("alpha")->at == 0x40u);
  CHECK(p.slot("alpha") == Slot{1, 0x40});
  CHECK(p.slot("alpha_view") == Slot{1, 0x50});
  run_and_compare(m, p);
}

TEST_CASE("placement: reserved bytes are nobody's") {
  MemoryConfig c;
  c.pools = {{.id = "ram", .base = 0x100}, {.id = "k", .holds = {Holds::constants}}};
  c.reserved = {{.pool = "ram", .why = "vectors", .at = 0x100, .size = 16}};
  Module m = sample();
  const Planned p = plan_module(m, c);
  for (const char* name : {"alpha", "beta", "beta.b3"}) CHECK(p.slot(name).offset >= 16);
  run_and_compare(m, p);
}

TEST_CASE("placement: kept values keep their storage to the end") {
  LoweredModule b({{"x", i32(8)}});
  Value v = b.in(0);
  for (int i = 0; i < 6; ++i) v = b.call(fmt::format("s{}", i), {v}, i32(8), {.inplace = {{0, 0}}});
  Module m = b.finish({v});
  const Planned p = plan_module(m, {.keep = {"s1"}});
  CHECK(p.value("s1")->live == std::vector<Lifetime>{{1, 6}});
  for (const char* later : {"s2", "s3", "s4"}) CHECK(p.slot(later) != p.slot("s1"));
  run_and_compare(m, p);
}

TEST_CASE("placement: what is wrong is refused with names, reasons and the nearest spelling") {
  const PlaceRule all{.pools = {"sram", "flash"}};
  const auto with = [&](std::vector<PlaceRule> rules) {
    MemoryConfig c = board();
    c.place = std::move(rules);
    return c;
  };
  refused(with({{.pools = {"srma"}}, all}), 4204, {"srma", "`sram`", "dtcm"});
  refused(with({{.value = "alhpa", .pools = {"sram"}}, all}), 4205, {"alhpa", "`alpha`"});
  refused(with({{.op = "k_gamma", .pools = {"sram"}}, all}), 4205, {"k_gamma"});
  refused(with({{.value = "x", .pools = {"sram"}}, all}), 4205, {"the caller owns", "io: planned"});
  refused(with({{.role = Role::constant, .pools = {"flash"}}}), 4206, {"alpha", "no rule"});
  refused(with({{.value = "alpha", .pools = {"dtcm", "flash"}}, all}), 4206,
          {"`alpha`", "target `npu` cannot read pool `dtcm`", "does not hold data"});
  refused(with({{.value = "*a", .pools = {"sram"}, .at = 0x8000}, all}), 4207, {"alpha", "beta"});
  refused(with({{.value = "alpha", .pools = {"sram", "dtcm"}, .at = 0x8000}, all}), 4207,
          {"2 pools"});
  refused(with({{.value = "alpha", .pools = {"sram"}, .at = 0x10}, all}), 4207, {"0x10", "0x8000"});
  refused(with({{.pools = {"sram", "flash"}}, {.value = "alpha", .pools = {"sram"}, .at = 0x8000}}),
          4207, {"decides"});
  MemoryConfig keep = board();
  keep.keep = {"alpa"};
  refused(keep, 4208, {"alpa", "`alpha`"});
  MemoryConfig reserved = board();
  reserved.reserved = {{.pool = "rom", .size = 4}};
  refused(reserved, 4204, {"rom"});
  MemoryConfig no_constants = board();
  no_constants.pools.pop_back();
  refused(no_constants, 4206, {"weights", "does not hold constants"});
  MemoryConfig optional = with({{.value = "nobody", .pools = {"sram"}, .optional = true},
                                {.role = Role::state, .pools = {"sram"}},
                                all});
  CHECK(storage_values(sample(), optional));
}

TEST_CASE("placement: globs") {
  CHECK(glob_match("*", ""));
  CHECK(glob_match("a*b*c", "a--b-b-c"));
  CHECK_FALSE(glob_match("a*b*c", "a--b-b-"));
  CHECK(glob_match("a?c", "abc"));
  CHECK_FALSE(glob_match("a?c", "ac"));
  CHECK(glob_match("**", "x"));
  CHECK_FALSE(glob_match("", "x"));
}

TEST_CASE("placement: what a tensor expression asks for, and which rules stand above it") {
  const auto planned = [](std::vector<std::string> pools, std::vector<PlaceRule> rules,
                          std::string& why) {
    LoweredModule b({{"x", i32(16)}});
    const Value a = b.call("a", {b.in(0)}, i32(16));
    Module m = b.finish({b.call("y", {a}, i32(16))});
    te::Stage& s = m.computes[0].compute.stages[m.computes[0].compute.outputs[0]];
    s.pools = std::move(pools);
    s.align = 4096;
    MemoryConfig c;
    c.pools = {{.id = "sram"}, {.id = "tcm"}, {.id = "psram"}};
    c.place = std::move(rules);
    const auto values = storage_values(m, c);
    if (!values) {
      why = text(values.status());
      return std::vector<std::uint32_t>{};
    }
    for (const StorageValue& v : values->values) {
      if (v.name != "a") continue;
      CHECK(v.align == 4096);
      why = v.place_why;
      return v.pools;
    }
    FAIL("no value");
    return std::vector<std::uint32_t>{};
  };
  using Pools = std::vector<std::uint32_t>;
  const PlaceRule policy{.pools = {"psram"}};
  std::string why;
  CHECK(planned({}, {}, why) == Pools{0, 1, 2});
  CHECK(planned({"tcm", "sram"}, {}, why) == Pools{1, 0});
  CHECK(why == "asked for by the tensor expression");
  CHECK(planned({"tcm"}, {policy}, why) == Pools{1});
  CHECK(planned({}, {policy}, why) == Pools{2});
  CHECK(planned({"tcm"}, {{.value = "a", .pools = {"sram"}}, policy}, why) == Pools{0});
  CHECK(planned({"tcm"}, {{.op = "k_a", .pools = {"sram"}}, policy}, why) == Pools{0});
  CHECK(planned({"tcn"}, {}, why).empty());
  CHECK(why.find("did you mean `tcm`") != std::string::npos);
}

}  // namespace tenon::test
