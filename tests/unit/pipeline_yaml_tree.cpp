// The YAML reader: places, strictness, limits; and that no bytes crash it.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <random>
#include <sstream>

#include "core/pipeline/yaml_tree.h"

namespace tenon {
namespace {
using Kind = YamlNode::Kind;

YamlPtr good(std::string_view text) {
  auto r = parse_yaml(text, "f");
  if (!r) FAIL("unexpected: " << r.errors()[0].what << " at " << r.errors()[0].loc.line);
  return *r;
}
Diags bad(std::string_view text) {
  const auto r = parse_yaml(text, "f");
  if (r) FAIL("accepted: " << text);
  return r.errors();
}
const YamlNode& at(const YamlPtr& n, std::string_view key) {
  const YamlEntry* e = n->find(key);
  REQUIRE(e);
  return *e->value;
}

TEST_CASE("yaml: every node knows its place") {
  const auto t = good(
      "tenon: 1\nsteps: [a, {b: {x: 'q z', y: \"\\\"\"}}]\nm:\n  - one\n  - k: |\n      text\n");
  CHECK(at(t, "tenon").loc == Loc{"f", 1, 8, 9});
  CHECK(t->entries[1].key_loc == Loc{"f", 2, 1, 6});
  const auto& steps = at(t, "steps");
  CHECK(steps.loc == Loc{"f", 2, 8, 9});
  CHECK(steps.items[0]->loc == Loc{"f", 2, 9, 10});
  const auto& b = *steps.items[1]->find("b")->value;
  CHECK(b.find("x")->key_loc == Loc{"f", 2, 17, 18});
  CHECK(b.find("x")->value->loc == Loc{"f", 2, 20, 25});
  CHECK(b.find("x")->value->text == "q z");
  CHECK(b.find("x")->value->quoted);
  CHECK(b.find("y")->value->loc == Loc{"f", 2, 30, 34});
  const auto& m = at(t, "m");
  CHECK_FALSE(m.items[0]->quoted);
  CHECK(m.items[0]->loc == Loc{"f", 4, 5, 8});
  CHECK(m.items[1]->find("k")->value->quoted);
  CHECK(m.items[1]->find("k")->value->text == "text\n");
}

TEST_CASE("yaml: columns count code points, also after a byte order mark") {
  const auto t = good("\xEF\xBB\xBF{\"\xC3\xA9\xF0\x9F\x98\x80\": x, k: y}\r\n");
  CHECK(t->find("k")->key_loc == Loc{"f", 1, 11, 12});
  CHECK(t->find("k")->value->loc == Loc{"f", 1, 14, 15});
}

TEST_CASE("yaml: scalars keep their text") {
  const auto t = good("a: 010\nb: yes\nc: ~\nd:\ne: '~'\nf: 1_000\ng: \"\"\nh: null\n");
  CHECK(at(t, "a").text == "010");
  CHECK(at(t, "b").text == "yes");
  CHECK(at(t, "c").kind == Kind::null);
  CHECK(at(t, "c").loc == Loc{"f", 3, 4, 5});
  CHECK(at(t, "d").kind == Kind::null);
  CHECK(at(t, "d").loc == Loc{"f", 4, 1, 2});
  CHECK(at(t, "e").kind == Kind::scalar);
  CHECK(at(t, "g").quoted);
  CHECK(at(t, "h").kind == Kind::null);
}

TEST_CASE("yaml: an empty document is a null node") {
  for (const char* s : {"", "\n\n", "# only a comment\n", "---\n", "~"})
    CHECK(good(s)->kind == Kind::null);
}

TEST_CASE("yaml: aliases stand where they are written, their insides where those were written") {
  const auto t = good("a: &x {k: 1}\nb: *x\nc: &y v\nd: *y\n");
  CHECK(at(t, "b").loc == Loc{"f", 2, 4, 6});
  CHECK(at(t, "b").find("k")->value->loc == Loc{"f", 1, 11, 12});
  CHECK(at(t, "d").text == "v");
  CHECK(at(t, "c").loc == Loc{"f", 3, 7, 8});
}

TEST_CASE("yaml: a key that stands twice is refused with both places") {
  const Diags d = bad("a: 1\nb: {c: 1, 'c': 2}\na: 2\n");
  REQUIRE(d.size() == 2);
  CHECK(d[0].code == 2011);
  CHECK(d[0].loc == Loc{"f", 2, 11, 14});
  CHECK(d[0].notes[0] == "first at f:2:5");
  CHECK(d[1].loc == Loc{"f", 3, 1, 2});
  CHECK(d[1].notes[0] == "first at f:1:1");
}

TEST_CASE("yaml: what is not supported is named, each at its place") {
  const Diags d =
      bad("a: !!int 5\nb: &x {k: 1}\nc: {<<: *x}\nd: ${HOME}/x\ne: $HOME\nf: '${x}'\ng: ! 5\n");
  std::vector<int> lines;
  for (const Diag& x : d) {
    CHECK(x.code == 2013);
    CHECK(x.what.ends_with("is not supported"));
    CHECK_FALSE(x.fix.empty());
    lines.push_back(x.loc.line);
  }
  CHECK(lines == std::vector<int>{1, 3, 4, 5, 6, 7});
  CHECK(bad("a: 1\n---\nb: 2\n")[0].what == "a second document is not supported");
  CHECK(bad("a: &x [*x]\n")[0].what == "an alias inside the node that it names is not supported");
  CHECK(bad("? [a]\n: 1\n")[0].what == "a list as a key is not supported");
  CHECK(bad("~: 1\n")[0].what == "nothing as a key is not supported");
  CHECK(good("{'<<': 1, price: \"5$\", glob: 'a$b'}")->entries.size() == 3);
}

TEST_CASE("yaml: limits on depth, aliases, size") {
  const auto nested = [](int n) {
    return std::string(static_cast<std::size_t>(n), '[') + "x" +
           std::string(static_cast<std::size_t>(n), ']');
  };
  CHECK(good(nested(63))->height == 64);
  CHECK(bad(nested(64))[0].code == 2012);
  CHECK(bad(nested(100000))[0].code == 2012);
  CHECK(bad(std::string(100000, '['))[0].code == 2012);
  CHECK(bad("a: &a " + nested(40) + "\nb: " + std::string(40, '[') + "*a" + std::string(40, ']'))[0]
            .code == 2012);

  std::string laughs = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n";
  for (int i = 1; i < 9; ++i) {
    laughs += fmt::format("a{}: &a{} [", i, i);
    for (int k = 0; k < 10; ++k) laughs += fmt::format("{}*a{}", k ? ", " : "", i - 1);
    laughs += "]\n";
  }
  CHECK(bad(laughs)[0].code == 2012);
  CHECK(bad(std::string((1 << 20) + 1, 'x'))[0].code == 2012);
  std::string many = "[";
  for (int i = 0; i < 100001; ++i) many += "x,";
  CHECK(bad(many + "]")[0].code == 2012);
}

TEST_CASE("yaml: bytes that are no text") {
  CHECK(bad(std::string_view("a: \0", 4))[0].what == "control character 0x00");
  CHECK(bad("a: \xff\n")[0].what == "not UTF-8");
  CHECK(bad("a: \xff\n")[0].loc == Loc{"f", 1, 4, 5});
  CHECK(bad("\xff\xfe"
            "a\x01")[0]
            .code == 2010);
  CHECK(bad("a: \x1b[31m")[0].code == 2010);
  CHECK(good("a: \xEF\xBF\xBD\n")->entries.size() == 1);
}

TEST_CASE("yaml: malformed text gives one named error with a place") {
  for (const char* s : {"a: [",       "a: {",    "a: 'x",       "a: \"x",
                        "a: \"\\q\"", "a: b: c", "a:\n\t- b",   "- a\nb: c",
                        "a: *nobody", "[a, b",   "]",           "}",
                        "a: ]",       "&",       "*",           "!",
                        "@a",         "`a",      "%",           "a: |x",
                        "? ",         "- - - [", "{a: 1, b",    "key: [a, {b: c]",
                        "\"",         "'",       "a: 1\n b: 2", "%YAML 9.9\n---\na"}) {
    const auto r = parse_yaml(s, "f");
    if (r) continue;  // some of these are odd but legal
    CHECK_MESSAGE(r.errors()[0].code >= 2010, s);
    CHECK_MESSAGE(r.errors()[0].code <= 2013, s);
    CHECK_MESSAGE(r.errors()[0].loc.line >= 1, s);
  }
}

/// Shipped files with bytes flipped, cut, doubled: a tree or an error, never a crash, and places
/// inside the text.
TEST_CASE("yaml: fuzz") {
  std::vector<std::string> seeds{
      "a: &x {k: [1, 'two', \"th\\u0041ree\"]}\nb: *x\nc: |\n  text\n  more\nd: >-\n  folded\n? "
      "e\n: f\n- g\n"};
  for (const auto& e : std::filesystem::recursive_directory_iterator(
           std::filesystem::path(TENON_SOURCE_DIR) / "pipelines"))
    if (e.path().extension() == ".yaml") {
      std::ostringstream s;
      s << std::ifstream(e.path()).rdbuf();
      seeds.push_back(s.str());
    }
  std::mt19937 rng(20240817);
  const auto pick = [&](std::size_t n) { return static_cast<std::size_t>(rng() % n); };
  constexpr std::string_view odd = "{}[]:,-?*&!|>'\"%@`#\n\t \\<0a~";
  std::size_t accepted = 0, refused = 0;
  for (int round = 0; round < 3000; ++round) {
    std::string s = seeds[pick(seeds.size())];
    for (std::size_t k = 1 + pick(4); k > 0 && !s.empty(); --k) {
      const std::size_t i = pick(s.size());
      switch (pick(4)) {
        case 0:
          s[i] = static_cast<char>(s[i] ^ (1 << pick(8)));
          break;
        case 1:
          s[i] = odd[pick(odd.size())];
          break;
        case 2:
          s.erase(i, 1 + pick(20));
          break;
        case 3:
          s.insert(i, s.substr(pick(s.size()), pick(40)));
          break;
      }
    }
    const auto r = parse_yaml(s, "f");
    const auto lines = static_cast<int>(std::ranges::count(s, '\n')) + 1;
    if (r) {
      ++accepted;
    } else {
      ++refused;
      for (const Diag& d : r.errors()) {
        REQUIRE(d.loc.line <= lines);
        REQUIRE(d.loc.line >= 1);
        REQUIRE_FALSE(d.what.empty());
      }
    }
  }
  CHECK(accepted > 50);
  CHECK(refused > 100);
}

}  // namespace
}  // namespace tenon
