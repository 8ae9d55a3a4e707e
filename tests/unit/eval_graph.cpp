#include <doctest/doctest.h>

#include <set>

#include "tenon/eval.h"
#include "tenon/op.h"
#include "tenon/rewrite.h"
#include "tests/support/tensors.h"

using namespace tenon;

namespace {

const TensorType vec(DType::f32, Shape{3});
const TensorType scalar_i64(DType::i64, Shape{});

struct Graph {
  Module m{builtin_ops()};
  Function& add(std::string name) {
    m.functions.emplace_back();
    m.functions.back().name = std::move(name);
    return m.functions.back();
  }
  /// A function x: vec -> results of fn(builder, x).
  void function(std::string name, const std::function<std::vector<Value>(Builder&, Value)>& fn) {
    Function& f = add(std::move(name));
    Builder b(m, f);
    Value x = b.params({{vec, 0, "x"}})[0];
    auto results = fn(b, x);
    f.body.nodes = b.take();
    f.body.results = results;
    for (std::size_t k = 0; k < results.size(); ++k)
      f.result_names.push_back("y" + std::to_string(k));
  }
};

std::vector<float> floats(const Tensor& t) { return {t.as<float>().begin(), t.as<float>().end()}; }

Tensor input() { return test::tensor<float>({3}, {1, -2, 3}); }

Constant constant(float v) {
  return make_constant<float>(TensorType(DType::f32, Shape{}), std::span<const float>(&v, 1));
}

Result<std::vector<Tensor>> run(const Graph& g, const EvalOptions& options = {}) {
  const Tensor in[] = {input()};
  return evaluate(g.m, *g.m.function("main"), in, options);
}

}  // namespace

TEST_CASE("graph: what takes more memory than allowed is refused before it is allocated") {
  Graph g;
  g.function("main", [](Builder& b, Value x) -> std::vector<Value> {
    Value wide = b.make("expand", {x}, {{"shape", Shape{4, 3}}});
    return {b.make("softmax", {wide}, {{"axis", std::int64_t{1}}})};
  });
  EvalOptions options;
  CHECK(run(g, options));
  options.max_bytes = 60;  // expand takes 48, softmax has stages of its own
  const auto refused = run(g, options);
  REQUIRE_FALSE(refused);
  CHECK(refused.errors()[0].code == 3124);
  CHECK(refused.errors()[0].what.find("softmax") != std::string::npos);
  te::Compute c;
  te::Stage s;
  s.axes = {{"i", 1 << 20}, {"j", 1 << 20}};
  c.stages = {s};
  CHECK(evaluation_work(c) == std::uint64_t{1} << 40);
  c.stages[0].reduce = {{"k", INT64_MAX}};
  CHECK(evaluation_work(c) == UINT64_MAX);
}

TEST_CASE("graph: ops, constants, copies, debug, views, a result named twice, an input returned") {
  Graph g;
  g.function("main", [](Builder& b, Value x) -> std::vector<Value> {
    Value s = b.make("add", {x, b.constant(constant(1))});
    Value c = b.raw(node::copy, {s}, {}, {{vec, b.fresh_id(), ""}}, {})[0];
    Value d =
        b.raw(node::debug, {c}, {{"label", std::string("here")}}, {{vec, b.fresh_id(), ""}}, {})[0];
    Value v = b.raw(node::view, {d}, {{"offset", std::int64_t{4}}},
                    {{TensorType(DType::f32, Shape{2, 1}), b.fresh_id(), ""}}, {})[0];
    return {d, v, d, x};
  });
  auto r = run(g);
  REQUIRE(r);
  CHECK(floats((*r)[0]) == std::vector<float>{2, -1, 4});
  CHECK(floats((*r)[1]) == std::vector<float>{-1, 4});
  CHECK((*r)[1].type.shape() == Shape{2, 1});
  CHECK(floats((*r)[2]) == floats((*r)[0]));
  CHECK(floats((*r)[3]) == std::vector<float>{1, -2, 3});
}

