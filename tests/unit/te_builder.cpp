#include <doctest/doctest.h>

#include <cmath>

#include "tenon/te.h"

using namespace tenon::te;
using tenon::DType;
using tenon::ScalarOp;
using tenon::Shape;
using tenon::TensorType;

namespace {

TensorType f32(Shape s) { return TensorType(DType::f32, s); }

/// x and y [8, 6]; one stage [8, 6] of value fn(b, i).
Compute one_stage(const std::function<E(Builder&, std::span<const E>)>& fn, Shape shape = {8, 6}) {
  Builder b({f32({8, 6}), f32({8, 6})});
  b.output(b.stage("s", shape, [&](auto i) { return fn(b, i); }));
  return b.take();
}

}  // namespace

TEST_CASE("te: equal expressions are one, integer constants fold, neutral elements vanish") {
  Builder b({f32({4})});
  b.stage("s", {4}, [&](auto i) {
    CHECK((i[0] + b.i64(3)).id == (i[0] + b.i64(3)).id);
    CHECK((i[0] + 0).id == i[0].id);
    CHECK((i[0] * 1).id == i[0].id);
    CHECK((i[0] * 0).id == b.i64(0).id);
    CHECK((b.i64(7) / b.i64(-2)).id == b.i64(-4).id);
    CHECK((b.i64(7) % b.i64(-2)).id == b.i64(-1).id);
    CHECK((b.i64(7) / b.i64(0)).id == b.i64(0).id);
    CHECK((b.i64(INT64_MIN) / b.i64(-1)).id == b.i64(INT64_MIN).id);
    CHECK((b.imm_int(DType::i8, 127) + b.imm_int(DType::i8, 1)).id ==
          b.imm_int(DType::i8, -128).id);
    CHECK((b.imm_int(DType::u64, -1) / b.imm_int(DType::u64, 2)).id ==
          b.imm_int(DType::u64, INT64_MAX).id);
    CHECK((b.i64(2) < b.i64(3)).id == b.imm_int(DType::boolean, 1).id);
    CHECK(select(b.imm_int(DType::boolean, 0), i[0], b.i64(9)).id == b.i64(9).id);
    // What a condition on a quotient says of the dividend; division rounds down.
    const E q = i[0] / 4;
    CHECK((q < 3).id == (i[0] < 12).id);
    CHECK((q <= b.i64(2)).id == (i[0] < 12).id);
    CHECK((q > b.i64(2)).id == (i[0] >= 12).id);
    CHECK((q >= 3).id == (i[0] >= 12).id);
    CHECK((q < -1).id == (i[0] < -4).id);
    CHECK(binary(ScalarOp::eq, q, b.i64(-1)).id == (i[0] >= -4 && i[0] < 0).id);
    CHECK((q < INT64_MAX).id != (i[0] < INT64_MAX).id);
    CHECK(((i[0] / -4) < 3).id != (i[0] < -12).id);
    E x = b.input(0)({i[0]});
    CHECK((x + b.imm(DType::f32, 0)).id != x.id);  // -0 + 0 is +0
    return x;
  });
}

TEST_CASE("te: laws hold for a well-formed compute, NaN constants included") {
  Compute c = one_stage([](Builder& b, auto i) { return b.input(0)(i) + b.imm(DType::f32, NAN); });
  CHECK(check(c) == "");
  CHECK(c == Compute(c));
}

