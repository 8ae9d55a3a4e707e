#include <doctest/doctest.h>

#include <cmath>
#include <limits>

#include "tenon/rewrite.h"
#include "tenon/storage.h"
#include "tests/support/sample_module.h"

namespace tenon::test {
namespace {

const std::string awkward =
    std::string(300, 'n') + " \"quoted\" \\ \n\t " + "\xC3\xA9\xE2\x82\xAC \xFF\x01 \x7F";

Attrs every_kind() {
  const double inf = std::numeric_limits<double>::infinity();
  Attrs a;
  a.set("t.bool", true);
  a.set("t.int", std::int64_t{INT64_MIN});
  a.set("t.real", 0.1);
  a.set("t.whole_real", 3.0);
  a.set("t.string", awkward);
  a.set("t.ints", std::vector<std::int64_t>{1, -2, INT64_MAX});
  a.set("t.reals", std::vector<double>{-0.0, inf, -inf, std::nan(""), 1e300, 5e-324});
  a.set("t.strings", std::vector<std::string>{"", awkward});
  a.set("t.no_ints", std::vector<std::int64_t>{});
  a.set("t.no_reals", std::vector<double>{});
  a.set("t.no_strings", std::vector<std::string>{});
  a.set("t.dtype", DType::bf16);
  a.set("t.type", TensorType(DType::i4, Shape{3, 0}));
  a.set("t.constant",
        make_constant(TensorType(DType::u4, Shape{3}), {std::byte{0x21}, std::byte{0x03}}));
  a.set("t.padded", make_constant(TensorType(DType::f16, Shape{2}),
                                  {std::byte{1}, std::byte{0x7E}, std::byte{0}, std::byte{0x80}}));
  a.set(awkward, std::int64_t{1});
  return a;
}

Constant floats(const Shape& shape, std::vector<float> v) {
  return make_constant(TensorType(DType::f32, shape), std::span<const float>(v));
}

/// A body without parameters that returns `fn`'s values.
template <class Fn>
Body region(Builder& b, std::vector<NodeResult> params, Fn fn) {
  std::vector<const Node*> outer = b.take();
  for (NodeResult& p : params) p.id = b.fresh_id();
  Body out;
  out.entry = b.module().make(Node{.op = node::param, .results = std::move(params)});
  out.results = fn(out);
  out.nodes = b.take();
  b.nodes() = std::move(outer);
  return out;
}

void add_helper(Module& m) {
  Function f;
  f.name = "two results";
  f.loc = {"model.onnx", 3, 1, 0};
  f.attrs.set("primitive", true);
  Builder b(m, f);
  auto p = b.params({{TensorType(DType::f32, Shape{2, 3}), 0, ""}});
  Value a = b.make("abs", {p[0]});
  f.body.nodes = b.take();
  f.body.results = {a, p[0]};
  f.result_names = {"a", awkward};
  m.functions.push_back(std::move(f));
}

void add_symbolic(Module& m) {
  Function f;
  f.name = "symbolic";
  Builder b(m, f);
  auto p = b.params(
      {{TensorType(DType::f32, std::vector<Dim>{Dim::symbol(0), Dim::symbol(1), Dim(3)}), 0, "x"}});
  f.body.results = {p[0]};
  f.result_names = {"y"};
  f.next_id = 17;  // ids that were used once stay used
  m.functions.push_back(std::move(f));
}

void add_main(Module& m) {
  Function f;
  f.name = "main";
  f.attrs = every_kind();
  Builder b(m, f);
  const TensorType t(DType::f32, Shape{2, 3}), flag(DType::boolean, Shape{}),
      trips(DType::i64, Shape{});
  auto p = b.params({{t, 0, "input"}, {flag, 0, awkward}, {trips, 0, ""}});
  const Loc loc{"dir/model \"x\".onnx", 12, 4, 9};
  const float nan = std::numeric_limits<float>::quiet_NaN(),
              inf = std::numeric_limits<float>::infinity();
  Value c = b.constant(floats({2, 3}, {0.1f, -0.0f, nan, inf, -inf, 1e-45f}), loc, "weights");
  Value big = b.constant(floats({4, 5}, std::vector<float>(20, 0.5f)), loc, "large");
  Value sum = b.make("add", {p[0], c}, every_kind(), loc, "conv1.out");
  auto two = b.raw(node::call, {sum}, Attrs{{"callee", std::string("two results")}},
                   {{t, 0, "first"}, {t, 0, ""}}, loc);
  auto then = region(b, {}, [&](Body&) {
    return std::vector<Value>{b.make("neg", {two[0]}), sum};
  });
  auto otherwise = region(b, {}, [&](Body&) { return std::vector<Value>{two[1], p[0]}; });
  auto chosen =
      b.raw(node::branch, {p[1]}, {}, {{t, 0, ""}, {t, 0, "chosen"}}, loc, {then, otherwise});
  auto again = region(b, {{trips, 0, "i"}, {t, 0, "carried"}}, [&](Body& r) {
    return std::vector<Value>{b.make("add", {Value{r.entry, 1}, sum})};
  });
  auto looped = b.raw(node::loop, {p[2], chosen[0]}, {}, {{t, 0, ""}}, loc, {again});
  auto fused = region(b, {{t, 0, ""}}, [&](Body& r) {
    return std::vector<Value>{b.make("relu", {Value{r.entry, 0}})};
  });
  auto group = b.raw(node::primitive, {looped[0]}, Attrs{{"target", std::string("cpu")}},
                     {{t, 0, ""}}, loc, {fused});
  auto part = b.raw(node::view, {group[0]}, Attrs{{"offset", std::int64_t{4}}},
                    {{TensorType(DType::f32, Shape{4}), 0, ""}}, loc);
  auto copied = b.raw(node::copy, {part[0]}, {}, {{part[0].type(), 0, ""}}, loc);
  auto shown =
      b.raw(node::debug, {copied[0]}, Attrs{{"label", awkward}}, {{part[0].type(), 0, ""}}, loc);
  auto made = b.raw(node::call_kernel, {big, c}, Attrs{{"callee", std::string("m_k0")}},
                    {{TensorType(DType::f32, Shape{4, 5}), 0, "k"}}, loc);
  f.body.nodes = b.take();
  f.body.results = {shown[0], made[0], made[0], chosen[1]};
  f.result_names = {"output", "same", "twice", awkward};
  m.functions.push_back(std::move(f));
}

}  // namespace

te::Compute sample_compute() {
  using namespace te;
  te::Builder b({TensorType(DType::f32, Shape{4, 5}), TensorType(DType::f32, Shape{2, 3})});
  T x = b.input(0), w = b.input(1);
  T scaled = b.stage("scaled", {4, 5}, [&](auto i) {
    E v = x({i[0], i[1]});
    return select(i[1] < 3, v * v, te::unary(ScalarOp::neg, v)) + b.imm(DType::f32, 0.1);
  });
  T total = b.stage("total", {4}, [&](auto i) {
    return b.reduce(Fold::max, {{"k", 3}}, [&](auto r) {
      return w({b.i64(1), r[0]}) * scaled({i[0], r[0]});
    }) * b.imm(DType::f32, -0.0);
  });
  T out = b.stage("out", {4, 5}, [&](auto i) {
    return b.cast(b.cast(total({i[0]}), DType::i32), DType::f32) + b.imm(DType::f32, std::nan("")) +
           min(scaled({i[0], i[1]}), total({i[0]}));
  });
  b.output(out);
  b.place(scaled, {"tcm", "ram 2"}, 128);
  b.place(out, {}, 64);
  return b.take();
}

Schedule sample_schedule() {
  return {"tile \"4\"",
          {{Place::worker, 2, 1, {{0, 1, LoopKind::serial}, {1, 4, LoopKind::vector}}},
           {Place::shared, 0, 0, {{0, 1, LoopKind::parallel}, {1, 1, LoopKind::serial}}},
           {Place::output,
            0,
            0,
            {{0, 2, LoopKind::parallel}, {1, 1, LoopKind::serial}, {0, 1, LoopKind::unroll}}}}};
}

tir::Kernel sample_kernel() {
  using namespace tir;
  Kernel k;
  k.symbol = "m_k0";
  k.extent = 4;
  k.grain = 2;
  k.work = 1000;
  k.worker_bytes = 256;
  k.worker_align = 128;
  k.buffers = {{"x", DType::f32, 20, Scope::input, 0, 0, 64},
               {"w", DType::f32, 6, Scope::input, 1, 0, 4},
               {"y", DType::f32, 20, Scope::output, 2, 0, 64},
               {"s", DType::f32, 8, Scope::shared, 3, 0, 64},
               {"x", DType::f32, 16, Scope::worker, 0, 64, 32}};
  k.inplace = {{0, 2}};
  k.vars = {{"begin", {DType::i64, 1}}, {"end", {DType::i64, 1}}, {"i", {DType::i64, 1}},
            {"acc", {DType::f32, 4}},   {"if", {DType::i64, 1}},  {"acc one", {DType::f32, 1}}};
  const auto add = [&](Expr e) {
    k.exprs.push_back(std::move(e));
    return static_cast<ExprId>(k.exprs.size() - 1);
  };
  const auto stmt = [&](Stmt s) {
    k.stmts.push_back(std::move(s));
    return static_cast<StmtId>(k.stmts.size() - 1);
  };
  const Type i64{DType::i64, 1}, f32{DType::f32, 1}, f32x4{DType::f32, 4}, mask4{DType::boolean, 4};
  const auto imm = [&](std::int64_t v) { return add({.kind = Kind::imm, .type = i64, .i = v}); };
  const auto var = [&](VarId v) {
    return add({.kind = Kind::var, .type = k.vars[v].type, .n = v});
  };
  const auto op = [&](ScalarOp o, Type t, std::vector<ExprId> a) {
    return add({.kind = Kind::scalar, .op = o, .type = t, .args = std::move(a)});
  };

  const ExprId begin = var(0), end = var(1), i = var(2), acc = var(3), five = imm(5),
               also_five = imm(5);
  const ExprId row = op(ScalarOp::mul, i64, {i, five});
  const ExprId value = add({.kind = Kind::load, .type = f32x4, .n = 0, .i = 1, .args = {row}});
  const ExprId lanes = add({.kind = Kind::ramp, .type = {DType::i64, 4}, .i = 2, .args = {i}});
  const ExprId limit = add({.kind = Kind::broadcast, .type = {DType::i64, 4}, .args = {also_five}});
  const ExprId mask = op(ScalarOp::lt, mask4, {lanes, limit});
  const ExprId gathered =
      add({.kind = Kind::load, .type = f32x4, .n = 1, .i = 0, .args = {lanes, mask}});
  const ExprId strided = add({.kind = Kind::load, .type = f32x4, .n = 0, .i = 3, .args = {imm(2)}});
  const ExprId sum = op(ScalarOp::fma, f32x4, {value, gathered, acc});
  const ExprId zero = add({.kind = Kind::imm, .type = f32, .f = -0.0});
  const ExprId zeros = add({.kind = Kind::broadcast, .type = f32x4, .args = {zero}});
  const ExprId folded =
      add({.kind = Kind::fold_lanes, .op = ScalarOp::max, .type = f32, .args = {acc}});
  const ExprId whole = op(ScalarOp::cast, {DType::i8, 1}, {folded});
  const ExprId one = add({.kind = Kind::imm, .type = {DType::i8, 1}, .i = -1});
  const ExprId small = op(
      ScalarOp::eq, {DType::boolean, 1},
      {op(ScalarOp::sub, {DType::i8, 1}, {whole, op(ScalarOp::mod, {DType::i8, 1}, {one, whole})}),
       one});
  const ExprId unused = op(ScalarOp::neg, f32x4, {strided});
  const ExprId both = op(ScalarOp::logical_and, {DType::boolean, 1},
                         {small, op(ScalarOp::logical_not, {DType::boolean, 1}, {small})});
  const ExprId bits = op(ScalarOp::bitcast, {DType::i32, 1}, {folded});
  const ExprId back = op(ScalarOp::bitcast, f32,
                         {op(ScalarOp::shl, {DType::i32, 1},
                             {bits, add({.kind = Kind::imm, .type = {DType::i32, 1}, .i = 1})})});
  const ExprId index = op(ScalarOp::add, i64, {row, var(4)});
  const auto byte = [&](DType t) {
    return add({.kind = Kind::broadcast,
                .type = {t, 8},
                .args = {add({.kind = Kind::imm, .type = {t, 1}, .i = 7})}});
  };
  const ExprId pair = add({.kind = Kind::broadcast,
                           .type = {DType::i32, 2},
                           .args = {add({.kind = Kind::imm, .type = {DType::i32, 1}, .i = 9})}});
  const ExprId products = add({.kind = Kind::dot,
                               .type = {DType::i32, 2},
                               .args = {byte(DType::u8), byte(DType::i8), pair}});

  const StmtId clear = stmt({.kind = StmtKind::assign, .target = 3, .value = zeros});
  const StmtId step = stmt({.kind = StmtKind::assign, .target = 3, .value = sum});
  const StmtId set4 = stmt({.kind = StmtKind::assign, .target = 4, .value = also_five});
  const StmtId masked = stmt({.kind = StmtKind::store,
                              .target = 2,
                              .value = sum,
                              .index = row,
                              .mask = mask,
                              .stride = 2});
  const StmtId plain = stmt({.kind = StmtKind::store, .target = 3, .value = back, .index = five});
  const StmtId scratch = stmt({.kind = StmtKind::store, .target = 4, .value = acc, .index = i});
  const StmtId inner =
      stmt({.kind = StmtKind::loop,
            .target = 4,
            .begin = begin,
            .end = five,
            .step = 2,
            .body = {stmt({.kind = StmtKind::store, .target = 3, .value = zero, .index = index})}});
  const StmtId branch = stmt(
      {.kind = StmtKind::branch, .value = both, .body = {set4, masked}, .other = {plain, inner}});
  const StmtId lonely = stmt({.kind = StmtKind::branch, .value = small, .body = {}});
  const StmtId loop = stmt({.kind = StmtKind::loop,
                            .target = 2,
                            .begin = begin,
                            .end = end,
                            .body = {clear, step, branch, scratch, lonely}});
  k.body = {loop};
  (void)unused;
  (void)products;
  return k;
}

Module sample_module() {
  Module m(builtin_ops());
  m.name = awkward;
  m.attrs = every_kind();
  m.symbols = {{"n", 1, 128}, {awkward, 0, std::nullopt}};
  add_helper(m);
  add_symbolic(m);
  add_main(m);
  m.computes.push_back({"c.0", sample_compute(), sample_schedule()});
  m.computes.push_back({"no schedule", sample_compute(), std::nullopt});
  m.kernels.push_back({sample_kernel(), "c.0", "cpu \"0\"", 3});
  StoragePlan plan;
  plan.request_hash = std::string(64, 'a');
  plan.planner = "greedy";
  plan.version = "1.0";
  plan.options = {{"align", "64"}};
  plan.slots = {{0, 0}, {1, 128}};
  plan.pools = {{256, 200, 3}};
  plan.cost = 7;
  plan.optimal = true;
  plan.reproducible = false;
  m.plan = std::make_shared<const StoragePlan>(plan);
  return m;
}

void check_round_trip(const Module& m) {
  for (bool locations : {false, true}) {
    Blobs blobs;
    const std::string text = print(m, {.locations = locations, .blobs = &blobs});
    auto back = parse_module(text, "printed.tir", m.ops_ptr(), blobs);
    if (!back) {
      for (const Diag& d : back.errors()) MESSAGE(d.loc.line << ":" << d.loc.col << ": " << d.what);
      FAIL_CHECK(text);
      return;
    }
    std::string why;
    CHECK_MESSAGE(equal(m, *back, &why), why);
    CHECK(print(*back) == print(m));
  }
}

}  // namespace tenon::test
