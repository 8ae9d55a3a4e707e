// Requests and plans as files: round trips, and files that are wrong in every way, each named by
// field or line.
#include <doctest/doctest.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "core/storage/files.h"
#include "core/storage/judge.h"
#include "tests/support/storage_fixture.h"

namespace tenon::test {
namespace {

Result<RequestFile> csv(std::string_view text, const std::vector<StoragePool>& pools = {}) {
  return load_request(text, "r.csv", StorageFormat::csv, pools);
}
int csv_code(std::string_view text) { return first_code(csv(text).status().errors()); }

int json_code(std::string_view text) {
  return first_code(load_request(text, "r.json", StorageFormat::json).status().errors());
}

std::string replaced(std::string s, std::string_view from, std::string_view to) {
  const auto at = s.find(from);
  REQUIRE(at != s.npos);
  return s.replace(at, from.size(), to);
}

const std::string kJson = R"({
  "tenon_request": 1,
  "pools": [{"id": "fast", "capacity": 64, "granule": 8, "base": 4096}, {"id": "slow"}],
  "steps": ["a", "b", "c"],
  "tokens": [
    {"name": "x", "size": 16, "align": 8, "live": [0, 2], "pools": ["fast"], "at": 4112},
    {"name": "y", "size": 16, "live": [1, 3], "cost": [1, 5], "parts": [{"live": [1, 3], "bytes": [0, 8]}],
     "values": [{"id": 3, "name": "v", "offset": 0, "size": 8, "live": [1, 3], "role": "input"}]},
    {"name": "z", "size": 16, "live": [0, 2]}
  ],
  "joins": [{"a": "z", "b": "y", "delta": 0}]
}
)";

}  // namespace

TEST_CASE("storage files: requests and plans survive JSON") {
  const auto f = load_request(kJson, "r.json", StorageFormat::json);
  REQUIRE_MESSAGE(f, text(f.status()));
  const StorageRequest& r = f->request;
  CHECK(r.tokens.size() == 3);
  Rng rng(9);
  const auto round_trip = [](const StorageRequest& q) {
    const std::string once = to_json(q);
    const auto back = request_from_json(once, "r.json");
    REQUIRE_MESSAGE(back, text(back.status()));
    REQUIRE(to_json(*back) == once);
    REQUIRE(request_hash(*back) == request_hash(q));
  };
  round_trip(r);
  for (int k = 0; k < 200; ++k)
    if (const auto q = prepare_request(random_request(rng, {.pools = 3}))) {
      round_trip(*q);
      const auto s = solve(*q, load_planner("greedy"), settings());
      if (!s) continue;
      const std::string once = to_json(s->plan, *q);
      const auto back = plan_from_json(once, "p.json", *q);
      REQUIRE_MESSAGE(back, text(back.status()));
      REQUIRE(to_json(*back, *q) == once);
      REQUIRE(back->slots == s->plan.slots);
      REQUIRE(judge_plan(*q, *back));
    }
  SUBCASE("a pin is an address where the pool has a base") {
    for (std::size_t i = 0; i < 3; ++i)
      if (r.tokens[i].name == "x") CHECK(r.tokens[i].at == 16);
    CHECK(to_json(r).find("\"at\": 4112") != std::string::npos);
    CHECK(json_code(replaced(kJson, "4112", "16")) == 4104);
  }
}

