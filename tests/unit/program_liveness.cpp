// From hand-made modules to values: lifetimes, relations, roles, alignment.
#include <doctest/doctest.h>

#include "tests/support/lowered_module.h"
#include "tests/support/planned.h"

namespace tenon::test {
namespace {

using Live = std::vector<Lifetime>;

const MemoryConfig planned_io{.io_planned = true};

bool related(const Planned& p, StorageRelation::Kind kind, const std::string& a,
             const std::string& b, std::uint64_t delta = 0) {
  return std::any_of(p.values.relations.begin(), p.values.relations.end(),
                     [&](const StorageRelation& r) {
                       return r.kind == kind && p.values.values[r.a].name == a &&
                              p.values.values[r.b].name == b && r.delta == delta;
                     });
}

}  // namespace

TEST_CASE("liveness: a chain needs two places, whatever its length") {
  LoweredModule b({{"x", i32(16)}});
  Value v = b.in(0);
  for (int i = 0; i < 10; ++i) v = b.call(fmt::format("s{}", i), {v}, i32(16));
  Module m = b.finish({v});
  const Planned greedy = plan_module(m), naive = plan_module(m, {}, "naive");
  CHECK(greedy.value("x") == nullptr);   // the caller's
  CHECK(greedy.value("s9") == nullptr);  // written straight into the caller's output
  CHECK(greedy.value("s3")->live == Live{{3, 5}});
  CHECK(greedy.peak("ram") == 128);
  CHECK(naive.peak("ram") == 9 * 64);
  CHECK(run_and_compare(m, greedy) ==
        8 * 64);  // s0 .. s7 die; after the last step nothing is left to protect
  CHECK(run_and_compare(m, naive) == 8 * 64);
}

TEST_CASE("liveness: a reshape chain keeps its base alive and costs nothing (F04, F05)") {
  LoweredModule b({{"x", i32(16)}});
  const Value src = b.call("src", {b.in(0)}, i32(16));
  const Value v1 = b.view("v1", src, {DType::i32, ::tenon::Shape{4, 4}});
  const Value v2 = b.view("v2", v1, i32(16));
  const Value right = b.call("right", {b.in(0)}, i32(16));
  const Value use = b.call("use", {right}, i32(16));
  const Value end = b.call("end", {v2, use}, i32(16));
  Module m = b.finish({end});
  const Planned p = plan_module(m);
  CHECK(p.value("src")->live == Live{{0, 1}});
  CHECK(p.value("v1") == nullptr);  // nothing reads it
  CHECK(p.value("v2")->live == Live{{0, 4}});
  CHECK(related(p, StorageRelation::Kind::same, "src", "v2"));
  CHECK(p.token("src") == p.token("v2"));
  CHECK(p.token("src")->first == 0);
  CHECK(p.token("src")->end == 4);
  CHECK(p.token("src")->parts.empty());
  CHECK(p.slot("right") != p.slot("src"));
  run_and_compare(m, p);
}

TEST_CASE("liveness: diamond and several outputs of one kernel") {
  LoweredModule b({{"x", i32(8)}});
  const auto ab = b.calls("ab", {b.in(0)}, {i32(8), i32(4)});
  const Value l = b.call("l", {ab[0]}, i32(8)), r = b.call("r", {ab[0], ab[1]}, i32(8));
  Module m = b.finish({b.call("join", {l, r}, i32(8))});
  const Planned p = plan_module(m);
  CHECK(p.value("ab.0")->live == Live{{0, 3}});
  CHECK(p.value("ab.1")->live == Live{{0, 3}});
  CHECK(p.value("l")->live == Live{{1, 4}});
  CHECK(p.value("r")->live == Live{{2, 4}});
  CHECK(p.peak("ram") == 32 + 16 + 32 + 32);
  run_and_compare(m, p);
}

TEST_CASE("liveness: an output nobody reads lives in its step (F12)") {
  LoweredModule b({{"x", i32(8)}});
  const auto y = b.calls("y", {b.in(0)}, {i32(8), i32(8)});
  const Value z = b.call("z", {y[1]}, i32(8));
  Module m = b.finish({z});
  const Planned p = plan_module(m);
  CHECK(p.value("y.0")->live == Live{{0, 1}});
  CHECK(p.slot("y.0") != p.slot("y.1"));
  run_and_compare(m, p);
}

TEST_CASE("liveness: view of a view, at offsets; parts say what is occupied when") {
  LoweredModule b({{"x", i32(16)}});
  const Value big = b.call("big", {b.in(0)}, i32(16));
  const Value half = b.view("half", big, i32(8), 32);
  const Value quarter = b.view("quarter", half, i32(4), 16);
  const Value first = b.call("first", {big}, i32(8));
  const Value second = b.call("second", {quarter, first}, i32(8));
  Module m = b.finish({b.call("end", {second}, i32(8))});
  const Planned p = plan_module(m);
  CHECK(related(p, StorageRelation::Kind::inside, "big", "quarter", 48));
  const StorageToken& t = *p.token("big");
  CHECK(t.size == 64);
  CHECK(t.parts == std::vector<TokenPart>{{0, 2, 0, 64}, {2, 3, 48, 64}});
  CHECK(p.peak("ram") == 96);  // `second` fits below the quarter that is left
  CHECK(run_and_compare(m, p) == 48 + 16 + 32);
}

TEST_CASE(
    "liveness: inputs are live from step 0, outputs to the end, when they are planned (F14)") {
  LoweredModule b({{"x", i32(8)}, {"late", i32(8)}});
  const Value t = b.call("t", {b.in(0)}, i32(8));
  const Value y = b.call("y", {t}, i32(8));
  const Value z = b.call("z", {y, b.in(1)}, i32(8));
  Module m = b.finish({y, z});
  const Planned p = plan_module(m, planned_io);
  CHECK(p.value("late")->role == Role::input);
  CHECK(p.value("late")->live == Live{{0, 3}});
  CHECK(p.value("y")->role == Role::output);
  CHECK(p.value("y")->live == Live{{1, 3}});
  CHECK(p.value("z")->live == Live{{2, 3}});
  CHECK(p.slot("t") != p.slot("late"));
  CHECK(p.program.inputs[0].planned);
  CHECK(p.program.outputs[1].place.kind == ArgPlace::Kind::pool);
  run_and_compare(m, p);
}

TEST_CASE(
    "normalise: returned inputs, constants, duplicates and parts become copies; nothing else "
    "does") {
  LoweredModule b({{"x", i32(8)}});
  const Value c = b.constant("c", {1, 2, 3});
  const Value y = b.call("y", {b.in(0), c}, i32(8));
  const Value flat = b.view("flat", y, {DType::i32, ::tenon::Shape{2, 4}});
  const Value part = b.view("part", y, i32(2), 8);
  Module m = b.finish({b.in(0), c, flat, y, part, b.in(0)});
  const Planned p = plan_module(m);
  std::size_t copies = 0;
  for (const Node* n : m.main()->body.nodes) copies += n->op == node::copy;
  CHECK(copies == 5);  // all but `flat`, which is y
  CHECK(make_outputs_ownable(m) == 0);
  CHECK(p.value("y") == nullptr);
  CHECK(p.program.outputs[0].name == "out0");
  run_and_compare(m, p);
  const Planned inside = plan_module(m, planned_io);
  run_and_compare(m, inside);
}

TEST_CASE("normalise: a module that needs nothing stays the same nodes") {
  LoweredModule b({{"x", i32(8)}});
  const Value y = b.call("y", {b.in(0)}, i32(8));
  Module m = b.finish({b.call("z", {y}, i32(8))});
  const auto before = m.main()->body.nodes;
  CHECK(make_outputs_ownable(m) == 0);
  CHECK(m.main()->body.nodes == before);
}

TEST_CASE("normalise: a view at an offset that breaks a kernel's alignment is copied, once") {
  LoweredModule b({{"x", i32(16)}});
  const Value y = b.call("y", {b.in(0)}, i32(16));
  const Value odd = b.view("odd", y, i32(4), 4), even = b.view("even", y, i32(4), 16);
  const Value u = b.call("u", {odd, even}, i32(4), {.align = 16});
  const Value w = b.call("w", {odd, u}, i32(4), {.align = 16});
  const Value loose = b.call("loose", {odd, w}, i32(4));
  Module m = b.finish({loose});
  CHECK(make_outputs_ownable(m) == 1);
  const Planned p = plan_module(m);
  CHECK(p.value("odd.copy")->live == Live{{1, 4}});
  CHECK(p.value("odd.copy")->align == 16);
  CHECK(p.token("y")->align == 16);  // `even` stands at a multiple of it
  CHECK(p.value("odd")->live == Live{{0, 5}});
  run_and_compare(m, p);
}

TEST_CASE("liveness: arms of an `if` have lifetimes of their own (F08)") {
  const auto arms = [](LoweredModule& b, Value x, const std::string& n) {
    return b.branch(
        "r" + n, b.in(1), {i32(8)},
        [&](LoweredModule& t) {
          return std::vector{t.call("b" + n, {t.call("then" + n, {x}, i32(8))}, i32(8))};
        },
        [&](LoweredModule& t) {
          return std::vector{t.call("d" + n, {t.call("else" + n, {x}, i32(8))}, i32(8))};
        })[0];
  };
  LoweredModule b({{"x", i32(8)}, {"c", {DType::boolean, ::tenon::Shape{}}}});
  const Value r1 = arms(b, b.in(0), "1");
  const Value r2 = arms(b, b.in(0), "2");
  Module m = b.finish({b.call("end", {r1, r2}, i32(8))});
  const Planned p = plan_module(m);
  // steps: 0 if, 1 then1, 2 b1, 3 else1, 4 d1, 5 if, 6 then2, 7 b2, 8 else2, 9 d2, 10 end
  CHECK(p.value("then1")->live == Live{{1, 3}});
  CHECK(p.value("b1")->live == Live{{2, 3}});
  CHECK(p.value("else1")->live == Live{{3, 5}});
  CHECK(p.value("r1")->live == Live{{5, 11}});
  CHECK(p.slot("then1") == p.slot("else1"));
  CHECK(p.slot("then2") == p.slot("else2"));
  CHECK(p.slot("b1") == p.slot("r1"));
  CHECK(p.slot("d1") == p.slot("r1"));
  CHECK(p.slot("then2") != p.slot("r1"));
  CHECK(p.peak("ram") == 96);
  for (std::uint64_t seed = 0; seed < 8; ++seed) run_and_compare(m, p, seed);
}

TEST_CASE("liveness: what one arm needs is free in the other") {
  LoweredModule b({{"x", i32(8)}, {"c", {DType::boolean, ::tenon::Shape{}}}});
  const Value only_else = b.call("only_else", {b.in(0)}, i32(8));
  const Value r = b.branch(
      "r", b.in(1), {i32(8)},
      [&](LoweredModule& t) {
        return std::vector{t.call("e", {t.call("d", {t.in(0)}, i32(8))}, i32(8))};
      },
      [&](LoweredModule& t) { return std::vector{t.call("f", {only_else}, i32(8))}; })[0];
  Module m = b.finish({r});
  const Planned p = plan_module(m);
  CHECK(p.value("only_else")->live == Live{{0, 2}, {4, 5}});  // step 1 is the `if` itself
  CHECK(p.slot("d") == p.slot("only_else"));
  CHECK(p.peak("ram") == 32);
  for (std::uint64_t seed = 0; seed < 8; ++seed) run_and_compare(m, p, seed);
}

TEST_CASE(
    "liveness: arms that return outer values, constants or one value twice; nested and empty "
    "arms") {
  LoweredModule b({{"x", i32(8)},
                   {"c", {DType::boolean, ::tenon::Shape{}}},
                   {"d", {DType::boolean, ::tenon::Shape{}}}});
  const Value y = b.call("y", {b.in(0)}, i32(8));
  const auto r = b.branch(
      "r", b.in(1), {i32(8), i32(8)},
      [&](LoweredModule& t) {
        const Value in = t.branch(
            "n", t.in(2), {i32(8)}, [&](LoweredModule&) { return std::vector{y}; },
            [&](LoweredModule& u) { return std::vector{u.call("q", {y}, i32(8))}; })[0];
        return std::vector{in, in};
      },
      [&](LoweredModule& t) {
        const Value k = t.constant("k", {1, 2, 3, 4, 5, 6, 7, 8});
        return std::vector{y, k};
      });
  b.branch(
      "none", b.in(2), {}, [](LoweredModule&) { return std::vector<Value>{}; },
      [](LoweredModule&) { return std::vector<Value>{}; });
  const Value z = b.call("z", {r[0], y}, i32(8));
  Module m = b.finish({z, r[1]});
  const Planned p = plan_module(m), naive = plan_module(m, {}, "naive"),
                inside = plan_module(m, planned_io);
  for (std::uint64_t seed = 0; seed < 16; ++seed) {
    run_and_compare(m, p, seed);
    run_and_compare(m, naive, seed);
    run_and_compare(m, inside, seed);
  }
}

TEST_CASE("liveness: in-place only where the operand dies, seen through all its views (F07)") {
  const KernelSpec inplace{.inplace = {{0, 0}}};
  SUBCASE("it dies") {
    LoweredModule b({{"x", i32(8)}});
    const Value a = b.call("a", {b.in(0)}, i32(8));
    const Value y = b.call("y", {a}, i32(8), inplace);
    Module m = b.finish({b.call("end", {y}, i32(8), inplace)});
    const Planned p = plan_module(m);
    CHECK(related(p, StorageRelation::Kind::inplace, "a", "y"));
    CHECK(p.slot("a") == p.slot("y"));
    CHECK(p.peak("ram") == 32);
    run_and_compare(m, p);
  }
  SUBCASE("it is read later") {
    LoweredModule b({{"x", i32(8)}});
    const Value a = b.call("a", {b.in(0)}, i32(8));
    const Value y = b.call("y", {a}, i32(8), inplace);
    Module m = b.finish({b.call("end", {y, a}, i32(8))});
    const Planned p = plan_module(m);
    CHECK_FALSE(related(p, StorageRelation::Kind::inplace, "a", "y"));
    run_and_compare(m, p);
  }
  SUBCASE("a view of it is read later") {
    LoweredModule b({{"x", i32(16)}});
    const Value base = b.call("base", {b.in(0)}, i32(16));
    const Value view = b.view("view", base, i32(8), 32);
    const Value y = b.call("y", {base}, i32(16), inplace);
    Module m = b.finish({b.call("end", {y, view}, i32(8))});
    const Planned p = plan_module(m);
    CHECK_FALSE(related(p, StorageRelation::Kind::inplace, "base", "y"));
    run_and_compare(m, p);
  }
  SUBCASE("a view of other bytes may live on") {
    LoweredModule b({{"x", i32(16)}});
    const Value base = b.call("base", {b.in(0)}, i32(16));
    const Value low = b.view("low", base, i32(8)), high = b.view("high", base, i32(8), 32);
    const Value y = b.call("y", {low}, i32(8), inplace);
    Module m = b.finish({b.call("end", {y, high}, i32(8))});
    const Planned p = plan_module(m);
    CHECK(related(p, StorageRelation::Kind::inplace, "low", "y"));
    run_and_compare(m, p);
  }
  SUBCASE("results and kept values outlive the last step, which reads them") {
    for (const bool keep : {false, true}) {
      LoweredModule b({{"x", i32(8)}});
      const Value a = b.call("a", {b.in(0)}, i32(8)), a2 = b.call("a2", {a}, i32(8));
      const Value y = b.call("y", {a2}, i32(8), inplace);
      Module m = keep ? b.finish({y}) : b.finish({a2, y});
      const Planned p = plan_module(
          m, {.io_planned = true,
              .keep = keep ? std::vector<std::string>{"a2"} : std::vector<std::string>{}});
      CHECK_FALSE(related(p, StorageRelation::Kind::inplace, "a2", "y"));
      run_and_compare(m, p);
    }
  }
  SUBCASE("views of the result do not keep it from the operand's place") {
    LoweredModule b({{"x", i32(8)}});
    const Value a = b.call("a", {b.in(0)}, i32(8));
    const Value y = b.call("y", {a}, i32(8), inplace);
    const Value flat = b.view("flat", y, {DType::i32, ::tenon::Shape{2, 4}});
    const Value half = b.view("half", flat, i32(4), 16);
    Module m = b.finish({b.call("end", {half}, i32(8))});
    const Planned p = plan_module(m);
    CHECK(related(p, StorageRelation::Kind::inplace, "a", "y"));
    CHECK(p.value("half")->live == Live{{2, 3}});
    CHECK(p.slot("a") == p.slot("y"));
    CHECK(run_and_compare(m, p) == 16);
  }
  SUBCASE("another operand reads the same bytes") {
    for (const bool both : {false, true}) {
      LoweredModule b({{"x", i32(8)}});
      const Value a = b.call("a", {b.in(0)}, i32(8));
      const Value alias = b.debug("alias", a);
      const KernelSpec pairs = both ? KernelSpec{.inplace = {{0, 0}, {1, 0}}} : inplace;
      Module m = b.finish({b.call("end", {b.call("y", {a, alias}, i32(8), pairs)}, i32(8))});
      const Planned p = plan_module(m);
      CHECK(related(p, StorageRelation::Kind::inplace, "a", "y") == both);
      run_and_compare(m, p);
    }
  }
  SUBCASE("a constant, the caller's input and the caller's output stay as they are (F13)") {
    LoweredModule b({{"x", i32(8)}});
    const Value c = b.constant("c", {1, 2, 3, 4, 5, 6, 7, 8});
    const Value y = b.call("y", {c}, i32(8), inplace), z = b.call("z", {b.in(0)}, i32(8), inplace);
    const Value out = b.call("out", {y, z}, i32(8));
    Module m = b.finish({out, b.call("after", {out}, i32(8), inplace)});
    const Planned p = plan_module(m);
    CHECK(std::none_of(p.values.relations.begin(), p.values.relations.end(),
                       [](auto& r) { return r.kind == StorageRelation::Kind::inplace; }));
    run_and_compare(m, p);
  }
}

TEST_CASE("liveness: constants live always, in their own pool, identical ones once (F15)") {
  LoweredModule b({{"x", i32(8)}});
  const Value c = b.constant("c", std::vector<std::int32_t>(250, 3)),
              twin = b.constant("twin", std::vector<std::int32_t>(250, 3));
  const Value other = b.constant("other", {1, 2}), unused = b.constant("unused", {7});
  const Value part = b.view("part", twin, i32(10), 40);
  static_cast<void>(unused);
  const Value t = b.call("t", {b.in(0), c, part}, i32(2));
  Module m = b.finish({b.call("y", {t, twin, other}, i32(2))});
  const Planned p = plan_module(m);
  CHECK(p.peak("ram") == 8);
  CHECK(p.peak("const") == 1008);
  CHECK(p.value("twin") == nullptr);
  CHECK(p.value("unused") == nullptr);
  CHECK(p.value("c")->live == Live{{0, 2}});
  CHECK(related(p, StorageRelation::Kind::inside, "c", "part", 40));
  CHECK(p.program.constants.size() == 2);
  run_and_compare(m, p);
}

TEST_CASE("liveness: a join behind the last step, of a result of an `if`, that nothing reads") {
  LoweredModule b({{"x", i32(4)}});
  const Value condition = b.call("c", {b.in(0)}, {DType::boolean, ::tenon::Shape{}});
  const auto arm = [](const char* name) {
    return [name](LoweredModule& m) { return std::vector{m.call(name, {m.in(0)}, i32(4))}; };
  };
  const Value y = b.call("y", {b.in(0)}, i32(4));
  const Value v = b.branch("if", condition, {i32(4)}, arm("then"), arm("else"))[0];
  b.join("whole", {v}, i32(4));
  Module m = b.finish({y});
  run_and_compare(m, plan_module(m));
}

TEST_CASE("liveness: values of 0 bytes need no storage (F28)") {
  LoweredModule b({{"x", i32(8)}, {"none", i32(0)}});
  const Value z = b.call("z", {b.in(0)}, i32(0)), a = b.call("a", {b.in(0), z, b.in(1)}, i32(2));
  const Value c = b.constant("c", {});
  Module m = b.finish({b.call("y", {a, z}, i32(8)), z, b.in(1), b.copy("zz", z), c});
  const Planned p = plan_module(m);
  CHECK(p.request.tokens.size() == 1);
  CHECK(p.peak("ram") == 8);
  run_and_compare(m, p);
  run_and_compare(m, plan_module(m, planned_io));
}

TEST_CASE(
    "liveness: scratch is planned with the activations, worker scratch in a pool of its own") {
  LoweredModule b({{"x", i32(8)}});
  const Value a = b.call("a", {b.in(0)}, i32(64));
  const Value s = b.call("s", {a}, i32(8), {.shared = {100, 28}, .worker = 48});
  const Value t = b.call("t", {s}, i32(64), {.worker = 32});
  Module m = b.finish({b.call("y", {t}, i32(8))});
  const Planned p = plan_module(m);
  CHECK(p.value("s.b2")->role == Role::scratch);
  CHECK(p.value("s.b2")->live == Live{{1, 2}});
  CHECK(p.value("s.worker")->role == Role::worker);
  CHECK(p.peak("ram") == 256 + 100 + 28 + 32);  // with the activations; 256 + 32 and 128 apart
  CHECK(p.peak("worker") == 48);
  CHECK(p.program.kernels[1].n_shared == 2);
  CHECK(p.program.kernels[1].worker_bytes == 48);
  run_and_compare(m, p);
}

TEST_CASE(
    "liveness: modules that are not lowered, sizes that are not known (F25), loops: refused by "
    "name") {
  const auto refuse = [](Module m, int code, const std::string& word) {
    auto v = storage_values(m, {});
    REQUIRE_FALSE(v);
    CHECK(v.errors()[0].code == code);
    CHECK_MESSAGE(v.errors()[0].what.find(word) != std::string::npos, v.errors()[0].what);
  };
  refuse(Module(builtin_ops()), 4201, "main");
  {
    LoweredModule b({{"x", i32(8)}});
    refuse(b.finish({b.in(0)}), 4203, "result 0");
  }
  {
    LoweredModule b({{"x", i32(8)}});
    const Value y = b.call("y", {b.in(0)}, i32(8));
    b.module().kernels.clear();
    refuse(b.finish({y}), 4201, "k_y");
  }
  {
    LoweredModule b({{"x", {DType::i32, std::vector<Dim>{Dim::symbol(0)}}}});
    b.module().symbols.push_back({"n", 1, {}});
    refuse(b.finish({}), 4202, "x");
  }
  {
    LoweredModule b({{"x", i32(8)}});
    const Value y = b.call("y", {b.in(0)}, i32(8));
    refuse(b.finish({b.call("z", {b.view("v", y, i32(8), 4)}, i32(8))}), 4202, "v");
  }
}

}  // namespace tenon::test
