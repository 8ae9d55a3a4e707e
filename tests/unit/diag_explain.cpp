// Every code that the sources use has a page, and every page says what it is about.
#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <regex>
#include <set>
#include <sstream>

#include "core/diag/explain.h"

namespace tenon {
namespace {

std::string read_all(const std::filesystem::path& p) {
  std::ostringstream s;
  s << std::ifstream(p).rdbuf();
  return s.str();
}

/// Codes as sources write them: `.code = 2104`, `code = 2104`, `Diag{2104`.
std::map<int, std::string> used_codes() {
  const std::regex pattern(R"((?:\bcode\s*=\s*|Diag\{\s*)([1-9]\d{3})\b(?!\s*\+))");
  std::map<int, std::string> used;
  for (const char* room : {"core", "passes", "plugins", "sdk/include", "sdk/runtime"})
    for (const auto& e : std::filesystem::recursive_directory_iterator(
             std::filesystem::path(TENON_SOURCE_DIR) / room)) {
      if (e.path().extension() != ".cpp" && e.path().extension() != ".h") continue;
      const std::string text = read_all(e.path());
      for (std::sregex_iterator it(text.begin(), text.end(), pattern), end; it != end; ++it)
        used.emplace(std::stoi((*it)[1]), e.path().string());
    }
  return used;
}

TEST_CASE("explain: every code in the sources has a page") {
  const auto used = used_codes();
  REQUIRE(used.contains(2104));
  for (const auto& [code, file] : used)
    CHECK_MESSAGE(explain(code),
                  "TN" << code << " (" << file << ") has no page in sdk/docs/errors");
}

TEST_CASE("explain: pages are in order and each starts with its own title") {
  int last = 0;
  for (const ErrorPage& p : error_pages()) {
    CHECK(p.code > last);
    last = p.code;
    CHECK_MESSAGE(p.text.starts_with("# TN" + std::to_string(p.code) + ": "), p.code);
    CHECK_MESSAGE(p.text.size() > 120, "TN" << p.code << " says too little");
  }
}

TEST_CASE("explain: how a code may be spelled") {
  CHECK(parse_code("TN2104") == 2104);
  CHECK(parse_code("tn2104") == 2104);
  CHECK(parse_code("2104") == 2104);
  for (const char* s : {"", "TN", "TN21045", "TN21o4", "21", "-104", "0004", "TN 104"})
    CHECK_FALSE(parse_code(s));
  CHECK_FALSE(explain(1));
}

}  // namespace
}  // namespace tenon