TEST_CASE("storage files: malformed JSON is refused with place and field (F29)") {
  const auto fails = [](std::string_view from, std::string_view to) {
    const auto f = load_request(replaced(kJson, from, to), "r.json", StorageFormat::json);
    REQUIRE_FALSE(f);
    return f.errors()[0];
  };
  CHECK(fails("\"steps\"", "\"stops\"").code == 4402);
  CHECK(fails("\"size\": 16, \"align\"", "\"size\": -4, \"align\"").what ==
        "tokens[0].size: an integer of 0..18446744073709551615 is wanted, not -4");
  CHECK(fails("\"size\": 16, \"align\"", "\"size\": -4, \"align\"").loc.line == 6);
  CHECK(fails("\"size\": 16, \"align\"", "\"size\": 1.5, \"align\"").code == 4402);
  CHECK(fails("\"size\": 16, \"align\"", "\"size\": \"16\", \"align\"").code == 4402);
  CHECK(fails("\"size\": 16, \"align\"", "\"size\": 99999999999999999999999, \"align\"").code ==
        4402);
  CHECK(fails("\"size\": 16, \"align\": 8,", "\"align\": 8,").what ==
        "tokens[0]: field 'size' is missing");
  CHECK(fails("[0, 2]", "[0]").code == 4402);
  CHECK(fails("[0, 2]", "[0, 2, 3]").code == 4402);
  CHECK(fails("\"fast\"],", "\"quick\"],").code == 4403);
  CHECK(fails("\"z\", \"b\"", "\"w\", \"b\"").code == 4403);
  CHECK(fails("\"input\"", "\"imput\"").what.find("'imput' is not known") != std::string::npos);
  CHECK(fails("\"tenon_request\": 1", "\"tenon_request\": 2").code == 4402);
  CHECK(fails("\"name\": \"x\",", "\"name\": \"x\", \"name\": \"x\",").what.find("given twice") !=
        std::string::npos);
  CHECK(fails("\"steps\": [", "\"steps\": [[").code == 4401);
  CHECK(fails("\"steps\": [", "\"steps\": [[").loc.line > 1);
  CHECK(json_code("") == 4401);
  CHECK(json_code("[]") == 4402);
  CHECK(json_code(std::string(100000, '[')) == 4401);
  SUBCASE("truncated anywhere, or with any byte changed: an error or a request, never a crash") {
    for (std::size_t n = 0; n + 2 < kJson.size(); ++n)
      CHECK_FALSE(
          load_request(std::string_view(kJson).substr(0, n), "r.json", StorageFormat::json));
    Rng rng(1);
    for (int k = 0; k < 3000; ++k) {
      std::string s = kJson;
      s[rng.below(s.size())] = static_cast<char>(rng.below(256));
      (void)load_request(s, "r.json", StorageFormat::json);
    }
  }
}

TEST_CASE("storage files: malformed plans are refused") {
  const auto f = load_request(kJson, "r.json", StorageFormat::json);
  REQUIRE(f);
  const auto s = solve(f->request, load_planner("greedy"), settings());
  REQUIRE_MESSAGE(s, text(s.status()));
  const std::string good = write_plan(s->plan, *f, StorageFormat::json);
  const auto code = [&](std::string_view from, std::string_view to) {
    return first_code(
        load_plan(replaced(good, from, to), "p.json", StorageFormat::json, *f).status().errors());
  };
  CHECK(code("\"token\": \"x\"", "\"token\": \"w\"") == 4403);
  CHECK(code("\"token\": \"x\"", "\"token\": \"y\"") != 0);
  CHECK(code("\"id\": \"slow\"", "\"id\": \"fast\"") == 4402);
  CHECK(code("\"cost\"", "\"costs\"") == 4402);
  CHECK(code("\"optimal\": ", "\"optimal\": 1, \"x\": ") == 4402);
  CHECK(first_code(judge_plan(f->request, *load_plan(replaced(good, s->plan.request_hash, "00"),
                                                     "p.json", StorageFormat::json, *f))
                       .errors()) == 4012);
}

