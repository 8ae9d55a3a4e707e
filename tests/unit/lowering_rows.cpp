// Reductions over every axis, and computes of several stages that share rows.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include "tests/support/lowering_kit.h"
#include "tests/support/te_cases.h"

using namespace tenon;
using namespace tenon::test;

TEST_CASE("lowering: reductions over each axis") {
  std::vector<Case> cases;
  const Shape shape{3, 5, 19};
  for (const auto& over :
       std::vector<std::vector<std::size_t>>{{0}, {1}, {2}, {0, 1}, {1, 2}, {0, 2}, {0, 1, 2}})
    for (te::Fold f : {te::Fold::sum, te::Fold::max})
      cases.push_back(
          {fmt::format("axes from {} ({}), fold {}", over[0], over.size(), static_cast<int>(f)),
           fold_axes(shape, over, f)});
  for (std::int64_t n : {0, 1, 15, 16, 17, 64, 130})
    cases.push_back({fmt::format("row of {}", n), fold_axes({4, n}, {1}, te::Fold::sum)});
  cases.push_back({"prod", fold_axes({3, 7}, {1}, te::Fold::prod)});
  cases.push_back({"min of nothing", fold_axes({3, 0}, {1}, te::Fold::min)});
  for (DType t : {DType::f64, DType::f16, DType::i8, DType::u8, DType::i64, DType::boolean})
    for (te::Fold f : {te::Fold::max, te::Fold::min})
      cases.push_back(
          {fmt::format("{} fold {}", name(t), static_cast<int>(f)), fold_axes({3, 35}, {1}, f, t)});
  cases.push_back({"global average", fold_axes({2, 5, 7, 7}, {2, 3}, te::Fold::sum)});
  judge(cases);
}

TEST_CASE("lowering: softmax") {
  std::vector<Case> cases;
  for (const Shape& s : {Shape{5, 33}, Shape{1, 16}, Shape{3, 1}, Shape{2, 3, 20}, Shape{0, 4}})
    cases.push_back({fmt::format("last of {}x{}", s[0], s[1]), softmax(s, s.size() - 1), 8});
  cases.push_back({"middle", softmax({2, 7, 18}, 1), 8});
  cases.push_back({"first", softmax({6, 17}, 0), 8});
  judge(cases);
}

TEST_CASE("lowering: more rows than one block, fewer than two") {
  // Both blocks stand in one list of statements: the second computes its scratch anew.
  std::vector<Case> cases;
  for (std::int64_t rows : {9, 10, 11, 12, 13, 15, 17})
    for (std::int64_t cols : {2, 4, 5, 9, 33}) {
      cases.push_back({fmt::format("softmax {}x{}", rows, cols), softmax({rows, cols}, 1), 8});
      cases.push_back({fmt::format("norm {}x{}", rows, cols), layer_norm(rows, cols), 8, 1.0});
    }
  judge(cases);
}

TEST_CASE("lowering: layer norm") {
  std::vector<Case> cases;
  for (auto [rows, cols] : {std::pair{5, 37}, std::pair{1, 16}, std::pair{3, 64}})
    cases.push_back({fmt::format("{}x{}", rows, cols), layer_norm(rows, cols), 8, 1.0});
  judge(cases);
}

TEST_CASE("lowering: softmax between two products") {
  std::vector<Case> cases;
  for (const Attention& p :
       {Attention{.heads = 2, .m = 5, .n = 7, .d = 3, .e = 4},
        Attention{.heads = 3, .m = 17, .n = 33, .d = 16, .e = 18, .mask = true},
        Attention{.heads = 9, .m = 20, .n = 40, .d = 8, .e = 32},
        Attention{.heads = 1, .m = 70, .n = 64, .d = 32, .e = 16},
        Attention{.heads = 4, .m = 1, .n = 50, .d = 16, .e = 16, .mask = true},
        Attention{.heads = 2, .m = 3, .n = 1, .d = 1, .e = 1},
        Attention{.heads = 16, .m = 24, .n = 48, .d = 64, .e = 64}})
    cases.push_back(
        {fmt::format("{} heads, {}x{}, {} and {} elements", p.heads, p.m, p.n, p.d, p.e),
         attention(p), 32, 1.0});
  judge(cases);
}

TEST_CASE("lowering: no score of an attention leaves the worker's scratch") {
  const std::int64_t m = 512, n = 256;
  const Lowered l =
      lower(attention({.heads = 12, .m = m, .n = n, .d = 32, .e = 32}), plain_facts());
  CHECK(l.schedule.family == "rows");
  for (const tir::Buffer& b : l.kernel.buffers) CHECK(b.scope != tir::Scope::shared);
  CHECK(l.kernel.worker_bytes < m * n * 4 / 4);
  CHECK(l.kernel.extent >= 12);
}

TEST_CASE("lowering: stages are in step along any axis, not the first ones only") {
  const auto family = [](const Shape& s, std::size_t axis) {
    return lower(softmax(s, axis), plain_facts()).schedule.family;
  };
  CHECK(family({6, 17}, 1) == "rows");
  CHECK(family({6, 17}, 0) == "rows");
  CHECK(family({2, 7, 18}, 1) == "rows");
  CHECK(family({40}, 0) != "rows");
}

TEST_CASE("lowering: rows that are read before they are written may be overwritten") {
  using Pairs = std::vector<std::pair<std::uint32_t, std::uint32_t>>;
  const auto pairs = [](const te::Compute& c) { return lower(c, plain_facts()).kernel.inplace; };
  CHECK(pairs(softmax({50, 70}, 1)) == Pairs{{0, 1}});
  CHECK(pairs(softmax({50, 70}, 0)) == Pairs{{0, 1}});
  CHECK(pairs(layer_norm(6, 40)) == Pairs{{0, 3}});
  // Queries are read where rows of the result are written, keys before the first one of their head;
  // values all along.
  CHECK(pairs(attention({.heads = 9, .m = 48, .n = 48, .d = 32, .e = 32})) ==
        Pairs{{0, 4}, {1, 4}});
  CHECK(pairs(attention({.heads = 9, .m = 48, .n = 40, .d = 32, .e = 32})) == Pairs{{0, 4}});
  CHECK(pairs(attention({.heads = 2, .m = 48, .n = 48, .d = 32, .e = 32})) == Pairs{{0, 4}});
}
