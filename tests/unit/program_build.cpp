// From plan to program to a run: stale plans, exact pools, guard pages, and plans that are wrong.
#include <doctest/doctest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <nlohmann/json.hpp>

#include "core/program/guarded_memory.h"
#include "core/program/metadata.h"
#include "tests/support/lowered_module.h"
#include "tests/support/planned.h"

namespace tenon::test {
namespace {

Module sample() {
  LoweredModule b({{"x", i32(8)}});
  const Value w = b.constant("w", {1, 2, 3, 4});
  const Value a = b.call("a", {b.in(0), w}, i32(8), {.shared = {32}, .worker = 64});
  const Value c = b.call("c", {a, b.in(0)}, i32(8));
  const Value d = b.call("d", {c, a}, i32(8), {.inplace = {{0, 0}}});
  return b.finish({b.call("y", {d, w}, i32(8))});
}

/// The same program with the bytes of value `from` at the place of `to`, as a planner without a
/// judge might have it.
ExecProgram planted(const Module& m, Planned& p, const std::string& from, const std::string& to) {
  StoragePlan wrong = p.plan;
  for (std::size_t k = 0; k < p.request.tokens.size(); ++k) {
    if (&p.request.tokens[k] == p.token(from)) wrong.slots[k] = p.slot(to);
  }
  CHECK_FALSE(judge_plan(p.values, p.request, wrong));
  auto program = build_program(m, p.values, p.request, wrong);
  REQUIRE_MESSAGE(program, text(program.status()));
  return *program;
}

}  // namespace

TEST_CASE("program: arguments are resolved, pools are exact") {
  Module m = sample();
  const Planned p = plan_module(m);
  REQUIRE(p.program.steps.size() == 4);
  const ExecStep& a = p.program.steps[0];
  CHECK(a.name == "a");
  CHECK(a.args[0] == ArgPlace{ArgPlace::Kind::input, 0, 0, 32});
  CHECK(a.args[1] == ArgPlace{ArgPlace::Kind::pool, 1, 0, 16});
  CHECK(a.args[2].bytes == 32);
  CHECK(a.args.size() == 4);                  // in, in, out, scratch
  REQUIRE(a.values.size() == 5);              // and the worker scratch
  for (const std::size_t i : {1u, 3u, 4u}) {  // those that the request knows: by id
    const auto is = [&](const TokenMember& x) { return x.id == a.values[i]; };
    const auto holds = [&](const StorageToken& t) { return std::ranges::any_of(t.members, is); };
    CHECK(std::ranges::count_if(p.request.tokens, holds) == 1);
  }
  CHECK(p.program.steps[3].args.back() == ArgPlace{ArgPlace::Kind::output, 0, 0, 32});
  for (std::size_t i = 0; i < p.program.pools.size(); ++i)
    CHECK(p.program.pools[i].bytes == p.plan.pools[i].peak);
  CHECK(p.program.pools[1].kind == ExecPool::Kind::constants);
  CHECK(p.program.pools[2].kind == ExecPool::Kind::worker);
  CHECK(p.program.kernels.size() == 4);
  CHECK(p.program.inputs[0].align == 4);
}

TEST_CASE("program: one byte less in a pool is refused before anything runs") {
  Module m = sample();
  Planned p = plan_module(m);
  for (std::size_t i = 0; i < p.program.pools.size(); ++i) {
    ExecProgram small = p.program;
    REQUIRE(small.pools[i].bytes > 0);
    --small.pools[i].bytes;
    auto run = run_reference(m, small, random_inputs(m, 1));
    REQUIRE_FALSE(run);
    CHECK(run.errors()[0].code == 4512);
  }
}

TEST_CASE("program: a stale plan is refused by name, whatever changed") {
  Module m = sample();
  const Planned p = plan_module(m);
  const auto refuse = [&](Module other, const MemoryConfig& config) {
    make_outputs_ownable(other);
    auto values = storage_values(other, config);
    REQUIRE(values);
    auto request = fold(*values);
    REQUIRE(request);
    auto program = build_program(other, *values, *request, p.plan);
    REQUIRE_FALSE(program);
    CHECK(program.errors()[0].code == 4501);
    CHECK(program.errors()[0].what.find("stale") != std::string::npos);
  };
  Module in_place = sample();
  in_place.kernels[2].kernel.inplace.clear();
  refuse(std::move(in_place), {});
  Module scratch = sample();
  scratch.kernels[0].kernel.worker_bytes = 128;
  refuse(std::move(scratch), {});
  refuse(sample(), {.io_planned = true});
  refuse(sample(), {.keep = {"a"}});
  CHECK(build_program(sample(), p.values, p.request, p.plan));  // derived anew from an equal module
  StoragePlan short_plan = p.plan;
  short_plan.slots.pop_back();
  auto program = build_program(m, p.values, p.request, short_plan);
  REQUIRE_FALSE(program);
  CHECK(program.errors()[0].code == 4502);
}

TEST_CASE("program: every planted overlap of values that live together changes the result") {
  Module m = sample();
  Planned p = plan_module(m, {}, "naive");
  const std::vector<Tensor> in = random_inputs(m, 5);
  const auto expected = evaluate(m, *m.main(), in);
  REQUIRE(expected);
  const std::pair<std::string, std::string> wrong[] = {
      {"c", "a"}, {"a", "c"}, {"a.b3", "a"}, {"a", "a.b3"}, {"d", "a"}};
  for (const auto& [from, to] : wrong) {
    auto run = run_reference(m, planted(m, p, from, to), in);
    REQUIRE_MESSAGE(run, text(run.status()));
    CHECK_MESSAGE(!same_tensors(run->outputs, *expected), from, " onto ", to);
  }
}

TEST_CASE("program: bytes are poisoned as soon as they are dead, so a stale read shows") {
  LoweredModule b({{"x", i32(8)}});
  const Value a = b.call("a", {b.in(0)}, i32(8));
  const Value c = b.call("c", {a}, i32(8));
  const Value d = b.call("d", {c}, i32(8));
  Module m = b.finish({d});
  Planned p = plan_module(m, {}, "naive");
  // As if liveness had forgotten the read of `a` by d's step: d reads a's place.
  ExecProgram stale = p.program;
  stale.steps[2].args[0] = p.program.steps[0].args[1];
  auto run = run_reference(m, stale, random_inputs(m, 1));
  REQUIRE(run);
  for (const std::int32_t v : run->outputs[0].as<std::int32_t>())
    CHECK(v == 1 - 1);  // 1 + 0xffffffff
}

TEST_CASE("program: memory that nobody wrote is poison") {
  Module m = sample();
  Planned p = plan_module(m);
  ExecProgram none = p.program;
  none.steps.clear();
  auto run = run_reference(m, none, random_inputs(m, 1));
  REQUIRE(run);
  for (const std::int32_t v : run->outputs[0].as<std::int32_t>()) CHECK(v == -1);
}

TEST_CASE("program: wrong inputs are refused") {
  Module m = sample();
  const Planned p = plan_module(m);
  auto none = run_reference(m, p.program, {});
  REQUIRE_FALSE(none);
  CHECK(none.errors()[0].code == 4511);
  std::vector<Tensor> in = random_inputs(m, 1);
  in[0].type.dtype = DType::f32;
  auto typed = run_reference(m, p.program, in);
  REQUIRE_FALSE(typed);
  CHECK(typed.errors()[0].what.find("f32[8]") != std::string::npos);
  Module bare = sample();
  bare.computes.clear();
  auto missing = run_reference(bare, p.program, random_inputs(m, 1));
  REQUIRE_FALSE(missing);
  CHECK(missing.errors()[0].code == 4512);
}

TEST_CASE("program: guarded memory faults one byte past its end, and sees writes before it") {
  auto flush = GuardedMemory::make(4096 + 64, 64);
  REQUIRE(flush);
  CHECK(reinterpret_cast<std::uintptr_t>(flush->data()) % 64 == 0);
  CHECK((reinterpret_cast<std::uintptr_t>(flush->data()) + 4096 + 64) % 4096 == 0);
  CHECK(flush->data()[100] == GuardedMemory::poison);
  std::byte* before = flush->data() - 1;
  *before = std::byte{1};
  CHECK_FALSE(flush->intact());
  auto odd = GuardedMemory::make(100, 64);
  REQUIRE(odd);
  CHECK(odd->intact());
  odd->data()[100] = std::byte{1};
  CHECK_FALSE(odd->intact());
  CHECK_FALSE(GuardedMemory::make(UINT64_MAX, 64));
  const pid_t child = fork();
  if (child == 0) {
    signal(SIGSEGV, SIG_DFL);
    *static_cast<volatile std::byte*>(flush->data() + flush->size()) = std::byte{1};
    _exit(0);
  }
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
  CHECK_FALSE((WIFEXITED(status) && WEXITSTATUS(status) == 0));
}

TEST_CASE("program: metadata says what each function needs") {
  Module m = sample();
  const Planned p = plan_module(m);
  auto text_form = metadata_json(m, p.request, p.plan);
  REQUIRE(text_form);
  const auto j = nlohmann::json::parse(*text_form);
  const auto& main = j["functions"]["main"];
  CHECK(main["workspace"]["ram"] == p.plan.pools[0].peak);
  CHECK(main["constants"]["const"] == 16);
  CHECK(main["worker"]["worker"] == 64);
  CHECK(main["io"] == 64);
  CHECK(main["inputs"]["x"]["size"] == 32);
  CHECK(main["outputs"]["out0"]["type"] == "i32[8]");
  CHECK(j["functions"]["k_a"]["workspace"] == 32);
  CHECK(j["functions"]["k_a"]["worker"] == 64);
  CHECK(j["functions"]["k_a"]["target"] == "cpu");
  CHECK(j["functions"]["k_a"]["calls"] == 1);
  CHECK(*metadata_json(m.clone(), p.request, p.plan) == *text_form);
}

TEST_CASE("program: a chain of 100 000 steps") {
  LoweredModule b({{"x", i32(2)}});
  Value v = b.call("s", {b.in(0)}, i32(2));
  for (int i = 0; i < 100000; ++i) v = b.copy("", b.view("", v, i32(2)));
  Module m = b.finish({v});
  const Planned p = plan_module(m, {}, "naive");
  CHECK(p.peak("ram") == 8 * 100000);  // the last one is the caller's
  CHECK(run_and_compare(m, p) == 8 * 99999);
}

}  // namespace tenon::test