TEST_CASE("storage files: the CSV form, in its dialects (F34)") {
  const auto f =
      csv("# a comment\r\n\r\nsize,id,upper,lower\r\n8,a,3,0\r\n\r\n 8 , b , 5 , 3 \r\n");
  REQUIRE_MESSAGE(f, text(f.status()));
  CHECK(f->request.pools[0].id == "p0");
  CHECK_FALSE(f->request.pools[0].capacity);
  const auto peak = [](const Result<RequestFile>& file) {
    REQUIRE(file);
    return solve(file->request, load_planner("greedy"), settings())->plan.pools[0].peak;
  };
  CHECK(peak(f) == 8);
  CHECK(peak(csv("id,start,end,size\na,0,3,8\nb,3,5,8\n")) == 16);  // inclusive
  CHECK(peak(csv("buffer_id,begin,upper,size,alignment\na,0,3,33,1\nb,0,3,16,16")) <= 64);
  SUBCASE("gaps") {
    CHECK(peak(csv("id,lower,upper,size,gaps\na,0,10,8,3-5\nb,3,5,8,\n")) == 8);
    CHECK(peak(csv("id,lower,upper,size,gaps\na,0,10,8,3-5@0:4\nb,3,5,8,\n")) == 12);
    CHECK(peak(csv("id,lower,end,size,gaps\na,0,10,8,3-5 7-8\nb,3,5,8,\nc,7,8,8,\n")) == 8);
  }
  SUBCASE("pins, pools and size 0 (F28)") {
    const auto p = csv("id,lower,upper,size,offset\na,0,3,8,16\nb,0,3,8,\nz,0,3,0,\n",
                       {{.id = "m", .capacity = 64}});
    REQUIRE(p);
    const auto s = solve(p->request, load_planner("greedy"), settings());
    REQUIRE(s);
    CHECK(write_plan(s->plan, *p, StorageFormat::csv) ==
          "id,lower,upper,size,offset\na,0,3,8,16\nb,0,3,8,0\nz,0,3,0,0\n");
    const auto q =
        csv("id,lower,upper,size\na,0,3,8\nb,0,3,8\n", {{.id = "m", .capacity = 8}, {.id = "n"}});
    const auto t = solve(q->request, load_planner("greedy"), settings());
    CHECK(write_plan(t->plan, *q, StorageFormat::csv) ==
          "id,lower,upper,size,pool,offset\na,0,3,8,m,0\nb,0,3,8,n,0\n");
    const auto back =
        load_plan(write_plan(t->plan, *q, StorageFormat::csv), "p.csv", StorageFormat::csv, *q);
    REQUIRE_MESSAGE(back, text(back.status()));
    CHECK(judge_plan(q->request, *back));
  }
}

TEST_CASE("storage files: each malformed row is named by its line (F29)") {
  const std::string head = "id,lower,upper,size,alignment,gaps\n";
  const auto fault = [&](const std::string& row) {
    const auto f = csv(head + "ok,0,3,8,1,\n" + row + "\n");
    REQUIRE_MESSAGE(!f, row);
    if (f.errors()[0].code == 4412) CHECK(f.errors()[0].loc.line == 3);
    return f.errors()[0].code;
  };
  for (const char* row :
       {"n,0,2,-4,1,", "n,0,2,4.5,1,", "n,0,2,,1,", "n,0,x,4,1,", "n,3,2,4,1,", "n,0,2,4",
        "n,0,2,4,1,,", ",0,2,4,1,", "n,0,2,99999999999999999999,1,", "n,0,2,4,q,", "n,0,2,4,1,5",
        "n,0,9,4,1,3-2", "n,0,9,4,1,3-20", "n,0,9,4,1,3-5@0:9", "n,0,9,4,1,3-5@0",
        "n,0,9,4,1,2-5 4-6", "n,0x0,9,4,1,"})
    CHECK_MESSAGE(fault(row) == 4412, row);
  CHECK(fault("n,0,2,4,0,") == 4108);
  CHECK(fault("ok,0,2,4,1,") == 4107);
  for (const char* header :
       {"", "\n", "id,lower,upper\n", "id,lower,size\n", "id,lower,upper,end,size\n",
        "id,id,lower,upper,size\n", "id,lower,upper,size,colour\n", "1,2,3,4\n"})
    CHECK_MESSAGE(csv_code(header) == 4411, header);
  SUBCASE("all of them at once") {
    const auto f = csv(head + "a,0,2,-1,1,\nb,0,2,-1,1,\n");
    REQUIRE_FALSE(f);
    CHECK(f.errors().size() == 2);
  }
  SUBCASE("any byte changed: an error or a request, never a crash") {
    const std::string good = head + "a,0,9,8,1,3-5@0:4\nb,3,5,8,2,\n";
    Rng rng(2);
    for (int k = 0; k < 3000; ++k) {
      std::string s = good;
      s[rng.below(s.size())] = static_cast<char>(rng.below(256));
      if (k % 3 == 0) s.resize(rng.below(s.size()));
      (void)csv(s);
    }
  }
}

