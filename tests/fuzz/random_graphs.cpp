// Random graphs on the reference executor: shared storage, storage of its own for each value, and
// the evaluator must agree to the last bit.
#include "tests/support/random_graphs.h"

#include <doctest/doctest.h>

#include "tests/support/lower_trivially.h"
#include "tests/support/planned.h"
#include "tests/support/registration.h"

namespace tenon::test {
namespace {

struct Totals {
  std::uint64_t shared = 0, below = 0, poisoned = 0, inplace = 0, views = 0, copies = 0,
                branches = 0, loops = 0, joins = 0, empty = 0, several = 0;
};

void count(const Module& m, const Planned& greedy, const Planned& naive, Totals& t) {
  t.inplace += !greedy.request.joins.empty();
  t.below += greedy.peak("ram") < naive.peak("ram");
  t.several += m.main()->body.results.size() > 1;
  bool view = false, copy = false, branch = false, loop = false, join = false, empty = false;
  for_each_node(*m.main(), [&](const Node& n) {
    view |= n.op == node::view;
    copy |= n.op == node::copy;
    branch |= n.op == node::branch;
    loop |= n.op == node::loop;
    join |= n.op == node::join;
    for (const NodeResult& r : n.results) empty |= byte_size(r.type) == 0u;
  });
  t.views += view;
  t.copies += copy;
  t.branches += branch;
  t.loops += loop;
  t.joins += join;
  t.empty += empty;
}

struct Measured final : PassContext {
  const OptionValues& options() const override { return none; }
  void report(Diag) override {}
  void count(std::string, std::int64_t) override {}
  std::optional<std::uint64_t> memory_bound(const Module& m) const override {
    Module copy = m.clone();
    return plan_module(copy, {}).bound("ram");
  }
  OptionValues none;
};

}  // namespace

TEST_CASE("random graphs: reordered for memory they compute the same and need no more") {
  const auto ops = builtin_ops();
  const PassInfo reorder = pass_of("tenon.reorder-for-memory");
  std::uint64_t less = 0;
  for (std::uint64_t seed = 1; seed <= 2000; ++seed) {
    CAPTURE(seed);
    Module m = random_graph(ops, seed);
    const std::vector<Tensor> in = random_inputs(m, seed);
    auto expected = evaluate(m, *m.main(), in);
    REQUIRE_MESSAGE(expected, text(expected.status()));
    lower_trivially(m);
    Module reordered = m.clone();
    Measured context;
    REQUIRE(reorder.run(reordered, context));
    const Planned before = plan_module(m, {}), after = plan_module(reordered, {});
    auto run = run_reference(reordered, after.program, in);
    REQUIRE_MESSAGE(run, text(run.status()));
    REQUIRE(same_tensors(run->outputs, *expected));
    CHECK(after.bound("ram") <= before.bound("ram"));
    less += after.bound("ram") < before.bound("ram");
  }
  MESSAGE(less, " need less");
  CHECK(less > 50);
}

TEST_CASE("random graphs: greedy and naive plans and the evaluator agree bitwise, 10 000 graphs") {
  const auto ops = builtin_ops();
  Totals totals;
  const MemoryConfig configs[] = {{}, {.io_planned = true}};
  for (std::uint64_t seed = 1; seed <= 10000; ++seed) {
    CAPTURE(seed);
    Module m = random_graph(ops, seed);
    const std::vector<Tensor> in = random_inputs(m, seed);
    auto expected = evaluate(m, *m.main(), in);
    REQUIRE_MESSAGE(expected, text(expected.status()));
    lower_trivially(m);
    const MemoryConfig& config = configs[seed % 2];
    const Planned greedy = plan_module(m, config), naive = plan_module(m, config, "naive");
    for (const Planned* p : {&greedy, &naive}) {
      auto run = run_reference(m, p->program, in);
      REQUIRE_MESSAGE(run, text(run.status()));
      REQUIRE(same_tensors(run->outputs, *expected));
      totals.poisoned += run->poisoned;
    }
    count(m, greedy, naive, totals);
  }
  MESSAGE("in-place ", totals.inplace, ", below naive ", totals.below, ", views ", totals.views,
          ", copies ", totals.copies, ", if ", totals.branches, ", loops ", totals.loops,
          ", joins ", totals.joins, ", empty ", totals.empty, ", several results ", totals.several,
          ", poisoned bytes ", totals.poisoned);
  // The generator covers what it is there for.
  for (const std::uint64_t n :
       {totals.inplace, totals.below, totals.views, totals.copies, totals.branches, totals.loops,
        totals.joins, totals.empty, totals.several}) {
    CHECK(n > 300);
  }
  CHECK(totals.poisoned > 0);
}

}  // namespace tenon::test
