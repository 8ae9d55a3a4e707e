// State: an input and an output that are one storage, kept from run to run.
#include <doctest/doctest.h>

#include "tests/support/lowered_module.h"
#include "tests/support/planned.h"

namespace tenon::test {
namespace {

using Live = std::vector<Lifetime>;

MemoryConfig keeping(bool planned = false) {
  MemoryConfig c;
  c.io_planned = planned;
  c.state = {{"h", "out0", {}}};
  return c;
}

void agree(Module& m, const MemoryConfig& config) {
  for (const char* planner : {"greedy", "naive"}) {
    const Planned p = plan_module(m, config, planner);
    for (std::uint64_t seed = 0; seed < 4; ++seed) run_and_compare(m, p, seed);
  }
}

/// h' = f(x, h), y = g(h', ...)
Module cell(const KernelSpec& spec, bool old_read_late) {
  LoweredModule b({{"x", i32(16)}, {"h", i32(16)}});
  const Value a = b.call("a", {b.in(0)}, i32(16));
  const Value next = b.call("next", {a, b.in(1)}, i32(16), spec);
  const Value y = b.call("y", {old_read_late ? b.in(1) : next}, i32(16));
  return b.finish({next, y});
}

}  // namespace

TEST_CASE("state: is one token, live in all steps, updated in place where the kernel allows it") {
  Module m = cell({.inplace = {{1, 0}}}, false);
  const Planned p = plan_module(m, keeping());
  CHECK(p.value("h")->live == Live{{0, 3}});
  CHECK(p.value("h")->role == Role::state);
  CHECK(p.value("next")->role == Role::state);
  CHECK(p.token("h") == p.token("next"));
  CHECK(p.value("x") == nullptr);  // the caller's
  CHECK(p.program.steps.size() == 3);
  CHECK(p.program.inputs[1].state);
  CHECK(p.program.inputs[1].planned);
  CHECK_FALSE(p.program.inputs[0].planned);
  CHECK(p.program.outputs[0].place == p.program.inputs[1].place);
  CHECK_FALSE(p.program.outputs[1].planned);
  CHECK(p.slot("a") != p.slot("h"));
  agree(m, keeping());
  agree(m, keeping(true));
}

TEST_CASE("state: is copied after the last step where the old value is still read") {
  for (const bool late : {true, false}) {
    Module m = cell(late ? KernelSpec{.inplace = {{1, 0}}} : KernelSpec{}, late);
    const Planned p = plan_module(m, keeping());
    CHECK(p.slot("next") != p.slot("h"));
    CHECK(p.value("next")->role == Role::activation);
    CHECK(p.value("next")->live.back().end == 3);
    REQUIRE(p.program.steps.size() == 4);
    CHECK(p.program.steps[3].kind == ExecStep::Kind::copy);
    CHECK(p.program.outputs[0].place == p.program.inputs[1].place);
    agree(m, keeping());
    agree(m, keeping(true));
  }
}

TEST_CASE("state: unchanged, without bytes, of a loop, and read by a view") {
  {
    LoweredModule b({{"h", i32(16)}});
    Module m = b.finish({b.in(0), b.call("y", {b.in(0)}, i32(16))});
    const Planned p = plan_module(m, keeping());
    CHECK(p.program.steps.size() == 2);  // the copy stands over itself
    agree(m, keeping());
  }
  {
    LoweredModule b({{"h", i32(0)}, {"x", i32(4)}});
    const Value next = b.call("next", {b.in(0)}, i32(0));
    Module m = b.finish({next, b.call("y", {b.in(1)}, i32(4))});
    agree(m, keeping());
  }
  {
    LoweredModule b({{"h", i32(16)}, {"x", i32(8)}});
    const Value half = b.view("half", b.in(0), i32(8), 32);
    const Value next = b.loop("next", b.count(3), {b.in(0)}, [&](LoweredModule& t, const auto& in) {
      return std::vector{t.call("n", {in[1], half}, i32(16))};
    })[0];
    Module m = b.finish({next, b.call("y", {half}, i32(8))});
    agree(m, keeping());
  }
}

TEST_CASE("state: pairs that do not fit the model are refused (4209)") {
  const auto refused = [](std::vector<StatePair> state, const std::string& what) {
    Module m = cell({}, false);
    MemoryConfig c;
    c.state = std::move(state);
    const auto values = storage_values(m, c);
    REQUIRE_FALSE(values);
    CHECK(values.errors()[0].code == 4209);
    CHECK_MESSAGE(text(values.status()).find(what) != std::string::npos, text(values.status()));
  };
  refused({{"hh", "out0", {}}}, "did you mean `h`");
  refused({{"h", "next", {}}}, "no output `next`");
  refused({{"h", "out0", {}}, {"h", "out1", {}}}, "input `h` stands in two pairs");
  refused({{"h", "out0", {}}, {"x", "out0", {}}}, "output `out0` stands in two pairs");
  LoweredModule b({{"h", i32(16)}});
  Module m = b.finish({b.call("y", {b.in(0)}, i32(8))});
  const auto values = storage_values(m, keeping());
  REQUIRE_FALSE(values);
  CHECK(text(values.status()).find("i32[16]") != std::string::npos);
}

}  // namespace tenon::test
