// From text to PipelineConfig: layers, --set, defaults, and the shipped files.
#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "core/diag/render.h"
#include "core/pipeline/config.h"
#include "core/pipeline/schema.h"
#include "tests/support/memory_files.h"

namespace tenon {
namespace {

const std::string shipped = std::string(TENON_SOURCE_DIR) + "/pipelines";

PipelineConfig load(const Files& files, LoadRequest request) {
  auto r = load_pipeline(files, request);
  if (!r) {
    SourceCache sources(&files);
    FAIL(render(r.errors(), sources));
  }
  return *std::move(r);
}
PipelineConfig load(const std::string& text, std::vector<std::string> set = {}) {
  const MemoryFiles files{{"p.yaml", text}};
  return load(files, {.pipeline = "p.yaml", .board = "", .set = std::move(set), .share = {}});
}
Diags errors(const Files& files, LoadRequest request) {
  auto r = load_pipeline(files, request);
  if (r) FAIL("accepted");
  return r.errors();
}
Diags errors(const std::string& text, std::vector<std::string> set = {}) {
  const MemoryFiles files{{"p.yaml", text}};
  return errors(files, {.pipeline = "p.yaml", .board = "", .set = std::move(set), .share = {}});
}

const std::string device =
    "tenon: 1\n"
    "targets: {m7: {with: c, cpu: cortex-m7}}\n"
    "pools:\n"
    "  dtcm: {capacity: 128KiB, base: 0x20000000, granule: 8, access: {m7: rw}, read: 1, write: "
    "1}\n"
    "  flash: {capacity: 2MiB, base: 0x08000000, access: {m7: r}}\n"
    "  pad: {holds: [worker], access: {m7: rw}}\n";

TEST_CASE("config: pools, targets, place, steps arrive with their places") {
  const PipelineConfig c =
      load(device +
           "reserved: [{pool: dtcm, at: 0x20000000, size: 1KiB, why: vectors}]\n"
           "io: planned\n"
           "keep: ['*.tap']\n"
           "place:\n"
           "  - {role: constant, pools: [flash]}\n"
           "  - {value: input, pools: [dtcm], at: 0x20000400}\n"
           "  - {pools: [dtcm]}\n"
           "steps: [import, {fuse-ops: {max_depth: 8, stop_at: [a, b]}}, tenon.fold, {plan: {with: "
           "acme.fit, work: 500, deadline: 10s, else: [greedy, naive], tries: 3}}, fold]\n");
  REQUIRE(c.memory.pools.size() == 3);
  const StoragePool& dtcm = c.memory.pools[0];
  CHECK(dtcm.capacity == 128 * 1024);
  CHECK(dtcm.base == 0x20000000);
  CHECK(dtcm.granule == 8);
  CHECK(dtcm.access.at("m7") == Access::write);
  CHECK(dtcm.holds == std::vector{Holds::data});
  CHECK(dtcm.loc == Loc{"p.yaml", 4, 3, 7});
  CHECK(c.memory.pools[1].holds == std::vector{Holds::constants});  // nothing may write it
  CHECK(c.memory.pools[2].holds == std::vector{Holds::worker});
  CHECK_FALSE(c.memory.pools[2].capacity);
  REQUIRE(c.memory.reserved.size() == 1);
  CHECK(c.memory.reserved[0].size == 1024);
  CHECK(c.memory.io_planned);
  CHECK(c.memory.keep == std::vector<std::string>{"*.tap"});
  REQUIRE(c.memory.place.size() == 3);
  CHECK(c.memory.place[0].role == Role::constant);
  CHECK(c.memory.place[1].at == 0x20000400);
  CHECK(c.memory.place[2].pools == std::vector<std::string>{"dtcm"});
  REQUIRE(c.targets.size() == 1);
  CHECK(c.targets[0].use.with == "c");
  CHECK(c.targets[0].use.options[0].key == "cpu");
  REQUIRE(c.steps.size() == 5);
  CHECK(c.steps[0].is_slot());
  CHECK(c.steps[1].name == "fuse-ops");
  CHECK(c.steps[1].use.options[1].items == std::vector<std::string>{"a", "b"});
  CHECK(c.steps[1].loc == Loc{"p.yaml", 14, 18, 26});
  CHECK(c.steps[2].id == "fold");
  CHECK(c.steps[4].id == "fold.2");
  const Step& plan = c.steps[3];
  CHECK(plan.use.with == "acme.fit");
  CHECK(plan.work == 500);
  CHECK(plan.deadline_ms == 10000);
  CHECK(plan.otherwise == std::vector<std::string>{"greedy", "naive"});
  REQUIRE(plan.use.options.size() == 1);
  CHECK(plan.use.options[0].key == "tries");
}

TEST_CASE("config: lower takes sub-slots and overrides per target") {
  const PipelineConfig c = load(device +
                                "steps: [{lower: {with: te, schedule: acme.tiles, unroll: 4, on: "
                                "{m7: {with: acme.te, unroll: 2}}}}]\n");
  const Step& s = c.steps[0];
  CHECK(s.use.parts.at("schedule") == "acme.tiles");
  CHECK(s.use.options.size() == 1);
  CHECK(s.on.at("m7").with == "acme.te");
  CHECK(s.on.at("m7").options[0].items[0] == "2");
}

TEST_CASE("config: default < board < extended < file < --set, key by key") {
  const MemoryFiles files{
      {"share/defaults.yaml", "tenon: 1\ndefaults: {plan: greedy, lower: te}\n"},
      {"share/boards/b.yaml", device + "reserved: [{pool: dtcm, at: 0x20000000, size: 1KiB}]\n"},
      {"apps/base.yaml",
       "tenon: 1\nboard: b\nio: planned\npools: {dtcm: {capacity: 64KiB}}\nsteps: [plan]\n"},
      {"apps/top.yaml",
       "tenon: 1\nextends: base.yaml\npools: {dtcm: {read: 9}, extra: {}}\ntargets: {m7: {cpu: "
       "m33}}\n"
       "reserved: [{pool: flash, at: 0x08000000, size: 16}]\nsteps: [lower, plan, {plan: {with: "
       "naive, id: again}}]\n"},
  };
  LoadRequest request{
      .pipeline = "apps/top.yaml",
      .board = "",
      .set = {"dtcm.write=7", "again.tries=5", "io=caller", "keep=[a,b]", "m7.fpu='010'"},
      .share = {"share"}};
  const PipelineConfig c = load(files, request);
  const StoragePool& dtcm = c.memory.pools[0];
  CHECK(dtcm.capacity == 64 * 1024);
  CHECK(dtcm.read_cost == 9);
  CHECK(dtcm.write_cost == 7);
  CHECK(dtcm.granule == 8);
  CHECK(c.memory.pools.back().id == "extra");
  CHECK(c.memory.reserved.size() == 2);  // a file cannot free what the board reserves
  CHECK_FALSE(c.memory.io_planned);
  CHECK(c.memory.keep == std::vector<std::string>{"a", "b"});
  CHECK(c.targets[0].use.with == "c");
  REQUIRE(c.targets[0].use.options.size() == 2);
  CHECK(c.targets[0].use.options[0].items[0] == "m33");
  CHECK(c.targets[0].use.options[1].quoted);
  CHECK(c.step("lower")->use.with == "te");
  CHECK(c.step("plan")->use.with == "greedy");
  CHECK(c.step("again")->use.with == "naive");
  CHECK(c.step("again")->use.options[0].items[0] == "5");
  CHECK(c.step("again")->use.options[0].loc.file == "--set again.tries=5");
  CHECK(c.files == std::vector<std::string>{"apps/top.yaml", "apps/base.yaml",
                                            "share/defaults.yaml", "share/boards/b.yaml"});
  CHECK(c.board == "share/boards/b.yaml");
}

TEST_CASE("config: --set reaches steps with and without options, and says what it cannot reach") {
  const std::string text = device + "steps: [import, plan, fold, fold]\n";
  CHECK(load(text, {"plan.with=naive"}).step("plan")->use.with == "naive");
  CHECK(load(text, {"tenon.plan.with=naive"}).step("plan")->use.with == "naive");
  CHECK(load(text, {"fold.2.deep=3"}).step("fold.2")->use.options.size() == 1);
  CHECK(load(text, {"fold.deep=3"}).step("fold")->use.options.size() == 1);
  CHECK(load(text, {"pools.new.capacity=1KiB"}).memory.pools.back().capacity == 1024);
  CHECK(errors(text, {"plna.with=x"})[0].fix == "did you mean 'plan'?");
  CHECK(errors(text, {"plan=naive"})[0].what == "'plan' needs a key: plan.KEY=VALUE");
  CHECK(errors(text, {"plan.with"})[0].code == 2130);
  CHECK(errors(text, {"=x"})[0].code == 2130);
  CHECK(errors(text, {"plan.else=['"})[0].loc.file == "--set plan.else=['");
  CHECK(errors(text, {"dtcm.capacity=64KB"})[0].fix == "write 64KiB");
  CHECK(errors(text, {"dtcm.capacity=64KB"})[0].loc.file == "--set dtcm.capacity=64KB");
  CHECK(errors(text, {"steps=[]"})[0].code == 2131);
}

TEST_CASE("config: files are found by name and path, and missing ones say what there is") {
  const MemoryFiles files{{"share/graph-cpu.yaml", "tenon: 1\nboard: hots\nsteps: [import]\n"},
                          {"share/boards/host.yaml", "tenon: 1\n"},
                          {"a/self.yaml", "tenon: 1\nextends: ./b.yaml\n"},
                          {"a/b.yaml", "tenon: 1\nextends: self.yaml\nsteps: []\n"}};
  const auto fail = [&](std::string name, std::string board = "") {
    return errors(
        files,
        {.pipeline = std::move(name), .board = std::move(board), .set = {}, .share = {"share"}})[0];
  };
  CHECK(fail("graph-cup").fix == "did you mean 'graph-cpu'?");
  CHECK(fail("graph-cpu").what == "no board is called 'hots'");
  CHECK(fail("graph-cpu").loc == Loc{"share/graph-cpu.yaml", 2, 8, 12});
  CHECK(fail("nowhere/x.yaml").code == 2111);
  CHECK(fail("a/self.yaml").code == 2112);
  const PipelineConfig c =
      load(files, {.pipeline = "graph-cpu", .board = "host", .set = {}, .share = {"share"}});
  CHECK(c.board == "share/boards/host.yaml");
}

TEST_CASE("config: a message about an extended file says who extends it") {
  const MemoryFiles files{{"base.yaml", "tenon: 1\nsteps: [import]\nio: mine\n"},
                          {"top.yaml", "tenon: 1\nextends: base.yaml\n"}};
  const Diag d = errors(files, {.pipeline = "top.yaml", .board = "", .set = {}, .share = {}})[0];
  CHECK(d.loc == Loc{"base.yaml", 3, 5, 9});
  CHECK(d.notes[0] == "extended by top.yaml:2:10");
}

TEST_CASE("config: errors are sorted and capped") {
  std::string text = "tenon: 1\nsteps:\n";
  for (int i = 0; i < 30; ++i) text += "- [x]\n";
  const Diags d = errors(text);
  REQUIRE(d.size() == 21);
  for (int i = 0; i < 20; ++i) CHECK(d[static_cast<std::size_t>(i)].loc.line == i + 3);
}

TEST_CASE("config: what ships loads, by name, from where the library finds it") {
  const DiskFiles disk;
  const std::vector<std::string> share = share_folders();
  REQUIRE_FALSE(share.empty());
  CHECK(share[0] == shipped);
  std::size_t boards = 0;
  for (const std::string& p : pipeline_names(disk, share))
    for (const std::string& b : board_names(disk, share)) {
      const PipelineConfig c = load(disk, {.pipeline = p, .board = b, .set = {}, .share = share});
      CHECK_FALSE(c.steps.empty());
      CHECK_FALSE(c.memory.pools.empty());
      const PipelineConfig board = load(disk, {.pipeline = share[0] + "/boards/" + b + ".yaml",
                                               .board = "",
                                               .set = {},
                                               .share = share});
      CHECK(board.is_board);
      ++boards;
    }
  CHECK(boards >= 2);
}

}  // namespace
}  // namespace tenon