TEST_CASE("storage files: plans of CSV requests") {
  const auto f = csv("id,lower,upper,size\na,0,3,8\nb,1,5,8\n");
  REQUIRE(f);
  const auto code = [&](std::string_view plan) {
    const auto p = load_plan(plan, "p.csv", StorageFormat::csv, *f);
    return p ? first_code(judge_plan(f->request, *p).errors()) : p.errors()[0].code;
  };
  CHECK(code("id,lower,upper,size,offset\na,0,3,8,0\nb,1,5,8,8\n") == 0);
  CHECK(code("id,lower,upper,size,offset\na,0,3,8,0\nb,1,5,8,4\n") == 4006);
  CHECK(code("id,lower,upper,size,offset\na,0,3,8,0\n") == 4001);
  CHECK(code("id,lower,upper,size,offset\na,0,3,8,0\na,0,3,8,0\nb,1,5,8,8\n") == 4107);
  CHECK(code("id,lower,upper,size,offset\na,0,3,8,0\nc,1,5,8,8\n") == 4403);
  CHECK(code("id,lower,upper,size,offset\na,0,3,8,0\nb,1,5,8,q\n") == 4412);
  CHECK(code("id,lower,upper,size\na,0,3,8\nb,1,5,8\n") == 4411);
  CHECK(code("id,lower,upper,size,offset\na,0,3,8,\nb,1,5,8,8\n") == 4412);
}

TEST_CASE("storage files: a plan's rows are those of the request") {
  const auto f = csv("id,lower,upper,size,alignment,gaps\na,0,9,8,4,3-5\nb,1,5,8,,\nz,0,2,0,,\n");
  REQUIRE_MESSAGE(f, text(f.status()));
  const std::string head = "id,lower,upper,size,offset\n";
  const auto refusal = [&](const std::string& plan) {
    const auto p = load_plan(plan, "p.csv", StorageFormat::csv, *f);
    return p ? Diag{} : p.errors()[0];
  };
  const auto says = [&](const std::string& plan, const std::string& what) {
    const Diag d = refusal(plan);
    CHECK_MESSAGE(d.code == 4012, plan);
    CHECK_MESSAGE(d.what.find(what) != std::string::npos, d.what);
    CHECK(d.loc.line == 2);
  };
  CHECK(refusal(head + "a,0,9,8,0\nb,1,5,8,8\nz,0,2,0,0\n").code == 0);
  CHECK(refusal("start,id,end,size,offset\n0,a,8,8,0\n1,b,4,8,8\n").code == 0);  // another dialect
  says(head + "a,0,9,4,0\nb,1,5,8,8\n", "'a': its size is 4, in the request 8");
  says(head + "a,0,7,8,0\nb,1,5,8,8\n", "it lives in [0, 7), in the request [0, 9)");
  says(head + "a,2,9,4,0\nb,1,5,8,8\n", "[2, 9), in the request [0, 9); its size is 4");
  says(head + "z,0,2,8,0\na,0,9,8,0\nb,1,5,8,8\n", "'z': its size is 8, in the request 0");
  says("id,lower,upper,size,alignment,offset\na,0,9,8,8,0\nb,1,5,8,,8\n",
       "its alignment is 8, in the request 4");
  says("id,lower,upper,size,gaps,offset\na,0,9,8,3-6,0\nb,1,5,8,,8\n", "its gaps");
  const auto json = load_request(kJson, "r.json", StorageFormat::json);
  REQUIRE(json);
  std::string plan = write_plan(solve(json->request, load_planner("greedy"), settings())->plan,
                                *json, StorageFormat::csv);
  CHECK(load_plan(plan, "p.csv", StorageFormat::csv, *json));
  plan.insert(plan.find('\n') + 1, "#\n");
  const std::size_t size =
      plan.find(',', plan.find(',', plan.find(',', plan.find("\n#\n")) + 1) + 1);
  plan.insert(size + 1, "9");
  const auto other = load_plan(plan, "p.csv", StorageFormat::csv, *json);
  REQUIRE_FALSE(other);
  CHECK(other.errors()[0].code == 4012);
  CHECK(other.errors()[0].loc.line == 3);
}

