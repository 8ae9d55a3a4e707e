// Kernels with one anchor: convolutions, matrix products, pools, and one that no library has heard
// of.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>

#include "tests/support/lowering_kit.h"
#include "tests/support/te_cases.h"

using namespace tenon;
using namespace tenon::test;

TEST_CASE("lowering: convolutions") {
  std::vector<Case> cases;
  const auto add = [&](const char* name, Conv p) { cases.push_back({name, conv(p)}); };
  add("1x1", {.c = 5, .h = 4, .w = 5, .o = 7, .bias = true, .relu = true});
  add("1x1 of a batch", {.n = 2, .c = 3, .h = 3, .w = 6, .o = 4});
  add("3x3", {.c = 3, .h = 6, .w = 7, .o = 4, .kh = 3, .kw = 3, .pad = 1, .bias = true});
  add("3x3 on whole vectors",
      {.c = 2, .h = 5, .w = 32, .o = 8, .kh = 3, .kw = 3, .pad = 1, .residual = true});
  add("3x3 stride 2", {.c = 3, .h = 9, .w = 35, .o = 5, .kh = 3, .kw = 3, .stride = 2, .pad = 1});
  add("stride 2 without padding", {.c = 3, .h = 8, .w = 8, .o = 5, .kh = 2, .kw = 2, .stride = 2});
  add("1x1 stride 2", {.c = 6, .h = 8, .w = 8, .o = 9, .stride = 2});
  add("1x1 stride 2, packed",
      {.n = 2, .c = 5, .h = 9, .w = 37, .o = 20, .stride = 2, .bias = true});
  add("dilated",
      {.c = 2, .h = 9, .w = 9, .o = 3, .kh = 3, .kw = 3, .pad = 2, .dilation = 2, .relu = true});
  add("groups", {.c = 6, .h = 5, .w = 5, .o = 4, .kh = 3, .kw = 3, .pad = 1, .groups = 2});
  add("depthwise", {.c = 5,
                    .h = 7,
                    .w = 19,
                    .o = 5,
                    .kh = 3,
                    .kw = 3,
                    .pad = 1,
                    .groups = 5,
                    .bias = true,
                    .relu = true});
  add("depthwise stride 2",
      {.c = 3, .h = 8, .w = 34, .o = 3, .kh = 3, .kw = 3, .stride = 2, .pad = 1, .groups = 3});
  add("depthwise 5x5 of a batch",
      {.n = 2, .c = 3, .h = 7, .w = 7, .o = 3, .kh = 5, .kw = 5, .pad = 2, .groups = 3});
  add("one element", {.c = 1, .h = 1, .w = 1, .o = 1, .kh = 3, .kw = 3, .pad = 1});
  add("no batch at all", {.n = 0, .c = 2, .h = 3, .w = 3, .o = 2, .kh = 3, .kw = 3, .pad = 1});
  add("no channels", {.c = 0, .h = 3, .w = 3, .o = 2, .bias = true});
  add("i32", {.c = 3, .h = 6, .w = 6, .o = 4, .kh = 3, .kw = 3, .pad = 1, .dtype = DType::i32});
  add("f64", {.c = 3, .h = 6, .w = 9, .o = 4, .kh = 3, .kw = 3, .pad = 1, .dtype = DType::f64});
  judge(cases);
}

TEST_CASE("lowering: steps of a window in the border of a small image are not there") {
  std::vector<Case> cases;
  const auto add = [&](const char* name, Conv p) {
    p.c = 16, p.o = std::max<std::int64_t>(p.o, 16), p.kw = 3;
    cases.push_back({name, packed_conv(p, 16)});
  };
  add("sides that tiles do not divide", {.h = 7, .w = 9, .o = 32, .kh = 3, .pad = 1, .bias = true});
  add("one row", {.h = 1, .w = 17, .kh = 3, .pad = 1, .relu = true});
  add("one column", {.h = 16, .w = 1, .o = 40, .kh = 3, .pad = 1});
  add("rows of nothing but padding", {.h = 3, .w = 6, .kh = 1, .pad = 2, .bias = true});
  add("an image smaller than its padding", {.h = 2, .w = 2, .kh = 3, .pad = 2});
  add("stride 2", {.h = 11, .w = 14, .kh = 3, .stride = 2, .pad = 1, .residual = true});
  add("stride 3", {.h = 10, .w = 16, .o = 48, .kh = 3, .stride = 3, .pad = 1});
  add("dilated", {.h = 9, .w = 13, .kh = 3, .pad = 2, .dilation = 2});
  add("dilated beyond the image", {.h = 4, .w = 5, .kh = 3, .pad = 5, .dilation = 5});
  add("a batch", {.n = 3, .h = 5, .w = 8, .kh = 3, .pad = 1, .bias = true, .residual = true});
  add("more than one tile inside", {.h = 12, .w = 29, .o = 64, .kh = 3, .pad = 1});
  judge(cases);
  for (const Case& c : cases) {
    CAPTURE(c.name);
    CHECK(test::lower(c.compute, plain_facts()).compute.stages.size() == 1);  // no copy is left
  }
}

