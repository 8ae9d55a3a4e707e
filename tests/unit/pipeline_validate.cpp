// Validation: names, options, order of facts; against a table in place of plugins.
#include <doctest/doctest.h>

#include <filesystem>

#include "core/diag/render.h"
#include "core/pipeline/validate.h"
#include "tests/support/memory_files.h"
#include "tests/support/table_index.h"

namespace tenon {
namespace {

const std::string head =
    "tenon: 1\ndefaults: {lower: te}\ntargets: {t: {with: llvm}}\npools: {p: {}}\nsteps: ";

Diags check(const std::string& text, ImplementationIndex& index) {
  const MemoryFiles files{{"p.yaml", text}};
  auto config = load_pipeline(files, {.pipeline = "p.yaml", .board = "", .set = {}, .share = {}});
  if (!config) FAIL(config.errors()[0].what);
  return validate(*config, index);
}
Diags check(const std::string& text) {
  TableIndex index = usual_index();
  return check(text, index);
}
Diag one(const std::string& text) {
  const Diags d = check(text);
  REQUIRE(d.size() == 1);
  return d[0];
}

const std::string good =
    "[import, infer-shapes, fuse-ops, {lower: {with: te}}, {plan: {with: greedy}}, {emit: {with: "
    "graph}}]\n";

TEST_CASE("validate: a good pipeline has no findings") { CHECK(check(head + good).empty()); }

TEST_CASE("validate: what ships is valid; an absent target plugin is a warning") {
  const DiskFiles disk;
  const std::vector<std::string> share{std::string(TENON_SOURCE_DIR) + "/pipelines"};
  TableIndex index = usual_index();
  index.add(SlotKind::executor, "tenon.aot");
  for (const std::string& p : pipeline_names(disk, share)) {
    const auto host =
        load_pipeline(disk, {.pipeline = p, .board = "host", .set = {}, .share = share});
    REQUIRE(host);
    CHECK(validate(*host, index).empty());
    const auto board =
        load_pipeline(disk, {.pipeline = p, .board = "stm32h743", .set = {}, .share = share});
    REQUIRE(board);
    const Diags d = validate(*board, index);
    REQUIRE(d.size() == 1);
    CHECK(d[0].code == 2143);
    CHECK(d[0].severity == Severity::warning);
    CHECK_FALSE(has_errors(d));
    CHECK(d[0].what == "target 'm7' asks for 'c', and no plugin offers it");
  }
}

TEST_CASE("validate: unknown steps and implementations name the near ones") {
  const Diag step = one(head + "[fuse-opps]\n");
  CHECK(step.code == 2140);
  CHECK(step.what == "unknown step 'fuse-opps'");
  CHECK(step.fix == "did you mean 'fuse-ops'?");
  CHECK(step.loc == Loc{"p.yaml", 5, 9, 18});
  CHECK(step.notes[0].find("import, lower, plan, emit") != std::string::npos);
  const Diag planner =
      one(head + "[infer-shapes, fuse-ops, {lower: {with: te}}, {plan: {with: gredy}}]\n");
  CHECK(planner.code == 2141);
  CHECK(planner.fix == "did you mean 'greedy'?");
  CHECK(planner.notes[0] == "planners: auto, greedy, naive");
  CHECK(planner.loc.line == 5);
  CHECK(one(head + "[infer-shapes, fuse-ops, {lower: {with: te, schedule: tiles}}]\n").what ==
        "no lowering is called 'tiles'");
  CHECK(one(head + "[infer-shapes, fuse-ops, {lower: {with: te, on: {t: {with: x}}}}]\n").what ==
        "no lowering is called 'x'");
  CHECK(one(head + "[infer-shapes, fuse-ops, {lower: {with: te}}, {plan: {with: naive, else: "
                   "[greedy, x]}}]\n")
            .what == "no planner is called 'x'");
}

TEST_CASE(
    "validate: without `with`, the default is taken; without a default, a choice is asked for") {
  CHECK(check(head + "[infer-shapes, fuse-ops, lower]\n").empty());
  const Diag d = one(head + "[infer-shapes, fuse-ops, lower, plan]\n");
  CHECK(d.what == "step 'plan' does not say which planner");
  CHECK(d.notes[0] == "planners: auto, greedy, naive");
}

TEST_CASE("validate: options of passes, implementations and targets") {
  const Diag d = one(head + "[infer-shapes, {fuse-ops: {max_dept: 8}}]\n");
  CHECK(d.code == 2104);
  CHECK(d.what == "unknown option 'max_dept' for pass 'tenon.fuse-ops'");
  CHECK(d.fix == "did you mean 'max_depth'?");
  CHECK(d.notes[0] == "options of tenon.fuse-ops: max_depth (int, 1..64, default 8)");
  CHECK(one(head + "[infer-shapes, {fuse-ops: {max_depth: 65}}]\n").code == 2105);
  CHECK(one(head + "[infer-shapes, fuse-ops, lower, {plan: {with: naive, tries: 3}}]\n").what ==
        "unknown option 'tries' for planner 'tenon.naive'");
  CHECK(one("tenon: 1\ntargets: {t: {with: llvm, cpp: x}}\nsteps: [import]\n").what ==
        "unknown option 'cpp' for target 'tenon.llvm'");
}

TEST_CASE("validate: a wrong order names the fix") {
  const Diag missing = one(head + "[import, fuse-ops]\n");
  CHECK(missing.code == 2144);
  CHECK(missing.what == "step 'fuse-ops' needs 'shapes-static', which no earlier step gives");
  CHECK(missing.fix == "insert `infer-shapes` before step `fuse-ops`");
  CHECK(missing.loc == Loc{"p.yaml", 5, 17, 25});
  CHECK(one(head + "[import, fuse-ops, infer-shapes]\n").fix ==
        "move `infer-shapes` before step `fuse-ops`");
  CHECK(one(head + "[infer-shapes, fuse-ops, {plan: {with: greedy}}]\n").fix ==
        "insert `lower` before step `plan`");
  const Diag destroyed = one(head + "[infer-shapes, fuse-ops, acme.unfuse, lower]\n");
  CHECK(destroyed.fix == "insert `fuse-ops` before step `lower`");
  CHECK(destroyed.notes[0] == "step 'acme.unfuse' destroys it");
  CHECK(one(head + "[acme.use-tags]\n").fix == "insert `acme.tag` before step `acme.use-tags`");
  CHECK(check(head + "[acme.tag, acme.use-tags, acme.use-tags]\n").empty());
  // planning before lowering, everything wrong at once: each need once
  const Diags all = check(head + "[{emit: {with: graph}}, {plan: {with: greedy}}, lower]\n");
  REQUIRE(all.size() == 4);
  for (const Diag& d : all) CHECK(d.code == 2144);
}

TEST_CASE("validate: import is first; plan and emit stand once") {
  CHECK(one(head + "[infer-shapes, import]\n").what == "step 'import' is not the first");
  const Diag d = one(
      head + "[infer-shapes, fuse-ops, lower, {plan: {with: naive}}, {plan: {with: greedy}}]\n");
  CHECK(d.what == "step 'plan' stands twice");
  CHECK(d.code == 2145);
}

TEST_CASE("validate: an implementation that is there and broken says so itself") {
  TableIndex index = usual_index();
  index.break_one("tenon.greedy",
                  {.code = 1005, .what = "plugin 'tenon' was built with _GLIBCXX_DEBUG"});
  const Diags d = check(head + "[infer-shapes, fuse-ops, lower, {plan: {with: greedy}}]\n", index);
  REQUIRE(d.size() == 1);
  CHECK(d[0].code == 1005);
}

/// Every ```yaml block of the documents that is a whole file (it says `tenon: 1`) loads and is
/// valid.
TEST_CASE("docs: every pipeline shown is valid") {
  const DiskFiles disk;
  std::size_t shown = 0;
  std::vector<std::filesystem::path> pages;
  for (const auto& e : std::filesystem::recursive_directory_iterator(
           TENON_SOURCE_DIR, std::filesystem::directory_options::skip_permission_denied)) {
    const std::string path = e.path().string().substr(std::string(TENON_SOURCE_DIR).size());
    if (e.path().extension() == ".md" && !path.starts_with("/build/") && !path.starts_with("/."))
      pages.push_back(e.path());
  }
  for (const auto& page : pages) {
    const std::string text = *disk.read(page.string());
    for (std::size_t at = text.find("```yaml\n"); at != std::string::npos;
         at = text.find("```yaml\n", at + 1)) {
      const std::size_t from = at + 8, end = text.find("\n```", from);
      const std::string block = text.substr(from, end - from + 1);
      if (block.find("tenon: 1") == std::string::npos) continue;
      CAPTURE(page.string());
      CAPTURE(block);
      const MemoryFiles memory{{"shown.yaml", block}};
      struct Both final : Files {
        const MemoryFiles& m;
        const DiskFiles& d;
        Both(const MemoryFiles& mem, const DiskFiles& dsk) : m(mem), d(dsk) {}
        Result<std::string> read(const std::string& p) const override {
          return m.exists(p) ? m.read(p) : d.read(p);
        }
        Status write(const std::string&, std::string_view) override { return {}; }
        std::vector<std::string> list(const std::string& dir) const override { return d.list(dir); }
        bool exists(const std::string& p) const override { return m.exists(p) || d.exists(p); }
      } const files(memory, disk);
      const auto config =
          load_pipeline(files, {.pipeline = "shown.yaml",
                                .board = "",
                                .set = {},
                                .share = {std::string(TENON_SOURCE_DIR) + "/pipelines"}});
      SourceCache sources(&files);
      CHECK_MESSAGE(config, (config ? "" : render(config.errors(), sources)));
      ++shown;
    }
  }
  CHECK(shown >= 2);
}

}  // namespace
}  // namespace tenon