TEST_CASE("storage files: what is optimal is proved, or told as a claim") {
  const auto f = csv("id,lower,upper,size\na,0,3,8\nb,1,5,8\n");
  const auto shown = [&](std::uint64_t offset, bool claimed) {
    const auto p =
        load_plan(fmt::format("id,lower,upper,size,offset\na,0,3,8,0\nb,1,5,8,{}\n", offset),
                  "p.csv", StorageFormat::csv, *f);
    REQUIRE(p);
    StoragePlan plan = *p;
    plan.optimal = plan.optimal || claimed;
    return show_plan(f->request, plan, false);
  };
  CHECK(shown(8, false).find(", optimal\n") != std::string::npos);
  CHECK(shown(16, false).find("optimal") == std::string::npos);
  CHECK(shown(16, true).find(", claimed optimal by its planner, not checked\n") !=
        std::string::npos);
}

TEST_CASE("storage files: a request without buffers has the empty plan") {
  const auto f = csv("id,lower,upper,size\n");
  REQUIRE_MESSAGE(f, text(f.status()));
  const auto s = solve(f->request, load_planner("auto"), settings());
  REQUIRE_MESSAGE(s, text(s.status()));
  const std::string shown = show_plan(f->request, s->plan);
  CHECK(shown.starts_with("0 tokens placed by tenon.auto"));
  CHECK(shown.find("step 0") == std::string::npos);
  CHECK(s->plan.pools[0].peak == 0);
  const std::string plan = write_plan(s->plan, *f, StorageFormat::csv);
  CHECK(plan == "id,lower,upper,size,offset\n");
  CHECK(load_plan(plan, "p.csv", StorageFormat::csv, *f));
}

TEST_CASE("storage files: pools from the command line, and plans for people") {
  CHECK(pool_from_text("sram:512KiB")->capacity == 512 * 1024);
  CHECK(pool_from_text("sram:100")->capacity == 100);
  for (const char* bad : {"sram", "sram:", ":5", "sram:x", "sram:-1", "sram:5kb"})
    CHECK_MESSAGE(first_code(pool_from_text(bad).status().errors()) == 4420, bad);
  const auto f =
      csv("id,lower,upper,size\nfirst,0,3,8\nsecond,3,5,8\n", {{.id = "sram", .capacity = 64}});
  const auto s = solve(f->request, load_planner("greedy"), settings());
  const std::string shown = show_plan(f->request, s->plan);
  for (const char* word : {"sram", "64", "optimal", "tenon.greedy", "first", "[1, 2)"})
    CHECK_MESSAGE(shown.find(word) != shown.npos, word);
  CHECK(unshared(f->request, s->plan) == std::vector<std::uint64_t>{16});
  CHECK(load_request(kJson, "r.json", StorageFormat::json, {{.id = "slow", .capacity = 99}})
            ->request.pools[1]
            .capacity == 99);
  CHECK(first_code(
            load_request(kJson, "r.json", StorageFormat::json, {{.id = "no"}}).status().errors()) ==
        4403);
}

TEST_CASE("storage files: the hard public instances, where they are present") {
  const char* shared = std::getenv("TENON_SHARED");
  const std::filesystem::path dir =
      std::filesystem::path(shared ? shared : TENON_SOURCE_DIR "/../shared") / "planning";
  if (!std::filesystem::exists(dir)) {
    MESSAGE("not present: " << dir.string());
    return;
  }
  double product = 1, worst = 1;
  int n = 0;
  for (const char* name : {"A", "B", "C", "D", "E", "F", "G", "H", "I", "J", "K"}) {
    std::stringstream file;
    file << std::ifstream(dir / (std::string(name) + ".1048576.csv")).rdbuf();
    const auto f = csv(file.str());
    REQUIRE_MESSAGE(f, text(f.status()));
    const auto s = solve(f->request, load_planner("greedy"), settings());
    REQUIRE_MESSAGE(s, text(s.status()));
    CHECK(judge_plan(f->request, s->plan));
    const PoolUse& u = s->plan.pools[0];
    product *= static_cast<double>(u.peak) / static_cast<double>(u.bound);
    worst = std::max(worst, static_cast<double>(u.peak) / static_cast<double>(u.bound));
    ++n;
  }
  MESSAGE("peak over bound: geometric mean " << std::pow(product, 1.0 / n) << ", worst " << worst);
  CHECK(std::pow(product, 1.0 / n) <= 1.15);
  CHECK(worst <= 1.25);
}

}  // namespace tenon::test
