// The pass fast-math with its option: which primitives it marks.
#include <doctest/doctest.h>

#include "tenon/pass.h"
#include "tenon/text.h"
#include "tests/support/registration.h"

using namespace tenon;

namespace {

class Context final : public PassContext {
 public:
  explicit Context(std::vector<std::string> ops)
      : options_{{.key = "ops", .items = std::move(ops), .is_list = true}} {}
  const OptionValues& options() const override { return options_; }
  void report(Diag) override {}
  void count(std::string, std::int64_t n) override { marked = n; }
  std::int64_t marked = -1;

 private:
  OptionValues options_;
};

Status run(std::vector<std::string> ops, std::int64_t* marked) {
  static const PassInfo pass = test::pass_of("tenon.fast-math");
  auto m = parse_module(R"(tenon 1.0
module "m"
func @main(%0: f32[4]) -> ("y", "z") {
  %2 = primitive(%0) : f32[4] region (%1: f32[4]) {
    %3 = exp(%1) : f32[4]
    return %3
  }
  %5 = primitive(%2) : f32[4] region (%4: f32[4]) {
    %6 = softmax(%4) : f32[4]
    return %6
  }
  return %2, %5
}
)",
                        "test.tir", builtin_ops());
  REQUIRE(m);
  Context c(std::move(ops));
  const Status s = pass.run(*m, c);
  *marked = c.marked;
  return s;
}

}  // namespace

TEST_CASE("fast-math: marks all primitives, or those with an op that is named") {
  std::int64_t marked = 0;
  CHECK(run({}, &marked));
  CHECK(marked == 2);
  CHECK(run({"softmax", "erf"}, &marked));
  CHECK(marked == 1);
  CHECK(run({"erf"}, &marked));
  CHECK(marked == 0);
  const Status s = run({"no_such_op"}, &marked);
  REQUIRE_FALSE(s);
  CHECK(s.errors()[0].code == 2105);
  CHECK(s.errors()[0].what.find("no_such_op") != std::string::npos);
}
