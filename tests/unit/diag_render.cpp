// Messages: the exact text people read, the JSON tools read, and that a file cannot break either.
#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "core/diag/render.h"
#include "tests/support/memory_files.h"

namespace tenon {
namespace {

Diag sample() {
  return {.code = 2104,
          .loc = {"pipelines/m55.yaml", 2, 16, 24},
          .what = "unknown option 'max_dept' for pass 'tenon.fuse-ops'",
          .fix = "did you mean 'max_depth'?",
          .notes = {"extended by apps/kws.yaml:2:1"}};
}

TEST_CASE("render: the text form") {
  const MemoryFiles files{{"pipelines/m55.yaml", "steps:\n  - {fuse-ops: {max_dept: 8}}\n"}};
  SourceCache sources(&files);
  CHECK(render(sample(), sources) ==
        "error[TN2104]: unknown option 'max_dept' for pass 'tenon.fuse-ops'\n"
        " --> pipelines/m55.yaml:2:16\n"
        "  |\n"
        "2 |   - {fuse-ops: {max_dept: 8}}\n"
        "  |                ^^^^^^^^ did you mean 'max_depth'?\n"
        "  = extended by apps/kws.yaml:2:1\n"
        "  = help: tenon explain TN2104\n");
}

TEST_CASE("render: without the file, and without a place") {
  SourceCache sources;
  CHECK(render(sample(), sources) ==
        "error[TN2104]: unknown option 'max_dept' for pass 'tenon.fuse-ops'\n"
        " --> pipelines/m55.yaml:2:16\n"
        "  = try: did you mean 'max_depth'?\n"
        "  = extended by apps/kws.yaml:2:1\n"
        "  = help: tenon explain TN2104\n");
  CHECK(render(Diag{.what = "odd", .severity = Severity::warning}, sources) == "warning: odd\n");
}

TEST_CASE("render: colour only when asked") {
  SourceCache sources;
  CHECK(render(sample(), sources, false).find('\x1b') == std::string::npos);
  CHECK(render(sample(), sources, true).starts_with("\x1b[1;31merror[TN2104]\x1b[0m"));
}

TEST_CASE("render: columns count code points, tabs are one column") {
  SourceCache sources;
  sources.add("f", "\t\xC3\xA9\xF0\x9F\x98\x80 x: 1\r\n");
  const std::string s = render(Diag{.code = 2104, .loc = {"f", 1, 5, 6}, .what = "w"}, sources);
  CHECK(s.find("1 |  \xC3\xA9\xF0\x9F\x98\x80 x: 1\n  |     ^\n") != std::string::npos);
}

TEST_CASE("render: a file cannot speak to the terminal, and long lines are cut around the place") {
  SourceCache sources;
  sources.add("f",
              "a\x1b[31mred\xff\x07" + std::string(100000, 'b') + "!" + std::string(100000, 'c'));
  const std::string s = render(Diag{.code = 1, .loc = {"f", 1, 2}, .what = "\x1b[2J"}, sources);
  CHECK(s.find('\x1b') == std::string::npos);
  CHECK(s.find("a?[31mred??bbb") != std::string::npos);
  const std::string far = render(Diag{.code = 1, .loc = {"f", 1, 100012}, .what = "w"}, sources);
  CHECK(far.size() < 500);
  CHECK(far.find('!') != std::string::npos);
  const std::size_t line = far.find("1 | ") + 4, caret = far.find("  | ", line) + 4;
  CHECK(far.find('!') - line == far.find('^') - caret);
}

TEST_CASE("render: places outside the text") {
  SourceCache sources;
  sources.add("f", "one\n");
  for (Loc at : {Loc{"f", 9, 1}, Loc{"f", 1, 99}, Loc{"f", 1, 0}, Loc{"f", -3, -3}, Loc{"f", 2, 1},
                 Loc{"g", 1, 1}})
    CHECK(render(Diag{.code = 2104, .loc = at, .what = "w", .fix = "x"}, sources)
              .starts_with("error[TN2104]: w\n"));
}

TEST_CASE("render_json: fields, byte columns, any bytes") {
  SourceCache sources;
  sources.add("f", "\xC3\xA9\xC3\xA9 key: 1");
  Diag d{
      .code = 2104, .loc = {"f", 1, 4, 7}, .what = "bad \xff byte", .fix = "none", .notes = {"n"}};
  const auto j = nlohmann::json::parse(render_json({d}, sources));
  REQUIRE(j.size() == 1);
  CHECK(j[0]["code"] == "TN2104");
  CHECK(j[0]["severity"] == "error");
  CHECK(j[0]["line"] == 1);
  CHECK(j[0]["col"] == 4);
  CHECK(j[0]["byte_col"] == 6);
  CHECK(j[0]["notes"][0] == "n");
  CHECK(nlohmann::json::parse(render_json({}, sources)).empty());
}

TEST_CASE("sorted_and_capped: by place, once each, the rest counted") {
  Diags all;
  for (int i = 30; i-- > 0;) all.push_back({.code = 2104, .loc = {"f", i + 1, 1}, .what = "w"});
  all.push_back(all.front());
  const Diags out = sorted_and_capped(all);
  REQUIRE(out.size() == 21);
  for (int i = 0; i < 20; ++i) CHECK(out[static_cast<std::size_t>(i)].loc.line == i + 1);
  CHECK(out.back().what == "10 more not shown");
  CHECK(out.back().severity == Severity::note);
}

}  // namespace
}  // namespace tenon
