// Options and scalars: one spelling per value, and every mistake says what to write instead.
#include <doctest/doctest.h>

#include "core/support/scalars.h"
#include "tenon/options.h"

namespace tenon {
namespace {

template <class T>
bool reads(std::string_view s) {
  T v{};
  return read_scalar(s, v);
}

struct Demo {
  std::int64_t max_depth = 8;
  bool best_fit = false;
  double ratio = 0.5;
  std::string order = "size";
  Bytes limit{64 * 1024};
  std::vector<std::string> stop_at;
  static constexpr auto fields() {
    return std::tuple{Field{"max_depth", &Demo::max_depth, "levels", {.min = 1, .max = 64}},
                      Field{"best_fit", &Demo::best_fit, "smallest gap"},
                      Field{"ratio", &Demo::ratio, "share"},
                      Field{"order", &Demo::order, "what comes first"},
                      Field{"limit", &Demo::limit, "most bytes"},
                      Field{"stop_at", &Demo::stop_at, "names"}};
  }
};

OptionValue given(std::string key, std::string text, bool quoted = false) {
  return {.key = std::move(key),
          .items = {std::move(text)},
          .key_loc = {"f", 1, 2, 5},
          .loc = {"f", 1, 7, 9},
          .quoted = quoted};
}

Diags check(OptionValues values) {
  return check_options(option_rows<Demo>(), values, "pass 'tenon.demo'").errors();
}

TEST_CASE("scalars: what reads, reads as what it says") {
  std::int64_t i = 0;
  CHECK((read_scalar("-9223372036854775808", i) && i == INT64_MIN));
  CHECK((read_scalar("9223372036854775807", i) && i == INT64_MAX));
  CHECK((read_scalar("0x20000000", i) && i == 0x20000000));
  std::uint64_t u = 0;
  CHECK((read_scalar("18446744073709551615", u) && u == UINT64_MAX));
  double d = 0;
  CHECK((read_scalar("1e-3", d) && d == 1e-3));
  CHECK((read_scalar("-0.5", d) && d == -0.5));
  Bytes b;
  CHECK((read_scalar("512KiB", b) && b.n == 512 * 1024));
  CHECK((read_scalar("2MiB", b) && b.n == 2 << 20));
  CHECK((read_scalar("0", b) && b.n == 0));
}

TEST_CASE("scalars: a second spelling of a value is refused") {
  for (const char* s :
       {"010", "00", "1_000", "+5", "", " 5", "5 ", "0x", "0X1F", "5.0", "1e3", "five",
        "9223372036854775808", "-9223372036854775809", "--5", "-", "0b1", "\xff"})
    CHECK_FALSE_MESSAGE(reads<std::int64_t>(s), s);
  for (const char* s : {"-1", "-0", "18446744073709551616", "010"})
    CHECK_FALSE_MESSAGE(reads<std::uint64_t>(s), s);
  for (const char* s : {"yes", "no", "on", "True", "TRUE", "1", "", "truee"})
    CHECK_FALSE_MESSAGE(reads<bool>(s), s);
  for (const char* s : {".5", "5.", "1e", "nan", "inf", "-inf", "1e999", "01.5", "1,5", "0x1p3"})
    CHECK_FALSE_MESSAGE(reads<double>(s), s);
  for (const char* s :
       {"64KB", "64kb", "64K", "64 KiB", "1.5MiB", "-1KiB", "KiB", "17179869184GiB", "010KiB"})
    CHECK_FALSE_MESSAGE(reads<Bytes>(s), s);
}

TEST_CASE("scalars: the suggested spelling is the one that reads") {
  CHECK(suggested_spelling("bool", "yes") == "true");
  CHECK(suggested_spelling("bool", "Off") == "false");
  CHECK(suggested_spelling("int", "010") == "10");
  CHECK(suggested_spelling("int", "1_000") == "1000");
  CHECK(suggested_spelling("int", "-007") == "-7");
  CHECK(suggested_spelling("int", "1e3") == "1000");
  CHECK(suggested_spelling("int", "0X1F") == "0x1f");
  CHECK(suggested_spelling("int", "many") == "");
  CHECK(suggested_spelling("float", ".5") == "0.5");
  CHECK(suggested_spelling("float", "5.") == "5.0");
  CHECK(suggested_spelling("bytes", "64KB") == "64KiB");
  CHECK(suggested_spelling("bytes", "64 k") == "64KiB");
  CHECK(suggested_spelling("bytes", "1.5MiB") == "1536KiB");
  CHECK(suggested_spelling("bytes", "0x") == "");
}

TEST_CASE("scalars: writing and reading are inverse") {
  for (std::int64_t v : {INT64_MIN, std::int64_t{-1}, std::int64_t{0}, INT64_MAX}) {
    std::int64_t back = 1;
    CHECK((read_scalar(write_scalar(v), back) && back == v));
  }
  for (double v : {0.1, -0.0, 1e300, 5e-324, 1.0, 1234567.25}) {
    double back = 1;
    CHECK((read_scalar(write_scalar(v), back) && back == v));
  }
  for (std::uint64_t v : {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{1536},
                          std::uint64_t{1} << 40, UINT64_MAX}) {
    Bytes back;
    CHECK((read_scalar(write_scalar(Bytes{v}), back) && back.n == v));
  }
}

TEST_CASE("options: rows carry type, default, range and doc") {
  const auto rows = option_rows<Demo>();
  REQUIRE(rows.size() == 6);
  CHECK(rows[0].key == "max_depth");
  CHECK(rows[0].type == "int");
  CHECK(rows[0].dflt == "8");
  CHECK(rows[0].range.max == 64);
  CHECK(rows[4].dflt == "64KiB");
  CHECK(rows[5].dflt == "[]");
}

TEST_CASE("options: accepted values arrive in the struct") {
  OptionValue list{.key = "stop_at", .items = {"a", "b"}, .is_list = true};
  OptionValues values{given("max_depth", "3"), given("best_fit", "true"), given("ratio", "0.25"),
                      given("order", "cost"),  given("limit", "2MiB"),    list};
  REQUIRE(check(values).empty());
  const Demo d = read_options<Demo>(values);
  CHECK(d.max_depth == 3);
  CHECK(d.best_fit);
  CHECK(d.ratio == 0.25);
  CHECK(d.order == "cost");
  CHECK(d.limit.n == 2 << 20);
  CHECK(d.stop_at == std::vector<std::string>{"a", "b"});
}

TEST_CASE("options: a type like a|b takes one of these words") {
  const std::vector<OptionRow> rows{{"goal", "optimal|fit", "optimal", "what for", {}}};
  const auto check_goal = [&](const std::string& text) {
    return check_options(rows, {given("goal", text)}, "planner 'tenon.demo'").errors();
  };
  CHECK(check_goal("fit").empty());
  CHECK(check_goal("optimal").empty());
  const Diags d = check_goal("optimum");
  REQUIRE(d.size() == 1);
  CHECK(d[0].code == 2105);
  CHECK(d[0].what ==
        "option 'goal' of planner 'tenon.demo' is 'optimum', allowed are optimal, fit");
  CHECK(d[0].fix == "did you mean 'optimal'?");
  CHECK(check_goal("")[0].fix == "take one of these");
  CHECK(choices_of("string").empty());
  CHECK(choices_of("a|b|c") == std::vector<std::string>{"a", "b", "c"});
}

TEST_CASE("options: an unknown key names the near one and lists all") {
  const Diags d = check({given("max_dept", "3")});
  REQUIRE(d.size() == 1);
  CHECK(d[0].code == 2104);
  CHECK(d[0].loc == Loc{"f", 1, 2, 5});
  CHECK(d[0].what == "unknown option 'max_dept' for pass 'tenon.demo'");
  CHECK(d[0].fix == "did you mean 'max_depth'?");
  REQUIRE(d[0].notes.size() == 1);
  CHECK(d[0].notes[0].starts_with(
      "options of tenon.demo: max_depth (int, 1..64, default 8), best_fit (bool, default false)"));
}

TEST_CASE("options: wrong types, ranges and repetitions, all of them at once") {
  const Diags d =
      check({given("max_depth", "65"), given("max_depth", "3"), given("best_fit", "yes"),
             given("ratio", "5", true), given("order", "010"), given("order", "x")});
  REQUIRE(d.size() == 6);
  CHECK(d[0].what == "option 'max_depth' of pass 'tenon.demo' is 65, allowed is 1..64");
  CHECK(d[0].fix == "write 64");
  CHECK(d[0].loc == Loc{"f", 1, 7, 9});
  CHECK(d[1].code == 2106);
  CHECK(d[2].what == "option 'best_fit' of pass 'tenon.demo' takes a bool, got 'yes'");
  CHECK(d[2].fix == "write true");
  CHECK(d[3].fix == "write 5 without quotes");
  CHECK(d[4].fix == "write '010' in quotes");
  CHECK(d[5].code == 2106);
}

TEST_CASE("options: a list for a value and a value for a list") {
  OptionValue list{.key = "order", .items = {"a"}, .is_list = true};
  const Diags d = check({list, given("stop_at", "x")});
  REQUIRE(d.size() == 2);
  CHECK(d[0].what == "option 'order' of pass 'tenon.demo' takes a string, not a list");
  CHECK(d[1].fix == "write [x]");
}

TEST_CASE("options: a string takes a canonical number or quoted text, never an empty value") {
  CHECK(check({given("order", "7")}).empty());
  CHECK(check({given("order", "1.5")}).empty());
  CHECK(check({given("order", "", true)}).empty());
  CHECK(check({given("order", "")}).size() == 1);
  CHECK(check({given("order", "1_000")}).size() == 1);
  CHECK(check({given("order", "+5")}).size() == 1);
  CHECK(check({given("order", "v1.2.3")}).empty());
}

TEST_CASE("did_you_mean: near words only, the first of equals") {
  CHECK(did_you_mean("fuse-op", {"plan", "fuse-ops", "fold"}) == "fuse-ops");
  CHECK(did_you_mean("Fuse_Ops", {"plan", "fuse-ops"}) == "fuse-ops");
  CHECK(did_you_mean("paln", {"plan"}) == "plan");
  CHECK(did_you_mean("xyzzy", {"plan", "fuse-ops"}) == "");
  CHECK(did_you_mean("", {"plan"}) == "");
  CHECK(did_you_mean(std::string(100000, 'x'), {"plan"}) == "");
}

}  // namespace
}  // namespace tenon
