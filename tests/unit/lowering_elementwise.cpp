// Kernels without reductions: chains, broadcasts, transposes, slices, pads, concatenations,
// gathers; every type.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include "tests/support/lowering_kit.h"
#include "tests/support/te_cases.h"

using namespace tenon;
using namespace tenon::test;

namespace {

E relu_sum(te::Builder& b, std::vector<E> x) {
  return te::max(x[0] + x[1] * x[0], b.imm(x[0].dtype(), 0));
}

te::Compute padded_copy(const Shape& in, std::int64_t before, std::int64_t after) {
  te::Builder b({{DType::f32, in}});
  b.output(b.stage("pad", {in[0] + before + after, in[1] + before + after}, [&](Index i) {
    const E y = i[0] - before, x = i[1] - before;
    return te::select(y >= b.i64(0) && y < in[0] && x >= b.i64(0) && x < in[1], b.input(0)({y, x}),
                      b.imm(DType::f32, 7));
  }));
  return b.take();
}

te::Compute concatenation(std::int64_t rows, std::int64_t a, std::int64_t c, std::size_t axis) {
  const auto shape = [&](std::int64_t n) { return axis == 1 ? Shape{rows, n} : Shape{n, rows}; };
  te::Builder b({{DType::f32, shape(a)}, {DType::f32, shape(c)}});
  b.output(b.stage("concat", shape(a + c), [&](Index i) {
    const E at = i[axis];
    const auto index = [&](E e) {
      return axis == 1 ? std::vector<E>{i[0], e} : std::vector<E>{e, i[1]};
    };
    return te::select(at < a, b.input(0)(index(at)),
                      te::select(at >= a, b.input(1)(index(at - a)), b.imm(DType::f32, 0)));
  }));
  return b.take();
}

te::Compute gathered(std::int64_t rows, std::int64_t cols, std::int64_t n, std::size_t axis) {
  te::Builder b({{DType::f32, Shape{rows, cols}}, {DType::i64, Shape{n}}});
  b.output(b.stage("gather", axis == 0 ? Shape{n, cols} : Shape{rows, n}, [&](Index i) {
    const E at = b.input(1)({i[axis]});
    return axis == 0 ? b.input(0)({at, i[1]}) : b.input(0)({i[0], at});
  }));
  return b.take();
}

/// `parts` tensors of `rows` by `cols`, one after the other along the rows.
te::Compute pile(std::int64_t parts, std::int64_t rows, std::int64_t cols) {
  te::Builder b(std::vector<TensorType>(static_cast<std::size_t>(parts),
                                        TensorType(DType::f32, Shape{rows, cols})));
  b.output(b.stage("pile", {parts * rows, cols}, [&](Index i) {
    E value = b.imm(DType::f32, 0);
    for (std::int64_t p = parts; p-- > 0;)
      value = te::select(i[0] >= p * rows && i[0] < (p + 1) * rows,
                         b.input(static_cast<std::uint32_t>(p))({i[0] - p * rows, i[1]}), value);
    return value;
  }));
  return b.take();
}

/// Two tensors side by side, seen through the rows and columns that they have together.
te::Compute side_by_side(std::int64_t rows, std::int64_t cols) {
  const TensorType part(DType::f32, Shape{rows, cols});
  te::Builder b({part, part});
  b.output(b.stage("pair", {rows, 2 * cols}, [&](Index i) {
    const E which = i[1] / cols, at = i[1] % cols;
    return te::select(which < 1, b.input(0)({i[0], at}), b.input(1)({i[0], at}));
  }));
  return b.take();
}

/// Conditions of any kind that the kernel evaluates as it runs.
int conditions(const tir::Kernel& k) {
  int n = 0;
  for (const tir::Expr& e : tir::renumbered(k).exprs)
    n += (e.kind == tir::Kind::load && e.args.size() == 2) ||
         (e.kind == tir::Kind::scalar && e.op == ScalarOp::select);
  return n;
}

}  // namespace

TEST_CASE("lowering: seams of a concatenation and borders of a pad need no conditions") {
  const TargetFacts facts = plain_facts();
  CHECK(conditions(lower(pile(5, 3, 32), facts).kernel) == 0);
  CHECK(conditions(lower(pile(70, 1, 640), facts).kernel) == 0);  // in parallel
  CHECK(conditions(lower(side_by_side(6, 64), facts).kernel) == 0);
  CHECK(conditions(lower(pile(200, 1, 16), facts).kernel) > 0);  // that many parts stay one loop
  // Lanes at the two ends of a row keep theirs.
  CHECK(conditions(lower(padded_copy({20, 40}, 1, 1), facts).kernel) <= 8);
}

