// Damaged text gives named errors with places, never a crash.
#include <doctest/doctest.h>

#include <random>

#include "tests/support/sample_module.h"

namespace tenon::test {
namespace {

void check_errors(const Diags& errors) {
  CHECK(errors.size() >= 1);
  CHECK(errors.size() <= 20);
  for (const Diag& d : errors) {
    CHECK(d.code >= 3000);
    CHECK(d.code < 4000);
    CHECK(!d.what.empty());
    CHECK(d.loc.file == "damaged.tir");
  }
}

void read(const std::string& text, const Blobs& blobs, const std::shared_ptr<const OpTable>& ops) {
  auto m = parse_module(text, "damaged.tir", ops, blobs);
  if (!m) return check_errors(m.errors());
  CHECK(bool(verify(*m)));  // what is accepted keeps all laws, and can be printed
  CHECK(!print(*m).empty());
}

TEST_CASE("text: 2000 seeded byte flips and 500 truncations give errors, not crashes") {
  const Module m = sample_module();
  Blobs blobs;
  const std::string text = print(m, {.blobs = &blobs});
  std::mt19937 random(2026);
  for (int k = 0; k < 2000; ++k) {
    std::string damaged = text;
    const int flips = 1 + static_cast<int>(random() % 3);
    for (int f = 0; f < flips; ++f)
      damaged[random() % damaged.size()] ^= static_cast<char>(1u << (random() % 8));
    read(damaged, blobs, m.ops_ptr());
  }
  for (int k = 0; k < 500; ++k) read(text.substr(0, random() % text.size()), blobs, m.ops_ptr());
}

TEST_CASE("text: tokens that are dropped, doubled or swapped give errors, not crashes") {
  const Module m = sample_module();
  Blobs blobs;
  const std::string text = print(m, {.blobs = &blobs});
  std::mt19937 random(5);
  for (int k = 0; k < 1000; ++k) {
    std::string damaged = text;
    const std::size_t at = random() % damaged.size(), n = 1 + random() % 12;
    switch (random() % 3) {
      case 0:
        damaged.erase(at, n);
        break;
      case 1:
        damaged.insert(at, damaged.substr(at, n));
        break;
      case 2:
        damaged.insert(random() % damaged.size(), damaged.substr(at, n));
        break;
    }
    read(damaged, blobs, m.ops_ptr());
  }
}

TEST_CASE("text: deep nesting is an error with a name") {
  const auto ops = builtin_ops();
  const auto first = [&](const std::string& text) {
    auto m = parse_module(text, "damaged.tir", ops);
    REQUIRE(!m);
    check_errors(m.errors());
    return m.errors()[0].code;
  };
  std::string regions = "tenon 1.0\nmodule \"m\"\nfunc @main() -> () {\n";
  for (int k = 0; k < 100'000; ++k) regions += "primitive() region () {\n";
  CHECK(first(regions) == 3053);
  std::string parens =
      "tenon 1.0\nmodule \"m\"\ncompute @c(%0: f32[4]) -> (%1) {\n stage %1 \"s\": f32[i: 4] = ";
  CHECK(first(parens + std::string(100'000, '(')) == 3053);
  CHECK(first("tenon 1.0\nmodule \"m\"\nkernel @k {\n range 1 grain 1 work 0\n var $0 \"b\": i64\n "
              "var $1 \"e\": i64\n" +
              [] {
                std::string s;
                for (int k = 0; k < 100'000; ++k) s += "if true {\n";
                return s;
              }()) == 3053);
}

TEST_CASE("text: all errors of a file are reported, each once, at most 20") {
  std::string text = "tenon 1.0\nmodule \"m\"\nfunc @main(%0: f32[4]) -> (\"y\") {\n";
  text += "  %1 = nonsense(%0) : f32[4]\n";
  text += "  %2 = neg(%1) : f32[4]\n";  // not an error of its own
  text += "  %3 = neg(%77) : f32[4]\n";
  text += "  %4 = neg(%0) : f99[4]\n";
  text += "  return %4\n}\n";
  text += "func @g(%0 f32[4]) -> () {\n  return\n}\n";
  auto m = parse_module(text, "damaged.tir", builtin_ops());
  REQUIRE(!m);
  std::vector<int> lines;
  for (const Diag& d : m.errors()) lines.push_back(d.loc.line);
  CHECK(lines == std::vector<int>{4, 6, 7, 10});
  CHECK(m.errors()[1].loc.col == 12);

  std::string many = "tenon 1.0\nmodule \"m\"\nfunc @main(%0: f32[4]) -> () {\n";
  for (int k = 0; k < 100; ++k)
    many += "  %" + std::to_string(k + 1) + " = nonsense(%0) : f32[4]\n";
  auto capped = parse_module(many + "  return\n}\n", "damaged.tir", builtin_ops());
  REQUIRE(!capped);
  CHECK(capped.errors().size() == 20);
}

}  // namespace
}  // namespace tenon::test
