#include <doctest/doctest.h>

#include <cstring>

#include "tests/support/te_reference.h"
#include "tests/support/tensors.h"

using namespace tenon;
using namespace tenon::te;
using tenon::test::small_integers;

namespace {

TensorType f32(Shape s) { return TensorType(DType::f32, s); }

void same_values(const Compute& a, const Compute& b, std::mt19937& rng) {
  std::vector<Tensor> in;
  for (const TensorType& t : a.inputs) in.push_back(small_integers(t, rng));
  auto x = test::run(a, in), y = test::run(b, in);
  REQUIRE(x.size() == y.size());
  for (std::size_t k = 0; k < x.size(); ++k) CHECK(x[k].bytes == y[k].bytes);
}

Compute inlined(const Compute& c, std::size_t stages) {
  REQUIRE(check(c) == "");
  Compute r = inline_stages(c);
  CHECK(check(r) == "");
  CHECK(r.stages.size() == stages);
  CHECK(inline_stages(r) == r);
  std::mt19937 rng(7);
  same_values(c, r, rng);
  return r;
}

}  // namespace

TEST_CASE("inline: an elementwise chain becomes one stage") {
  Builder b({f32({5, 3})});
  T t = b.input(0);
  for (int k = 0; k < 4; ++k)
    t = b.stage("s", {5, 3}, [&](auto i) { return t(i) + b.imm(DType::f32, k); });
  b.output(t);
  inlined(b.take(), 1);
}

TEST_CASE("inline: a chain of 1 500 stages") {
  Builder b({f32({3})});
  T t = b.input(0);
  for (int k = 0; k < 1500; ++k)
    t = b.stage("s", {3}, [&](auto i) { return t(i) + b.imm(DType::f32, 1); });
  b.output(t);
  inlined(b.take(), 1);
}

TEST_CASE("inline: a reduction takes its epilogue, with broadcast operands and through a chain") {
  Builder b({f32({4, 6}), f32({6, 5}), f32({5})});
  T x = b.input(0), w = b.input(1), bias = b.input(2);
  T mm = b.stage("mm", {4, 5}, [&](auto i) {
    return b.reduce(Fold::sum, {{"k", 6}}, [&](auto r) {
      return x({i[0], r[0]}) * w({r[0], i[1]});
    });
  });
  T sum = b.stage("sum", {4, 5}, [&](auto i) { return mm(i) + bias({i[1]}); });
  b.output(b.stage("relu", {4, 5}, [&](auto i) { return max(b.imm(DType::f32, 0), sum(i)); }));
  Compute c = inlined(b.take(), 1);
  CHECK(c.stages[0].reduce.size() == 1);
}

TEST_CASE(
    "inline: a reduction that is an output, loaded twice or read crosswise keeps its storage") {
  for (int kind = 0; kind < 3; ++kind) {
    CAPTURE(kind);
    Builder b({f32({4, 4})});
    T x = b.input(0);
    T sum = b.stage("sum", {4, 4}, [&](auto i) {
      return b.reduce(Fold::sum, {{"r", 4}}, [&](auto r) {
        return x({i[0], r[0]}) * x({r[0], i[1]});
      });
    });
    if (kind == 0) b.output(sum);
    b.output(b.stage("out", {4, 4}, [&](auto i) {
      E transposed = sum({i[1], i[0]});
      return kind == 0 ? sum(i) * 2 : kind == 1 ? sum(i) + transposed : sum({i[0], i[0]});
    }));
    inlined(b.take(), 2);
  }
}

TEST_CASE("inline: a reduction whose axes are put in another order is computed in that order") {
  Builder b({f32({2, 4, 6}), f32({6, 5}), f32({4, 2})});
  T x = b.input(0), w = b.input(1), bias = b.input(2);
  T product = b.stage("product", {2, 4, 5}, [&](auto i) {
    return b.reduce(Fold::sum, {{"k", 6}}, [&](auto r) {
      return x({i[0], i[1], r[0]}) * w({r[0], i[2]});
    });
  });
  T moved = b.stage("moved", {4, 2, 5}, [&](auto i) { return product({i[1], i[0], i[2]}); });
  b.output(b.stage("out", {4, 2, 5}, [&](auto i) { return moved(i) + bias({i[0], i[1]}); }));
  Compute c = inlined(b.take(), 1);
  CHECK(c.stages[0].shape() == Shape{4, 2, 5});
  CHECK(c.stages[0].reduce.size() == 1);
}

TEST_CASE("inline: exp stays where it would be evaluated more often, cheap stages do not") {
  for (bool costly : {false, true}) {
    Builder b({f32({4}), f32({3, 4})});
    T e = b.stage("e", {4}, [&](auto i) {
      return costly ? unary(ScalarOp::exp, b.input(0)(i)) : b.input(0)(i) + b.imm(DType::f32, 1);
    });
    b.output(b.stage("out", {3, 4}, [&](auto i) { return b.input(1)(i) * e({i[1]}); }));
    Compute c = inline_stages(b.get());
    CHECK(c.stages.size() == (costly ? 2 : 1));
  }
}

