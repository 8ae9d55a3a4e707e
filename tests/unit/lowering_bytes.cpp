// Sums of products of bytes: by an instruction that takes four steps, where the target has one.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>

#include "tenon/text.h"
#include "tests/support/lowering_kit.h"
#include "tests/support/te_cases.h"
#include "tests/support/tensors.h"

using namespace tenon;
using namespace tenon::test;

namespace {

bool is_tensorised(const te::Compute& c, const TargetFacts& facts) {
  const Lowered l = lower(c, facts);
  const auto& loops = l.schedule.stages.back().loops;
  const bool says = std::ranges::count(loops, LoopKind::tensor, &LoopSpec::kind) == 1;
  CHECK(says == (std::ranges::count(l.kernel.exprs, tir::Kind::dot, &tir::Expr::kind) > 0));
  return says;
}

}  // namespace

TEST_CASE("lowering: products of bytes, over shapes that fit no vector and no tile") {
  std::vector<Case> cases;
  const auto add = [&](std::int64_t m, std::int64_t n, std::int64_t groups, std::int64_t width,
                       bool scaled) {
    cases.push_back({.name = fmt::format("{}x{} of {} groups, panels of {}{}", m, n, groups, width,
                                         scaled ? ", scaled" : ""),
                     .compute = byte_matmul(m, n, groups, width, scaled),
                     .low = -128,
                     .high = 255});
  };
  for (const std::int64_t m : {0, 1, 2, 5, 7, 13}) add(m, 64, 5, 64, m % 2 == 1);
  for (const std::int64_t groups : {0, 1, 2, 3, 9, 33}) add(3, 32, groups, 16, groups % 2 == 1);
  for (const std::int64_t width : {1, 2, 3, 5, 8, 15, 16, 17, 31, 48, 80}) {
    add(4, width, 3, width, true);
    add(6, 3 * width, 4, width, false);
  }
  judge(cases);
}

TEST_CASE("lowering: convolutions of bytes over blocks of channels, padded and not") {
  std::vector<Case> cases;
  for (const std::int64_t k : {1, 3})
    for (const std::int64_t stride : {1, 2})
      for (const std::int64_t out : {5, 16}) {
        auto c = compute_for("packed_integer_conv2d",
                             {TensorType(DType::u8, Shape{1, 2, 7, 9, 8}),
                              TensorType(DType::i8, Shape{3, 2, k, k, 2, out, 4})},
                             {{"strides", std::vector<std::int64_t>{stride, stride}},
                              {"pads", std::vector<std::int64_t>(4, k / 2)},
                              {"pad", std::int64_t{77}}});
        REQUIRE(c);
        CHECK(is_tensorised(*c, facts_with_bytes()));
        cases.push_back({.name = fmt::format("window {} stride {} to blocks of {}", k, stride, out),
                         .compute = *c,
                         .low = -128,
                         .high = 255});
      }
  judge(cases);
}

TEST_CASE("lowering: bytes are multiplied in groups where the target can, and where they lie so") {
  CHECK(is_tensorised(byte_matmul(6, 64, 8, 64), facts_with_bytes()));
  CHECK(is_tensorised(byte_matmul(1, 16, 1, 16, true), facts_with_bytes()));
  CHECK(!is_tensorised(byte_matmul(6, 64, 8, 64), plain_facts()));
  // The other way about: bytes of a matrix whose columns are not packed.
  te::Builder b({{DType::u8, Shape{8, 16}}, {DType::i8, Shape{16, 32}}});
  const T x = b.input(0), w = b.input(1);
  b.output(b.stage("matmul", {8, 32}, [&](Index i) {
    return b.reduce(te::Fold::sum, {{"k", 4}, {"q", 4}}, [&](Index r) {
      const E k = r[0] * 4 + r[1];
      return b.cast(x({i[0], k}), DType::i32) * b.cast(w({k, i[1]}), DType::i32);
    });
  }));
  const te::Compute plain = b.take();
  CHECK(!is_tensorised(plain, facts_with_bytes()));
  judge({{.name = "columns apart", .compute = plain, .low = -128, .high = 255}});
}

TEST_CASE("lowering: a schedule with a tensor loop, written down") {
  const auto c = te_lowering().compute(byte_matmul(7, 48, 6, 48), plain_facts(), {});
  REQUIRE(c);
  const auto code = [&](std::string_view loops) {
    const auto s =
        parse_schedule(fmt::format("schedule \"mine\" {{ %2 output: {} }}", loops), "s.tir", *c);
    REQUIRE(s);
    const auto k = te_lowering().kernel(*c, *s, plain_facts(), {});
    if (!k) return k.errors()[0].code;
    judge_schedules(*c, {*s});
    return 0;
  };
  CHECK(code("i0, i1, k, q/4 tensor") == 0);
  CHECK(code("i0/3, i1/32, k/2, k unroll, q/4 tensor, i0 unroll, i1/16 unroll, i1/16 vector") == 0);
  CHECK(code("i0 parallel, i1, k unroll, q/4 tensor") == 0);
  CHECK(code("i1/8 parallel, i0/2, q/4 tensor, k, i0 unroll, i1/8 vector") == 0);
  CHECK(code("i0, i1, q/4 tensor, k/3 unroll, k/3 vector") == 6203);
  CHECK(code("i0, i1, k, q/2 tensor") == 6203);
  CHECK(code("i0, i1, k, q/2, q tensor") == 6203);
  CHECK(code("i0, i1, q, k/4 tensor") == 6203);
  CHECK(code("i1, k, q/4 tensor, i0/4 vector") == 6203);
  CHECK(code("i0, k, q, i1/4 tensor") == 6203);
}