TEST_CASE("lowering: convolutions over packed channels") {
  std::vector<Case> cases;
  const auto add = [&](const char* name, Conv p) { cases.push_back({name, packed_conv(p, 16)}); };
  add("1x1", {.c = 32, .h = 4, .w = 5, .o = 48, .bias = true, .relu = true});
  add("3x3",
      {.c = 16, .h = 3, .w = 15, .o = 32, .kh = 3, .kw = 3, .pad = 1, .bias = true, .relu = true});
  add("3x3 stride 2, residual", {.c = 16,
                                 .h = 9,
                                 .w = 8,
                                 .o = 64,
                                 .kh = 3,
                                 .kw = 3,
                                 .stride = 2,
                                 .pad = 1,
                                 .residual = true});
  add("5x5 dilated", {.c = 16, .h = 5, .w = 3, .o = 16, .kh = 5, .kw = 5, .pad = 4, .dilation = 2});
  add("first layer", {.c = 3, .h = 19, .w = 17, .o = 32, .kh = 3, .kw = 3, .stride = 2, .pad = 1});
  for (std::int64_t stride : {1, 2})
    for (std::int64_t k : {3, 5}) {
      add("depthwise", {.c = 32,
                        .h = 7,
                        .w = 19,
                        .o = 32,
                        .kh = k,
                        .kw = k,
                        .stride = stride,
                        .pad = k / 2,
                        .groups = 32,
                        .bias = true,
                        .relu = true});
      add("depthwise of a batch, window as large as the image", {.n = 2,
                                                                 .c = 16,
                                                                 .h = k,
                                                                 .w = k,
                                                                 .o = 16,
                                                                 .kh = k,
                                                                 .kw = k,
                                                                 .stride = stride,
                                                                 .pad = k / 2,
                                                                 .groups = 16});
    }
  add("depthwise, more padding than image",
      {.c = 16, .h = 1, .w = 2, .o = 16, .kh = 3, .kw = 3, .pad = 2, .dilation = 2, .groups = 16});
  judge(cases);
}

TEST_CASE("lowering: padding before a small window over packed channels costs nothing inside") {
  const Conv p{
      .c = 32, .h = 20, .w = 33, .o = 32, .kh = 3, .kw = 3, .stride = 2, .pad = 1, .groups = 32};
  const Lowered l = lower(packed_conv(p, 16), plain_facts());
  CHECK(l.compute.stages.size() == 1);
  CHECK(l.kernel.worker_bytes == 0);
  for (const tir::Expr& e : l.kernel.exprs) {
    CHECK_FALSE((e.kind == tir::Kind::load && e.args.size() == 2));  // masked
    CHECK_FALSE((e.kind == tir::Kind::scalar && e.op == ScalarOp::select));
  }
  // What the windows of a tile share is loaded once.
  std::size_t loads = 0, products = 0;
  for (const tir::Expr& e : l.kernel.exprs) {
    loads += e.kind == tir::Kind::load && e.type.lanes == 16;
    products += e.kind == tir::Kind::scalar && e.op == ScalarOp::fma;
  }
  CHECK(loads < products);
}

