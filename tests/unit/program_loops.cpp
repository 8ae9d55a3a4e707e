// Loops from module to plan and program: what crosses an iteration keeps its storage, the rest of
// the body is planned once.
#include <doctest/doctest.h>

#include "tests/support/lowered_module.h"
#include "tests/support/planned.h"

namespace tenon::test {
namespace {

using Live = std::vector<Lifetime>;
using Values = std::vector<Value>;

void agree(Module& m, const MemoryConfig& config = {}) {
  const Planned greedy = plan_module(m, config), naive = plan_module(m, config, "naive");
  for (std::uint64_t seed = 0; seed < 4; ++seed) {
    run_and_compare(m, greedy, seed);
    run_and_compare(m, naive, seed);
  }
}

void agree_everywhere(Module& m) {
  agree(m);
  agree(m, {.io_planned = true});
}

bool one_storage(const Planned& p, const std::string& a, const std::string& b) {
  return p.slot(a) == p.slot(b);
}

}  // namespace

TEST_CASE("loops: what crosses an iteration is live over the whole of it (F09)") {
  LoweredModule b({{"x", i32(16)}});
  const Value outer = b.call("outer", {b.in(0)}, i32(16));
  const Value r = b.loop("r", b.count(5), {b.in(0)}, [&](LoweredModule& t, const Values& in) {
    const Value first = t.call("first", {in[1], outer}, i32(16));  // the last read of `outer`
    const Value temp = t.call("temp", {first}, i32(16));
    return Values{t.call("made", {temp, first}, i32(16))};
  })[0];
  Module m = b.finish({b.call("end", {r}, i32(16))});
  const Planned p = plan_module(m);
  // steps: 0 outer, 1 loop, 2 first, 3 temp, 4 made, 5 back edge, 6 end
  CHECK(p.value("outer")->live == Live{{0, 6}});
  CHECK(p.value("r.i")->live == Live{{1, 6}});
  CHECK(p.value("r.i")->size == 8);
  CHECK(p.value("r")->live == Live{{1, 7}});
  CHECK(p.value("temp")->live == Live{{3, 5}});
  CHECK(p.value("made")->live == Live{{4, 6}});
  CHECK(p.slot("outer") != p.slot("temp"));
  CHECK(p.slot("outer") != p.slot("made"));
  CHECK(one_storage(p, "r", "r.in0"));
  CHECK(one_storage(p, "r", "made"));  // nothing reads r.in0 once `made` is written: no copy
  CHECK(p.peak("ram") == 64 * 4 + 8);
  agree_everywhere(m);
}

TEST_CASE("loops: the body's result is copied back where the old value is still read") {
  LoweredModule b({{"x", i32(16)}});
  const Value r = b.loop("r", b.count(3), {b.in(0)}, [&](LoweredModule& t, const Values& in) {
    const Value made = t.call("made", {in[1]}, i32(16));
    t.call("reader", {in[1], made}, i32(16));
    return Values{made};
  })[0];
  Module m = b.finish({b.call("end", {r}, i32(16))});
  const Planned p = plan_module(m);
  CHECK(p.slot("made") != p.slot("r"));
  const ExecStep& loop = p.program.steps[0];
  REQUIRE(loop.kind == ExecStep::Kind::loop);
  REQUIRE(loop.args.size() == 5);
  CHECK(loop.args[2].kind == ArgPlace::Kind::input);
  CHECK_FALSE(loop.args[3] == loop.args[4]);
  agree_everywhere(m);
}

TEST_CASE("loops: a kernel writes over the value it carries only where it says that it may") {
  for (const bool may : {false, true}) {
    CAPTURE(may);
    LoweredModule b({{"x", i32(16)}});
    const KernelSpec spec = may ? KernelSpec{.inplace = {{0, 0}}} : KernelSpec{};
    const Value r = b.loop("r", b.count(3), {b.in(0)}, [&](LoweredModule& t, const Values& in) {
      return Values{t.call("made", {in[1]}, i32(16), spec)};
    })[0];
    Module m = b.finish({b.call("end", {r}, i32(16))});
    const Planned p = plan_module(m);
    CHECK(one_storage(p, "made", "r") == may);
    agree_everywhere(m);
  }
}

TEST_CASE("loops: swapped, kept, dropped, outer and constant values; counts of 0 and less") {
  for (const std::int64_t n : {-7, 0, 1, 2, 5}) {
    CAPTURE(n);
    LoweredModule b({{"x", i32(8)}, {"y", i32(8)}});
    const Value outer = b.call("outer", {b.in(0), b.in(1)}, i32(8));
    const Values r = b.loop(
        "r", b.count(n), {b.in(0), b.in(1), outer, outer, b.in(0), b.in(1)},
        [&](LoweredModule& t, const Values& in) {
          const Value odd = t.call("odd", {in[1], in[4], in[0]}, i32(8));
          // swapped, swapped, kept, from outside, a constant, made
          return Values{in[2], in[1], in[3], outer, t.constant("k", {1, 2, 3, 4, 5, 6, 7, 8}), odd};
        });
    Module m = b.finish({r[0], r[1], r[2], r[3], r[4], r[5]});
    agree_everywhere(m);
  }
}

TEST_CASE("loops: nested, in arms, with arms, reading values of every level, reread each time") {
  LoweredModule b({{"x", i32(8)}, {"c", {DType::boolean, ::tenon::Shape{}}}});
  const Value outer = b.call("outer", {b.in(0)}, i32(8));
  const auto arms = b.branch(
      "r", b.in(1), {i32(8)},
      [&](LoweredModule& t) {
        return t.loop("o", t.count(3), {outer}, [&](LoweredModule& u, const Values& o) {
          const Value kept = u.call("kept", {o[1]}, i32(8));
          const Values inner =
              u.loop("n", u.count(2), {o[1], kept}, [&](LoweredModule& v, const Values& n) {
                const Value chosen = v.branch(
                    "chosen", b.in(1), {i32(8)},
                    [&](LoweredModule& w) {
                      return Values{w.call("s", {n[1], kept}, i32(8))};
                    },
                    [&](LoweredModule&) { return Values{n[2]}; })[0];
                return Values{v.call("w", {chosen, outer}, i32(8)), n[1]};
              });
          return Values{u.call("z", {inner[0], inner[1]}, i32(8))};
        });
      },
      [&](LoweredModule& t) {
        return t.loop("e", t.count(2), {outer}, [](LoweredModule& u, const Values& e) {
          return Values{u.branch(
              "f", u.in(1), {i32(8)},
              [&](LoweredModule& w) { return Values{w.call("g", {e[1]}, i32(8))}; },
              [&](LoweredModule& w) { return Values{w.call("h", {e[1]}, i32(8))}; })[0]};
        });
      });
  Module m = b.finish({b.call("end", {arms[0], outer}, i32(8))});
  const Planned p = plan_module(m);
  for (const char* crossing : {"kept", "outer"}) {
    CHECK(p.slot(crossing) != p.slot("s"));
    CHECK(p.slot(crossing) != p.slot("w"));
  }
  agree_everywhere(m);
}

TEST_CASE("loops: without carried values, with an empty body, of tensors without bytes") {
  LoweredModule b({{"x", i32(8)}, {"z", i32(0)}});
  b.loop("none", b.count(3), {}, [](LoweredModule&, const Values&) { return Values{}; });
  const Values r =
      b.loop("r", b.count(3), {b.in(0), b.in(1)}, [](LoweredModule&, const Values& in) {
        return Values{in[1], in[2]};
      });
  const Value end = b.call("end", {r[0]}, i32(8));
  Module m = b.finish({end, r[1]});
  agree_everywhere(m);
}

TEST_CASE("loops: what dies is poisoned between iterations and after the last") {
  LoweredModule b({{"x", i32(16)}});
  const Value r = b.loop("r", b.count(4), {b.in(0)}, [&](LoweredModule& t, const Values& in) {
    const Value first = t.call("first", {in[1]}, i32(16));
    return Values{t.call("made", {first}, i32(16))};
  })[0];
  Module m = b.finish({b.call("end", {r}, i32(16))});
  const Planned p = plan_module(m);
  auto run = run_reference(m, p.program, random_inputs(m, 1));
  REQUIRE(run);
  // `first` dies in each of four iterations, their number after the last; `r` is read to the end
  CHECK(run->poisoned == 4 * 64 + 8);
}

}  // namespace tenon::test
