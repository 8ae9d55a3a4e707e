// tests/errors/ir/*.tir: wrong programs. `// error: text` at the end of a line says that this line
// has an error whose message contains the text; there are no others. So text and place of every
// message are tested.
#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "tenon/op.h"
#include "tenon/text.h"

namespace tenon {
namespace {

namespace fs = std::filesystem;

struct Expected {
  int line = 0;
  std::string text;
  bool met = false;
};

void check_file(const fs::path& path) {
  CAPTURE(path.filename().string());
  std::ostringstream all;
  all << std::ifstream(path).rdbuf();
  const std::string text = all.str();
  std::vector<Expected> expected;
  std::istringstream lines(text);
  int number = 0;
  for (std::string line; std::getline(lines, line);) {
    ++number;
    constexpr std::string_view mark = "// error: ";
    if (const auto at = line.find(mark); at != std::string::npos)
      expected.push_back({number, line.substr(at + mark.size())});
  }
  REQUIRE(!expected.empty());
  auto m = parse_module(text, path.string(), builtin_ops());
  REQUIRE(!m);
  for (const Diag& d : m.errors()) {
    auto it = std::ranges::find_if(expected, [&](const Expected& e) {
      return !e.met && e.line == d.loc.line && d.what.find(e.text) != std::string::npos;
    });
    CHECK_MESSAGE(it != expected.end(), "unexpected: ", d.loc.line, ":", d.loc.col, ": ", d.what);
    if (it != expected.end()) it->met = true;
    CHECK(d.loc.col > 0);
    CHECK(fs::exists(fs::path(TENON_SOURCE_DIR) / "sdk/docs/errors" /
                     ("TN" + std::to_string(d.code) + ".md")));
  }
  for (const Expected& e : expected)
    CHECK_MESSAGE(e.met, "line ", e.line, " lacks an error: ", e.text);
}

TEST_CASE("ir: wrong programs get the message that they ask for, on the line that they ask for") {
  int files = 0;
  for (const auto& entry : fs::directory_iterator(fs::path(TENON_SOURCE_DIR) / "tests/errors/ir")) {
    if (entry.path().extension() != ".tir") continue;
    check_file(entry.path());
    ++files;
  }
  CHECK(files >= 20);
}

}  // namespace
}  // namespace tenon