TEST_CASE("lowering: matrix products") {
  std::vector<Case> cases;
  for (auto [b, m, n, k] : {std::array<std::int64_t, 4>{0, 1, 1, 1},
                            {0, 7, 16, 5},
                            {0, 13, 17, 3},
                            {0, 6, 64, 9},
                            {0, 32, 15, 8},
                            {0, 1, 33, 21},
                            {0, 19, 1, 33},
                            {3, 5, 18, 7},
                            {0, 5, 6, 0},
                            {0, 0, 6, 2},
                            {2, 1, 1, 64},
                            {0, 16, 128, 4}})
    for (bool transposed : {false, true})
      cases.push_back({fmt::format("{} x {}x{}x{} {}", b, m, n, k, transposed),
                       matmul(b, m, n, k, transposed)});
  for (auto [m, n, k] : {std::array<std::int64_t, 3>{13, 128, 7}, {1, 64, 33}, {6, 192, 1}})
    cases.push_back({fmt::format("panels {}x{}x{}", m, n, k), panel_matmul(m, n, k, 64)});
  cases.push_back({"rows a page apart", matmul(0, 33, 512, 32, false, DType::f64)});
  cases.push_back({"i64", matmul(0, 5, 9, 7, false, DType::i64)});
  cases.push_back({"f64", matmul(0, 5, 9, 19, true, DType::f64)});
  {
    te::Builder b({{DType::u8, Shape{5, 34}}, {DType::i8, Shape{34, 19}}});
    b.output(b.stage("quantised", {5, 19}, [&](Index i) {
      return b.reduce(te::Fold::sum, {{"k", 34}}, [&](Index r) {
        return b.cast(b.input(0)({i[0], r[0]}), DType::i32) *
               b.cast(b.input(1)({r[0], i[1]}), DType::i32);
      });
    }));
    cases.push_back({"u8 x i8", b.take()});
  }
  judge(cases);
}

TEST_CASE("lowering: pools") {
  std::vector<Case> cases;
  for (te::Fold f : {te::Fold::max, te::Fold::sum, te::Fold::min}) {
    const int n = static_cast<int>(f);
    cases.push_back({fmt::format("3x3 s2 {}", n),
                     pool({.c = 3, .h = 9, .w = 20, .kh = 3, .kw = 3, .stride = 2, .pad = 1}, f)});
    cases.push_back({fmt::format("2x2 s2 {}", n),
                     pool({.c = 2, .h = 6, .w = 34, .kh = 2, .kw = 2, .stride = 2}, f)});
    cases.push_back({fmt::format("3x3 s1 {}", n),
                     pool({.n = 2, .c = 2, .h = 5, .w = 17, .kh = 3, .kw = 3, .pad = 1}, f)});
  }
  judge(cases);
}

TEST_CASE("lowering: an operation from nowhere: strided windowed maximum of |a - b|") {
  te::Builder b({{DType::f32, Shape{4, 70}}, {DType::f32, Shape{4, 70}}});
  b.output(b.stage("out", {4, 33}, [&](Index i) {
    return b.reduce(te::Fold::max, {{"k", 5}}, [&](Index r) {
      const E at = i[1] * 2 + r[0];
      return te::unary(ScalarOp::abs, b.input(0)({i[0], at}) - b.input(1)({i[0], at}));
    });
  }));
  const te::Compute c = b.take();
  judge({{"windowed", c}});
  const Lowered l = lower(c, plain_facts());
  const bool wide = std::any_of(
      l.kernel.exprs.begin(), l.kernel.exprs.end(),
      [](const tir::Expr& e) { return e.kind == tir::Kind::load && e.type.lanes == 16; });
  CHECK(wide);
}

TEST_CASE("lowering: groups of a convolution are an axis, so that all indices are affine") {
  const auto affine = [](const te::Compute& c) {
    const te::Compute r = lower(c, plain_facts()).compute;
    bool all = true;
    for (const te::Stage& s : r.stages)
      for (te::ExprId id : te::reachable(r, s.value))
        if (r.exprs[id].kind == te::Kind::load)
          for (te::ExprId index : r.exprs[id].args) all = all && te::affine_of(r, s, index).ok;
    return all;
  };
  const Conv pointwise{.c = 12, .h = 5, .w = 5, .o = 24, .groups = 3, .bias = true};
  const Conv window{.c = 4, .h = 6, .w = 17, .o = 8, .kh = 3, .kw = 3, .pad = 1, .groups = 2};
  CHECK(affine(conv(pointwise)));
  CHECK(affine(conv(window)));
  // Rows that are repeated: the quotient of the row, not that of neighbours in memory.
  te::Builder b({{DType::f32, Shape{5, 40}}});
  b.output(b.stage("up", {10, 40}, [&](Index i) { return b.input(0)({i[0] / 2, i[1]}); }));
  const te::Compute repeated = b.take();
  CHECK(affine(repeated));
  judge({{"pointwise in groups", conv(pointwise), 8},
         {"window in groups", conv(window), 8},
         {"repeated rows", repeated}});
}