TEST_CASE("te: every broken law is described") {
  const Compute good = one_stage([](Builder& b, auto i) { return b.input(0)(i) + b.input(1)(i); });
  REQUIRE(check(good) == "");
  auto broken = [&](auto change) {
    Compute c = good;
    change(c);
    return check(c);
  };
  CHECK(broken([](Compute& c) { c.outputs.clear(); }) != "");
  CHECK(broken([](Compute& c) { c.outputs.push_back(0); }) != "");
  CHECK(broken([](Compute& c) { c.outputs[0] = 5; }) != "");
  CHECK(broken([](Compute& c) { c.stages[0].dtype = DType::f64; }) != "");
  CHECK(broken([](Compute& c) { c.stages[0].axes.pop_back(); }) != "");
  CHECK(broken([](Compute& c) { c.stages[0].axes[0].extent = -1; }) != "");
  CHECK(broken([](Compute& c) {
          c.stages[0].axes[0].extent = 9;
        }).find("0..8 on axis 0 of extent 8") != std::string::npos);
  CHECK(broken([](Compute& c) { c.stages[0].reduce.push_back({"r", 2}); }) != "");
  CHECK(broken([](Compute& c) { c.stages[0].value = 99; }) != "");
  CHECK(broken([](Compute& c) {
          c.exprs.back().args[0] = static_cast<ExprId>(c.exprs.size() - 1);
        }) != "");
  CHECK(broken([](Compute& c) { c.exprs.back().args.pop_back(); }) != "");
  CHECK(broken([](Compute& c) { c.exprs.back().op = ScalarOp::logical_and; }) != "");
  CHECK(broken([](Compute& c) { c.exprs.push_back(c.exprs[0]); }).find("equal") !=
        std::string::npos);
  CHECK(broken([](Compute& c) { c.inputs[0].dims[0] = tenon::Dim::symbol(0); }) != "");
  CHECK(broken([](Compute& c) {
          for (Expr& e : c.exprs)
            if (e.kind == Kind::load) e.n = 2;
        }) != "");  // its own stage
}

TEST_CASE("te: a reduction axis outside of its reduce, two reduces, integer operations on floats") {
  Builder b({f32({4, 5})});
  T x = b.input(0);
  E leaked;
  b.output(b.stage("s", {4}, [&](auto i) {
    E sum = b.reduce(Fold::sum, {{"r", 5}}, [&](auto r) {
      leaked = r[0];
      return x({i[0], r[0]});
    });
    return sum + b.cast(leaked, DType::f32);
  }));
  CHECK(check(b.get()).find("outside of the reduce") != std::string::npos);

  Compute bits = one_stage(
      [](Builder& q, auto i) { return binary(ScalarOp::bit_and, q.input(0)(i), q.input(1)(i)); });
  CHECK(check(bits) != "");
}

TEST_CASE("te: a guarded load may leave its tensor, the same load unguarded may not") {
  auto shifted = [](bool guarded) {
    return one_stage([=](Builder& b, auto i) {
      E load = b.input(0)({i[0] - 1, i[1]});
      return guarded ? select(i[0] >= 1, load, b.imm(DType::f32, 0)) : load + load;
    });
  };
  CHECK(check(shifted(true)) == "");
  CHECK(check(shifted(false)).find("at -1..6") != std::string::npos);
}

TEST_CASE("te: affine indices through sums, constant factors and exact division") {
  Builder b({f32({64})});
  Stage stage;
  stage.axes = {{"i", 5}, {"j", 7}};
  Affine a;
  auto probe = [&](auto index) {
    Builder q({f32({1 << 20})});
    q.stage("s", {5, 7}, [&](auto i) {
      E e = index(q, i);
      a = affine_of(q.get(), stage, e.id);
      return q.imm(DType::f32, 0);
    });
    return a;
  };
  a = probe([](Builder&, auto i) { return (i[0] * 7 + i[1] - 3) * 2; });
  CHECK(a.ok);
  CHECK(a.constant == -6);
  CHECK(a.coeff == std::vector<std::int64_t>{14, 2});
  a = probe([](Builder&, auto i) { return (i[0] * 7 + i[1]) / 7; });
  CHECK(a.ok);
  CHECK(a.coeff == std::vector<std::int64_t>{1, 0});
  a = probe([](Builder&, auto i) { return (i[0] * 7 + i[1]) % 7; });
  CHECK(a.ok);
  CHECK(a.coeff == std::vector<std::int64_t>{0, 1});
  CHECK_FALSE(probe([](Builder&, auto i) { return (i[0] * 7 + i[1] + 1) / 7; }).ok);
  CHECK_FALSE(probe([](Builder&, auto i) { return i[0] * i[1]; }).ok);
  CHECK_FALSE(probe([](Builder& q, auto i) { return max(i[0], q.i64(2)); }).ok);
  a = probe([](Builder& q, auto i) {
    return i[0] + q.i64(INT64_MAX) + q.i64(0) - i[1] + i[0] * INT64_MAX + i[0];
  });
  CHECK_FALSE(a.ok);  // the coefficient of i does not fit
}