TEST_CASE("inline: padding before a reduction keeps its storage, after what is inlined into it") {
  Builder b({f32({6}), f32({3})});
  T x = b.input(0);
  T relu = b.stage("relu", {6}, [&](auto i) { return max(b.imm(DType::f32, 0), x(i)); });
  T pad = b.stage("pad", {8}, [&](auto i) {
    E at = i[0] - 1;
    return select(at >= 0 && at < 6, relu({at}), b.imm(DType::f32, 0));
  });
  b.output(b.stage("out", {6}, [&](auto i) {
    return b.reduce(Fold::sum, {{"r", 3}},
                    [&](auto r) { return pad({i[0] + r[0]}) * b.input(1)({r[0]}); });
  }));
  inlined(b.take(), 2);
}

TEST_CASE("inline: guards are pushed below what is inlined: padding of padding of an expression") {
  Builder b({f32({5}), f32({5})});
  auto padded = [&](T t, std::int64_t n, double v) {
    return b.stage("pad", {n + 2}, [&](auto i) {
      E at = i[0] - 1;
      return select(at >= 0 && at < n, t({at}), b.imm(DType::f32, v));
    });
  };
  T sum = b.stage("sum", {5},
                  [&](auto i) { return b.input(0)(i) * b.input(1)(i) + b.imm(DType::f32, 1); });
  T once = padded(sum, 5, 3);
  T twice = padded(once, 7, 9);
  b.output(b.stage("out", {9}, [&](auto i) { return twice(i) * 2; }));
  Compute c = b.take();
  inlined(c, 1);
  std::mt19937 rng(1);
  std::vector<Tensor> in{small_integers(c.inputs[0], rng), small_integers(c.inputs[1], rng)};
  CHECK(test::run(inline_stages(c), in)[0].bytes ==
        test::TreeWalker(c, {in[0].bytes.data(), in[1].bytes.data()}).run()[0].bytes);
}

TEST_CASE("inline: dead stages and expressions go") {
  Builder b({f32({4})});
  b.stage("dead", {4}, [&](auto i) { return unary(ScalarOp::exp, b.input(0)(i)); });
  b.output(b.stage("out", {4}, [&](auto i) { return b.input(0)(i); }));
  Compute c = inlined(b.take(), 1);
  CHECK(c.exprs.size() == 2);
}

TEST_CASE("compose: parts are wired, inputs shared, a result named twice is copied") {
  Builder p({f32({4}), f32({4})});
  p.output(p.stage("sum", {4}, [&](auto i) { return p.input(0)(i) + p.input(1)(i); }));
  p.output(p.stage("diff", {4}, [&](auto i) { return p.input(0)(i) - p.input(1)(i); }));
  const Compute both = p.take();
  const Part parts[] = {{&both, {{-1, 0}, {-1, 1}}}, {&both, {{0, 1}, {-1, 0}}}};
  const std::pair<std::uint32_t, std::uint32_t> results[] = {{1, 0}, {0, 0}, {1, 0}};
  Compute c = compose({f32({4}), f32({4})}, parts, results);
  REQUIRE(check(c) == "");
  auto out = test::run(
      c, {test::tensor<float>({4}, {1, 2, 3, 4}), test::tensor<float>({4}, {5, 5, 5, 5})});
  auto values = [&](std::size_t k) {
    return std::vector<float>(out[k].as<float>().begin(), out[k].as<float>().end());
  };
  CHECK(values(0) == std::vector<float>{-3, -1, 1, 3});  // (x - y) + x
  CHECK(values(1) == std::vector<float>{6, 7, 8, 9});
  CHECK(values(2) == values(0));
}

TEST_CASE("inline: random groups keep their values and their laws") {
  for (unsigned seed = 0; seed < 150; ++seed) {
    CAPTURE(seed);
    std::mt19937 rng(seed);
    const Shape shape{1 + static_cast<std::int64_t>(rng() % 4),
                      1 + static_cast<std::int64_t>(rng() % 4)};
    const Shape square{shape[0], shape[0]};
    Builder b({f32(shape), f32(shape)});
    std::vector<T> tensors{b.input(0), b.input(1)};
    const int n = 2 + static_cast<int>(rng() % 6);
    for (int k = 0; k < n; ++k) {
      T x = tensors[rng() % tensors.size()], y = tensors[rng() % tensors.size()];
      const auto kind = rng() % 6;
      tensors.push_back(b.stage("s" + std::to_string(k), shape, [&](auto i) -> E {
        const std::int64_t rows = shape[0], columns = shape[1];
        if (kind == 0) return x(i) + y(i);
        if (kind == 1) return max(x(i), y({b.i64(rows - 1) - i[0], i[1]}));
        if (kind == 2) {
          E at = i[1] - 1;
          return select(at >= 0 && at < columns, x({i[0], at}), b.imm(DType::f32, 2)) - y(i);
        }
        if (kind == 3)
          return b.reduce(Fold::sum, {{"r", columns}}, [&](auto r) {
            return x({i[0], r[0]}) - y({i[0], r[0]});
          });
        if (kind == 4) return select(x(i) < y(i), y(i), x(i) * b.imm(DType::f32, 0.5));
        return x({i[0], b.i64(0)}) - b.imm(DType::f32, 1);
      }));
    }
    b.output(tensors.back());
    if (rng() % 2 && n > 2) b.output(tensors[tensors.size() - 2]);
    Compute c = b.take();
    REQUIRE(check(c) == "");
    Compute r = inline_stages(c);
    REQUIRE(check(r) == "");
    CHECK(inline_stages(r) == r);
    same_values(c, r, rng);
  }
}