TEST_CASE("lowering: elementwise chains and broadcasts") {
  std::vector<Case> cases;
  for (std::int64_t n : {0, 1, 7, 15, 16, 17, 31, 64, 257})
    cases.push_back(
        {fmt::format("chain {}", n), elementwise({n}, {{n}, {n}}, DType::f32, relu_sum)});
  cases.push_back(
      {"4-d", elementwise({2, 3, 5, 7}, {{2, 3, 5, 7}, {2, 3, 5, 7}}, DType::f32, relu_sum)});
  cases.push_back({"row", elementwise({5, 17}, {{5, 17}, {17}}, DType::f32, relu_sum)});
  cases.push_back({"column", elementwise({5, 17}, {{5, 17}, {5, 1}}, DType::f32, relu_sum)});
  cases.push_back(
      {"channel", elementwise({2, 3, 4, 5}, {{2, 3, 4, 5}, {1, 3, 1, 1}}, DType::f32, relu_sum)});
  cases.push_back({"outer", elementwise({3, 4, 19}, {{3, 1, 19}, {4, 1}}, DType::f32, relu_sum)});
  cases.push_back({"scalar", elementwise({33}, {{33}, {}}, DType::f32, relu_sum)});
  cases.push_back({"rank 0", elementwise({}, {{}, {}}, DType::f32, relu_sum)});
  cases.push_back({"large", elementwise({3, 1001}, {{3, 1001}, {3, 1001}}, DType::f32, relu_sum)});
  judge(cases);
}

TEST_CASE("lowering: every type of element") {
  std::vector<Case> cases;
  for (DType t : {DType::f64, DType::f16, DType::bf16, DType::i8, DType::i16, DType::i32,
                  DType::i64, DType::u8, DType::u16, DType::u32, DType::u64})
    cases.push_back({std::string(name(t)), elementwise({3, 37}, {{3, 37}, {37}}, t, relu_sum)});
  cases.push_back(
      {"bool", elementwise({41}, {{41}, {41}}, DType::boolean, [](te::Builder&, std::vector<E> x) {
         return (x[0] && te::unary(ScalarOp::logical_not, x[1])) || x[1];
       })});
  cases.push_back(
      {"compare", elementwise({41}, {{41}, {41}}, DType::f32,
                              [](te::Builder&, std::vector<E> x) { return x[0] < x[1]; })});
  cases.push_back(
      {"u8 to f32", elementwise({41}, {{41}}, DType::u8, [](te::Builder& b, std::vector<E> x) {
         return b.cast(x[0], DType::f32) * b.imm(DType::f32, 0.5);
       })});
  cases.push_back(
      {"division", elementwise({41}, {{41}, {41}}, DType::i32, [](te::Builder&, std::vector<E> x) {
         return x[0] / x[1] + x[0] % x[1];
       })});
  judge(cases);
}

TEST_CASE("lowering: elements moved") {
  std::vector<Case> cases;
  cases.push_back({"transpose", transpose({17, 33}, {1, 0})});
  cases.push_back({"nchw to nhwc", transpose({2, 3, 5, 16}, {0, 2, 3, 1})});
  cases.push_back({"identity", transpose({2, 3, 5}, {0, 1, 2}, DType::i8)});
  cases.push_back({"swap of middle axes", transpose({2, 3, 4, 18}, {0, 2, 1, 3})});
  cases.push_back({"pad", padded_copy({5, 17}, 1, 2)});
  cases.push_back({"pad of nothing", padded_copy({0, 4}, 1, 1)});
  cases.push_back({"concat last", concatenation(3, 17, 14, 1)});
  cases.push_back({"concat first", concatenation(19, 2, 3, 0)});
  cases.push_back({"many rows", pile(7, 3, 18)});
  cases.push_back({"many rows in parallel", pile(70, 1, 640)});
  cases.push_back({"too many rows to cut", pile(200, 1, 5)});
  cases.push_back({"columns through a quotient", side_by_side(5, 24)});
  cases.push_back({"pad of rows and columns", padded_copy({40, 40}, 3, 2)});
  cases.push_back({"gather rows", gathered(4, 19, 6, 0)});
  cases.push_back({"gather columns", gathered(3, 4, 21, 1)});
  {
    te::Builder b({{DType::f32, Shape{9, 40}}});
    b.output(b.stage("slice", {4, 13}, [&](Index i) {
      return b.input(0)({i[0] * 2 + 1, i[1] * 3 + 1});
    }));
    cases.push_back({"strided slice", b.take()});
  }
  {
    te::Builder b({{DType::f32, Shape{40}}});
    b.output(b.stage("reverse", {40}, [&](Index i) { return b.input(0)({b.i64(39) - i[0]}); }));
    cases.push_back({"reverse", b.take()});
  }
  {
    te::Builder b({{DType::f32, Shape{6, 10}}});
    b.output(b.stage("reshape", {4, 15}, [&](Index i) {
      const E at = i[0] * 15 + i[1];
      return b.input(0)({at / 10, at % 10});
    }));
    cases.push_back({"reshape", b.take()});
  }
  {
    te::Builder b({{DType::f32, Shape{30}}});
    b.output(b.stage("low", {11}, [&](Index i) { return b.input(0)({i[0]}); }));
    b.output(b.stage("high", {19}, [&](Index i) { return b.input(0)({i[0] + 11}); }));
    cases.push_back({"split", b.take()});
  }
  {
    te::Builder b({{DType::f32, Shape{1}}});
    b.output(b.stage("iota", {37},
                     [&](Index i) { return b.cast(i[0], DType::f32) + b.input(0)({b.i64(0)}); }));
    cases.push_back({"iota", b.take()});
  }
  judge(cases);
}