TEST_CASE("graph: primitives, calls, kernels by their compute function") {
  Graph g;
  g.m.functions.reserve(4);
  g.function("twice", [](Builder& b, Value x) -> std::vector<Value> {
    return {b.make("add", {x, x})};
  });
  te::Builder t({vec});
  t.output(t.stage("neg", {3}, [&](auto i) { return te::unary(ScalarOp::neg, t.input(0)(i)); }));
  g.m.computes.push_back({"neg_c", t.take(), {}});
  KernelFunction k;
  k.kernel.symbol = "neg_k";
  k.compute = "neg_c";
  g.m.kernels.push_back(std::move(k));
  g.function("main", [](Builder& b, Value x) -> std::vector<Value> {
    Value doubled = b.raw(node::call, {x}, {{"callee", std::string("twice")}},
                          {{vec, b.fresh_id(), ""}}, {})[0];
    auto outside = b.take();
    Body body;
    body.entry = b.module().make({.op = node::param, .results = {{vec, b.fresh_id(), ""}}});
    Value p{body.entry, 0};
    body.results = {b.make("relu", {p})};
    body.nodes = b.take();
    b.nodes() = std::move(outside);
    Value fused = b.raw(node::primitive, {doubled}, {}, {{vec, b.fresh_id(), ""}}, {}, {body})[0];
    return {b.raw(node::call_kernel, {fused}, {{"callee", std::string("neg_k")}},
                  {{vec, b.fresh_id(), ""}}, {})[0]};
  });
  auto r = run(g);
  REQUIRE(r);
  CHECK(floats((*r)[0]) == std::vector<float>{-2, 0, -6});
}

TEST_CASE("graph: branches see outer values; loops carry values and count from 0") {
  for (bool taken : {true, false}) {
    Graph g;
    g.function("main", [&](Builder& b, Value x) -> std::vector<Value> {
      const std::uint8_t flag = taken;
      Value cond = b.constant(
          make_constant<std::uint8_t>(TensorType(DType::boolean, Shape{}), std::span(&flag, 1)));
      auto outside = b.take();
      std::vector<Body> regions;
      for (const char* op : {"neg", "relu"}) {
        Body r;
        r.entry = b.module().make({.op = node::param});
        r.results = {b.make(op, {x})};
        r.nodes = b.take();
        regions.push_back(std::move(r));
      }
      b.nodes() = std::move(outside);
      return {
          b.raw(node::branch, {cond}, {}, {{vec, b.fresh_id(), ""}}, {}, std::move(regions))[0]};
    });
    auto r = run(g);
    REQUIRE(r);
    CHECK(floats((*r)[0]) == (taken ? std::vector<float>{-1, 2, -3} : std::vector<float>{1, 0, 3}));
  }
  for (std::int64_t trips : {0, 1, 4, -3}) {
    Graph g;
    g.function("main", [&](Builder& b, Value x) -> std::vector<Value> {
      Value n = b.constant(make_constant<std::int64_t>(scalar_i64, std::span(&trips, 1)));
      auto outside = b.take();
      Body r;
      r.entry =
          b.module().make({.op = node::param,
                           .results = {{scalar_i64, b.fresh_id(), ""}, {vec, b.fresh_id(), ""}}});
      Value i = b.make("cast", {Value{r.entry, 0}}, {{"to", DType::f32}});
      r.results = {b.make("add", {b.make("add", {Value{r.entry, 1}, i}), x})};
      r.nodes = b.take();
      b.nodes() = std::move(outside);
      return {b.raw(node::loop, {n, x}, {}, {{vec, b.fresh_id(), ""}}, {}, {r})[0]};
    });
    auto r = run(g);
    REQUIRE(r);
    std::vector<float> want{1, -2, 3};
    for (std::int64_t i = 0; i < trips; ++i)
      for (std::size_t k = 0; k < 3; ++k) want[k] += static_cast<float>(i) + input().as<float>()[k];
    CHECK(floats((*r)[0]) == want);
  }
}

TEST_CASE("graph: a chain of 100 000 nodes") {
  Graph g;
  g.function("main", [](Builder& b, Value x) -> std::vector<Value> {
    for (int k = 0; k < 50000; ++k) x = b.make("neg", {b.make("relu", {x})});
    return {x};
  });
  auto r = run(g);
  REQUIRE(r);
  CHECK(floats((*r)[0]) == std::vector<float>{-0.0f, -0.0f, -0.0f});
}

TEST_CASE("graph: the observer sees every value once, with its bytes") {
  Graph g;
  g.function("main", [](Builder& b, Value x) -> std::vector<Value> {
    Value a = b.make("neg", {x});
    return {b.make("add", {a, a})};
  });
  std::set<ValueId> ids;
  std::vector<float> last;
  auto r = run(g, {.observe = [&](Value v, const Tensor& t) {
                 CHECK(ids.insert(v.id()).second);
                 last = floats(t);
               }});
  REQUIRE(r);
  CHECK(ids.size() == 3);
  CHECK(last == std::vector<float>{-2, 4, -6});
}

