// The loop over steps: facts, verifier, exceptions, instruments, places. Passes and slot bodies are
// made up here.
#include <doctest/doctest.h>

#include "core/diag/render.h"
#include "core/pipeline/run.h"
#include "core/plugin_host/session.h"
#include "tenon/rewrite.h"
#include "tenon/text.h"
#include "tests/support/memory_files.h"
#include "tests/support/table_index.h"

namespace tenon {
namespace {

/// main(x) = relu(x), in static shapes unless asked otherwise.
void fill(Module& m, bool symbolic = false) {
  if (symbolic) m.symbols.push_back({.name = "n"});
  Function f{.name = "main"};
  Builder b(m, f);
  const Value x =
      b.params({{.type = {DType::f32, {symbolic ? Dim::symbol(0) : Dim(2)}}, .name = "x"}})[0];
  const Value y = b.make("relu", {x});
  f.body.nodes = b.take();
  f.body.results = {y};
  f.result_names = {"y"};
  m.functions.push_back(std::move(f));
}

struct Bench {
  Session session = *open_session({.shipped = false});
  TableIndex index = usual_index();
  PipelineConfig config;
  SlotBodies bodies;
  std::vector<std::string> ran;
  std::string printed;

  Bench() {
    for (const char* slot : {"import", "lower", "plan", "emit"})
      bodies[slot] = [this, slot = std::string(slot)](Compilation& c, const Step&) {
        ran.push_back(slot);
        if (slot == "import") fill(c.module);
        return Status();
      };
  }
  void load(const std::string& steps) {
    const MemoryFiles files{
        {"p.yaml", "tenon: 1\ntargets: {t: {with: llvm}}\npools: {p: {}}\nsteps:\n" + steps}};
    auto c = load_pipeline(files, {.pipeline = "p.yaml", .board = "", .set = {}, .share = {}});
    if (!c) FAIL(c.errors()[0].what);
    config = *std::move(c);
  }
  void pass(std::string id, Status (*body)(Module&, PassContext&),
            std::vector<std::string> gives = {}, std::vector<std::string> needs = {}) {
    index.add({.id = std::move(id),
               .doc = "d",
               .needs = std::move(needs),
               .gives = std::move(gives),
               .destroys = {},
               .options = {},
               .run = body});
  }
  Compilation compilation() { return {config, session, session.ops()}; }
  Diags run(Instruments in = {}) {
    Compilation c = compilation();
    in.print = [this](const Step& s, std::string_view text) {
      printed += "after " + s.id + ": " + std::string(text);
    };
    return run_pipeline(c, index, bodies, in).errors();
  }
};

TEST_CASE("run: steps in order, times and counts by step, reports kept") {
  Bench b;
  b.pass("acme.talk", [](Module&, PassContext& c) {
    c.count("folded", 12);
    c.report({.code = 3100, .what = "slow", .severity = Severity::warning});
    return Status();
  });
  b.load("  - import\n  - acme.talk\n");
  Compilation c = b.compilation();
  CHECK(run_pipeline(c, b.index, b.bodies));
  CHECK(b.ran == std::vector<std::string>{"import"});
  REQUIRE(c.timing.size() == 2);
  CHECK(c.timing[0].name == "import");
  CHECK(c.timing[1].counts[0] == std::pair<std::string, std::int64_t>{"folded", 12});
  CHECK(c.timing[1].parts[0].name == "verify");
  CHECK(c.timing[1].ms >= c.timing[1].parts[0].ms);
  REQUIRE(c.reports.size() == 1);
  CHECK(c.reports[0].what == "slow");
  CHECK(render_timing(c.timing).find("folded 12") != std::string::npos);
}

TEST_CASE("run: parts that a body files stand under its step") {
  Bench b;
  b.bodies["import"] = [](Compilation& c, const Step&) {
    const TimedScope part(c.timing, "read");
    fill(c.module);
    return Status();
  };
  b.load("  - import\n  - simplify\n");
  Compilation c = b.compilation();
  CHECK(run_pipeline(c, b.index, b.bodies));
  REQUIRE(c.timing.size() == 2);
  REQUIRE(c.timing[0].parts.size() == 2);
  CHECK(c.timing[0].parts[0].name == "read");
  CHECK(c.timing[0].parts[1].name == "verify");
}

TEST_CASE("run: a failing pass is reported at its line, once, and stops the rest") {
  Bench b;
  b.pass("acme.fail",
         [](Module&, PassContext&) { return Status(Diag{.code = 3100, .what = "no"}); });
  b.pass("acme.fail-in-model", [](Module&, PassContext&) {
    return Status(Diag{.code = 3100, .loc = {"m.onnx", 0}, .what = "no"});
  });
  b.load("  - import\n  - acme.fail\n  - emit\n");
  Diags d = b.run();
  REQUIRE(d.size() == 1);
  CHECK(d[0].loc == Loc{"p.yaml", 6, 5, 14});
  CHECK(b.ran.size() == 1);
  b.load("  - import\n  - {acme.fail-in-model: {id: x}}\n");
  d = b.run();
  CHECK(d[0].loc.file == "m.onnx");
  CHECK(d[0].notes[0] == "in step 'x' at p.yaml:6:6");
}

TEST_CASE("run: what a plugin throws is its fault, by name") {
  Bench b;
  b.pass("acme.throw", [](Module&, PassContext&) -> Status { throw std::runtime_error("oh"); });
  b.pass("acme.throw-int", [](Module&, PassContext&) -> Status { throw 5; });
  b.load("  - import\n  - acme.throw\n");
  Diags d = b.run();
  REQUIRE(d.size() == 1);
  CHECK(d[0].code == 3901);
  CHECK(d[0].what == "pass 'acme.throw' threw an exception: oh");
  CHECK(d[0].loc.line == 6);
  b.load("  - import\n  - acme.throw-int\n");
  CHECK(b.run()[0].what == "pass 'acme.throw-int' threw an exception: not a std::exception");
  b.bodies["emit"] = [](Compilation&, const Step&) -> Status { throw std::runtime_error("slot"); };
  b.load("  - import\n  - emit\n");
  CHECK(b.run()[0].code == 3902);  // facts come before the body
}

TEST_CASE("run: a step that leaves an invalid module is named") {
  Bench b;
  b.pass("acme.break", [](Module& m, PassContext&) {
    m.functions[0].body.results = {Value{}};
    return Status();
  });
  b.load("  - import\n  - acme.break\n");
  const Diags d = b.run();
  REQUIRE(d.size() == 1);
  CHECK(d[0].code == 3904);
  CHECK(d[0].what == "pass 'acme.break' left an invalid module");
  CHECK_FALSE(d[0].notes.empty());
}

TEST_CASE("run: facts are recomputed on the module, not believed") {
  Bench b;
  b.load("  - import\n  - plan\n");
  Diags d = b.run();
  REQUIRE(d.size() == 1);
  CHECK(d[0].code == 3902);
  CHECK(d[0].what == "step 'plan' needs 'kernels-lowered', which does not hold here");
  CHECK(d[0].loc.line == 6);
  b.pass("acme.liar", [](Module&, PassContext&) { return Status(); }, {"kernels-lowered"});
  b.load("  - import\n  - acme.liar\n");
  d = b.run();
  CHECK(d[0].code == 3903);
  CHECK(d[0].what ==
        "pass 'acme.liar' says that it gives 'kernels-lowered', and that does not hold after it");
}

TEST_CASE("run: facts of plugins are remembered until destroyed") {
  Bench b;
  b.load("  - import\n  - acme.tag\n  - acme.use-tags\n");
  CHECK(b.run().empty());
  b.load("  - import\n  - acme.use-tags\n");
  CHECK(b.run()[0].code == 3902);
}

TEST_CASE("run: print-after prints what changed, or that nothing did; stop-after stops") {
  Bench b;
  b.load("  - import\n  - simplify\n  - acme.tag\n  - dead-code\n");
  CHECK(b.run({.print_after = {"import", "simplify"}, .stop_after = "acme.tag", .print = {}})
            .empty());
  CHECK(b.printed.starts_with("after import: "));
  CHECK(b.printed.find("relu") != std::string::npos);
  CHECK(b.printed.ends_with("after simplify: (unchanged)\n"));
  CHECK(b.run({.print_after = {}, .stop_after = "simplfy", .print = {}})[0].fix ==
        "did you mean 'simplify'?");
  CHECK(b.run({.print_after = {"nothing"}, .stop_after = "", .print = {}})[0].code == 2146);
  b.printed.clear();
  CHECK(b.run({.print_after = {"*"}, .stop_after = "", .print = {}}).empty());
  CHECK(b.printed.find("after dead-code: (unchanged)") != std::string::npos);
}

TEST_CASE("run: dead nodes are freed between steps") {
  Bench b;
  b.pass("acme.litter", [](Module& m, PassContext&) {
    for (int i = 0; i < 1000; ++i) m.make(*m.functions[0].body.nodes[0]);
    return Status();
  });
  b.load("  - import\n  - acme.litter\n");
  Compilation c = b.compilation();
  CHECK(run_pipeline(c, b.index, b.bodies));
  CHECK(c.module.arena_size() == 2);
}

TEST_CASE("run: a board has no steps") {
  Bench b;
  b.config.path = "b.yaml";
  CHECK(b.run()[0].code == 2107);
}

TEST_CASE("run_pass: options, facts and the verifier stand around a single pass too") {
  Bench b;
  Module m(b.session.ops());
  fill(m, true);
  const PassInfo needs{.id = "acme.p",
                       .doc = "d",
                       .needs = {"shapes-static"},
                       .gives = {},
                       .destroys = {},
                       .options = {},
                       .run = [](Module&, PassContext&) { return Status(); }};
  CHECK(run_pass(m, needs, {}).errors()[0].code == 3902);
  PassInfo fine = needs;
  fine.needs = {};
  CHECK(run_pass(m, fine, {}));
  CHECK(run_pass(m, fine, {{.key = "x", .items = {"1"}}}).errors()[0].code == 2104);
}

TEST_CASE("facts: each holds exactly where it says") {
  Bench b;
  Module m(b.session.ops());
  CHECK(holds("shapes-static", m));          // nothing is not static
  CHECK_FALSE(holds("primitives-only", m));  // there is no main
  fill(m);
  CHECK(holds("shapes-static", m));
  CHECK_FALSE(holds("primitives-only", m));
  CHECK_FALSE(holds("kernels-lowered", m));
  CHECK_FALSE(holds("memory-planned", m));
  CHECK_FALSE(holds("anything", m));
  Module dynamic(b.session.ops());
  fill(dynamic, true);
  CHECK_FALSE(holds("shapes-static", dynamic));

  StoragePlan plan;
  plan.request_hash = "abc";
  m.plan = std::make_shared<const StoragePlan>(plan);
  CHECK(holds("memory-planned", m));
  CHECK(holds("memory-planned", m,
              {.request_hash = [](const Module&) { return std::string("abc"); }}));
  CHECK_FALSE(holds("memory-planned", m,
                    {.request_hash = [](const Module&) { return std::string("abd"); }}));

  Module empty(b.session.ops());
  Function f{.name = "main"};
  Builder builder(empty, f);
  const Value x = builder.params({{.type = {DType::f32, {Dim(2)}}, .name = "x"}})[0];
  f.body.results = {x};
  f.result_names = {"y"};
  empty.functions.push_back(std::move(f));
  CHECK(holds("primitives-only", empty));
  CHECK(holds("kernels-lowered", empty));
}

}  // namespace
}  // namespace tenon
