// tests/errors/yaml/*.yaml: wrong files. `# error: TEXT` stands on the line where the message must
// point; every message must be expected, and every expectation met.
#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>

#include "core/diag/render.h"
#include "core/pipeline/config.h"

namespace tenon {
namespace {

struct Expected {
  int line;
  std::string text;
};

std::vector<Expected> expectations(const std::string& text) {
  std::vector<Expected> out;
  constexpr std::string_view mark = "# error: ";
  int line = 1;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\n') ++line;
    if (text.compare(i, mark.size(), mark) != 0) continue;
    std::string rest = text.substr(i + mark.size(), text.find('\n', i) - i - mark.size());
    rest = rest.substr(0, rest.find(mark));
    rest.erase(rest.find_last_not_of(' ') + 1);
    out.push_back({line, rest});
  }
  return out;
}

TEST_CASE("errors: every wrong file is refused where and as it says") {
  const std::string root = std::string(TENON_SOURCE_DIR) + "/tests/errors/yaml";
  const DiskFiles disk;
  const std::vector<std::string> names = disk.list(root);
  CHECK(names.size() >= 20);
  for (const std::string& name : names) {
    CAPTURE(name);
    const std::string path = root + "/" + name;
    std::vector<Expected> expected = expectations(*disk.read(path));
    REQUIRE_FALSE(expected.empty());
    const auto r = load_pipeline(disk, {.pipeline = path,
                                        .board = "",
                                        .set = {},
                                        .share = {std::string(TENON_SOURCE_DIR) + "/pipelines"}});
    REQUIRE_FALSE(r);
    SourceCache sources(&disk);
    for (const Diag& d : r.errors()) {
      const auto hit = std::ranges::find_if(expected, [&](const Expected& e) {
        return e.line == d.loc.line && d.what.find(e.text) != std::string::npos;
      });
      if (hit == expected.end())
        FAIL_CHECK("not expected:\n" << render(d, sources));
      else
        expected.erase(hit);
      CHECK(d.loc.file == path);
      CHECK(d.loc.col > 0);
    }
    for (const Expected& e : expected) FAIL_CHECK("missing: line " << e.line << ": " << e.text);
  }
}

TEST_CASE("errors: the whole message, as people see it") {
  const DiskFiles disk;
  const std::string path = std::string(TENON_SOURCE_DIR) + "/tests/errors/yaml/board_missing.yaml";
  const auto r = load_pipeline(disk, {.pipeline = path,
                                      .board = "",
                                      .set = {},
                                      .share = {std::string(TENON_SOURCE_DIR) + "/pipelines"}});
  REQUIRE_FALSE(r);
  SourceCache sources(&disk);
  CHECK(render(r.errors()[0], sources) ==
        "error[TN2111]: no board is called 'hots'\n"
        " --> " +
            path +
            ":2:8\n"
            "  |\n"
            "2 | board: hots  # error: no board is called 'hots'\n"
            "  |        ^^^^ did you mean 'host'?\n"
            "  = boards that ship: host, mps2-an500, stm32h743\n"
            "  = a path has a '/' or ends in .yaml\n"
            "  = help: tenon explain TN2111\n");
}

}  // namespace
}  // namespace tenon