TEST_CASE("graph: inputs that do not fit and calls without end are refused") {
  Graph g;
  g.m.functions.reserve(2);
  g.function("main", [](Builder& b, Value x) -> std::vector<Value> {
    return {b.raw(node::call, {x}, {{"callee", std::string("main")}}, {{vec, b.fresh_id(), ""}},
                  {})[0]};
  });
  auto endless = run(g);
  REQUIRE_FALSE(endless);
  CHECK(endless.errors()[0].code == 3123);
  CHECK(evaluate(g.m, *g.m.main(), {}).errors()[0].code == 3120);
  const Tensor wrong[] = {test::tensor<float>({2}, {1, 2})};
  auto r = evaluate(g.m, *g.m.main(), wrong);
  REQUIRE_FALSE(r);
  CHECK(r.errors()[0].what.find("f32[2]") != std::string::npos);

  Graph missing;
  missing.function("main", [](Builder& b, Value x) -> std::vector<Value> {
    return {b.raw(node::call_kernel, {x}, {{"callee", std::string("nobody")}},
                  {{vec, b.fresh_id(), ""}}, {})[0]};
  });
  auto m = run(missing);
  REQUIRE_FALSE(m);
  CHECK(m.errors()[0].code == 3121);
  CHECK(m.errors()[0].what.find("nobody") != std::string::npos);

  Graph view;
  view.function("main", [](Builder& b, Value x) -> std::vector<Value> {
    return {b.raw(node::view, {x}, {{"offset", std::int64_t{8}}},
                  {{TensorType(DType::f32, Shape{2}), b.fresh_id(), ""}}, {})[0]};
  });
  auto v = run(view);
  REQUIRE_FALSE(v);
  CHECK(v.errors()[0].code == 3122);
}

TEST_CASE("graph: a compute function that reads out of bounds is an error, not a crash") {
  for (bool affine : {true, false}) {
    Graph g;
    te::Builder t({vec});
    t.output(t.stage("bad", {3}, [&](auto i) {
      te::E at = affine ? i[0] + 1 : t.cast(t.input(0)(i), DType::i64);  // -2 is among the inputs
      return t.input(0)({at});
    }));
    g.m.computes.push_back({"bad_c", t.take(), {}});
    KernelFunction k;
    k.kernel.symbol = "bad";
    k.compute = "bad_c";
    g.m.kernels.push_back(std::move(k));
    g.function("main", [](Builder& b, Value x) -> std::vector<Value> {
      return {b.raw(node::call_kernel, {x}, {{"callee", std::string("bad")}},
                    {{vec, b.fresh_id(), ""}}, {})[0]};
    });
    auto r = run(g);
    REQUIRE_FALSE(r);
    CHECK(r.errors()[0].code == 3122);
  }
}

TEST_CASE("graph: constants at odd addresses, on several threads, give the same bits") {
  const std::int64_t rows = 700, columns = 800;  // many blocks, so that threads share them
  const TensorType matrix(DType::f32, Shape{rows, columns}), row(DType::f32, Shape{columns});
  std::vector<float> numbers(static_cast<std::size_t>(rows * columns));
  for (std::size_t i = 0; i < numbers.size(); ++i)
    numbers[i] = static_cast<float>(i * 2654435761u % 1000) / 7.0f;
  const auto bytes = std::as_bytes(std::span(numbers));
  const auto shifted = std::make_shared<std::vector<std::byte>>(bytes.size() + 1);
  std::ranges::copy(bytes, shifted->begin() + 1);
  const Constant even = make_constant<float>(matrix, std::span<const float>(numbers)),
                 odd = make_constant(matrix, std::span(*shifted).subspan(1), shifted);
  CHECK(same_constant(even, odd));
  const auto scale = make_constant<float>(row, std::span<const float>(numbers).first(800));
  Graph g;
  std::vector<const Node*> nodes;
  g.function("main", [&](Builder& b, Value x) -> std::vector<Value> {
    const Value m = b.constant(even), s = b.constant(scale);
    for (const Value v : {b.make("mul", {m, s}), b.make("transpose", {m}, {{"perm", Shape{1, 0}}}),
                          b.make("reduce_sum", {m}, {{"axes", Shape{0}}, {"keepdims", false}}),
                          b.make("reduce_sum", {m}, {{"axes", Shape{0, 1}}, {"keepdims", false}})})
      nodes.push_back(v.node);
    return {x};
  });
  for (const Node* n : nodes) {
    std::vector<Constant> operands{even};
    if (n->operands.size() > 1) operands.push_back(scale);
    const auto want = evaluate(g.m, *n, operands);
    REQUIRE(want);
    operands[0] = odd;
    for (const unsigned threads : {1u, 2u, 5u}) {
      const auto got = evaluate(g.m, *n, operands, {.threads = threads});
      REQUIRE(got);
      CHECK(same_constant((*got)[0], (*want)[0]));
    }
  }
}
