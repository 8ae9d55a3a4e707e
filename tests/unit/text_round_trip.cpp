#include <doctest/doctest.h>

#include <algorithm>
#include <bit>
#include <chrono>
#include <cmath>
#include <fstream>
#include <random>

#include "tenon/rewrite.h"
#include "tests/support/sample_module.h"

namespace tenon::test {
namespace {

TEST_CASE("text: a module with everything reads back as itself") {
  check_round_trip(sample_module());
}

TEST_CASE("text: an empty module and a function without parameters and results read back") {
  Module m(builtin_ops());
  check_round_trip(m);
  Function f;
  f.name = "main";
  Builder(m, f).params({});
  m.functions.push_back(std::move(f));
  check_round_trip(m);
}

TEST_CASE(
    "text: the examples of the language's page are one module, and print as they stand there") {
  std::ifstream page(TENON_SOURCE_DIR "/sdk/docs/ir.md");
  std::string text, line;
  std::vector<std::string> blocks;
  for (bool inside = false; std::getline(page, line);) {
    if (line == "```") {
      inside = !inside;
      if (inside) blocks.emplace_back();
    } else if (inside) {
      blocks.back() += line + "\n";
    }
  }
  for (const std::string& b : blocks)
    if (b.starts_with("tenon") || b.starts_with("compute") || b.starts_with("kernel")) text += b;
  auto m = parse_module(text, "ir.md", builtin_ops());
  if (!m) FAIL(m.errors()[0].loc.line << ": " << m.errors()[0].what << "\n" << text);
  check_round_trip(*m);
  for (const std::string& b : blocks)
    if (b.starts_with("kernel")) CHECK(print(*m).find(b) != std::string::npos);
}

TEST_CASE("text: parts read back on their own") {
  const te::Compute c = sample_compute();
  auto compute = parse_compute(print(c, "any name"), "c.tir");
  REQUIRE(compute);
  CHECK(*compute == c);
  const Schedule s = sample_schedule();
  auto schedule = parse_schedule(print(s, c), "s.tir", c);
  REQUIRE(schedule);
  CHECK(*schedule == s);
  const tir::Kernel k = sample_kernel();
  auto kernel = parse_kernel(print(k), "k.tir");
  if (!kernel)
    FAIL(kernel.errors()[0].what << " " << kernel.errors()[0].loc.line << "\n" << print(k));
  CHECK(*kernel == k);
}

TEST_CASE("text: locations survive when they are printed") {
  const Module m = sample_module();
  Blobs blobs;
  auto back =
      parse_module(print(m, {.locations = true, .blobs = &blobs}), "x.tir", m.ops_ptr(), blobs);
  REQUIRE(back);
  const Function &a = *m.main(), &b = *back->main();
  REQUIRE(a.body.nodes.size() == b.body.nodes.size());
  for (std::size_t k = 0; k < a.body.nodes.size(); ++k)
    CHECK(a.body.nodes[k]->loc == b.body.nodes[k]->loc);
  auto plain = parse_module(print(m, {.blobs = &blobs}), "x.tir", m.ops_ptr(), blobs);
  REQUIRE(plain);
  CHECK(plain->main()->body.nodes[0]->loc.file == "x.tir");
  CHECK(plain->main()->body.nodes[0]->loc.line > plain->main()->loc.line);
}

TEST_CASE("text: every value of the small floats and integers reads back bit for bit") {
  const auto sweep = [](DType t, std::size_t width) {
    for (std::uint32_t first = 0; first < (1u << (8 * width)); first += 8) {
      std::vector<std::byte> bytes;
      for (std::uint32_t v = first; v < first + 8; ++v)
        for (std::size_t b = 0; b < width; ++b)
          bytes.push_back(static_cast<std::byte>(v >> (8 * b)));
      Module m(builtin_ops());
      m.attrs.set("c", make_constant(TensorType(t, Shape{8}), bytes));
      auto back = parse_module(print(m), "x.tir", m.ops_ptr());
      REQUIRE(back);
      REQUIRE(back->attrs == m.attrs);
    }
  };
  sweep(DType::f16, 2);
  sweep(DType::bf16, 2);
  sweep(DType::i8, 1);
  sweep(DType::u8, 1);
  sweep(DType::boolean, 1);
}

TEST_CASE("text: random bits of wide floats read back bit for bit") {
  std::mt19937_64 random(7);
  for (int round = 0; round < 2000; ++round) {
    const std::uint64_t bits = random();
    Module m(builtin_ops());
    const std::uint32_t low = static_cast<std::uint32_t>(bits);
    m.attrs.set("d", std::bit_cast<double>(bits));
    m.attrs.set("f", make_constant(TensorType(DType::f32, Shape{1}),
                                   std::span<const std::uint32_t>(&low, 1)));
    auto back = parse_module(print(m), "x.tir", m.ops_ptr());
    REQUIRE(back);
    REQUIRE(back->attrs == m.attrs);
  }
}

TEST_CASE("text: expressions in any order of ids read back with the same ids") {
  std::mt19937 random(11);
  for (int round = 0; round < 3000; ++round) {
    te::Compute c;
    c.inputs = {TensorType(DType::i64, Shape{1000})};
    const std::size_t n = 1 + random() % 14;
    for (std::size_t k = 0; k < n; ++k) {
      const auto any = [&] { return static_cast<te::ExprId>(random() % c.exprs.size()); };
      te::Expr e;
      switch (c.exprs.empty() ? 0 : random() % 6) {
        case 0:
          e = {.kind = te::Kind::imm,
               .dtype = DType::i64,
               .i = static_cast<std::int64_t>(random() % 50)};
          break;
        case 1:
          e = {.kind = te::Kind::axis,
               .dtype = DType::i64,
               .n = static_cast<std::uint32_t>(random() % 2)};
          break;
        case 2:
          e = {.kind = te::Kind::scalar,
               .op = ScalarOp::min,
               .dtype = DType::i64,
               .args = {any(), any()}};
          break;
        case 3:
          e = {.kind = te::Kind::scalar,
               .op = ScalarOp::sub,
               .dtype = DType::i64,
               .args = {any(), any()}};
          break;
        case 4:
          e = {.kind = te::Kind::scalar,
               .op = ScalarOp::mul,
               .dtype = DType::i64,
               .args = {any(), any()}};
          break;
        case 5:
          e = {.kind = te::Kind::scalar, .op = ScalarOp::neg, .dtype = DType::i64, .args = {any()}};
          break;
      }
      if (std::ranges::find(c.exprs, e) == c.exprs.end()) c.exprs.push_back(std::move(e));
    }
    for (std::uint32_t s = 0; s < 1 + random() % 3; ++s) {
      c.stages.push_back({"s",
                          DType::i64,
                          {{"i", 2}, {"j", 3}},
                          {},
                          static_cast<te::ExprId>(random() % c.exprs.size())});
      c.outputs = {s};
    }
    const std::string text = print(c);
    auto back = parse_compute(text, "x.tir");
    if (!back) FAIL(back.errors()[0].what << "\n" << text);
    if (*back != c) FAIL(text << "\nreads back as\n" << print(*back));
  }
}

/// x0 = a load; x[k + 1] = x[k] + x[k]: 2^64 paths.
te::Compute doubling() {
  te::Builder b({TensorType(DType::f32, Shape{4})});
  b.output(b.stage("out", {4}, [&](auto i) {
    te::E x = b.input(0)({i[0]});
    for (int k = 0; k < 64; ++k) x = x + x;
    return x;
  }));
  return b.take();
}

TEST_CASE("text: printing is linear in the number of expressions, not of paths") {
  const te::Compute c = doubling();
  const std::string text = print(c);
  CHECK(text.size() < 64 * 64);
  auto back = parse_compute(text, "x.tir");
  REQUIRE(back);
  CHECK(*back == c);
}

TEST_CASE("text: a chain of single uses neither nests nor recurses") {
  te::Builder b({TensorType(DType::f32, Shape{4})});
  b.output(b.stage("out", {4}, [&](auto i) {
    te::E x = b.input(0)({i[0]});
    for (int k = 0; k < 20000; ++k) x = te::unary(k % 2 ? ScalarOp::neg : ScalarOp::abs, x);
    return x;
  }));
  auto back = parse_compute(print(b.get()), "x.tir");
  REQUIRE(back);
  CHECK(*back == b.get());
}

TEST_CASE("text: chains of 100 000 nodes print, read and verify") {
  Module m(builtin_ops());
  Function f;
  f.name = "main";
  Builder b(m, f);
  Value v = b.params({{TensorType(DType::f32, Shape{4}), 0, "x"}})[0];
  for (int k = 0; k < 100'000; ++k) v = b.make("neg", {v});
  f.body.nodes = b.take();
  f.body.results = {v};
  f.result_names = {"y"};
  m.functions.push_back(std::move(f));
  const auto start = std::chrono::steady_clock::now();
  CHECK(bool(verify(m)));
  const std::string text = print(m);
  auto back = parse_module(text, "chain.tir", m.ops_ptr());
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
  REQUIRE(back);
  CHECK(equal(m, *back));
  CHECK(text.size() < 100'000 * 60);
  MESSAGE("100 000 nodes: verify, print, parse, verify in " << took.count() << " s");
}

TEST_CASE("text: renumbered kernels print without names for expressions and read back") {
  const tir::Kernel k = tir::renumbered(sample_kernel());
  CHECK(tir::check(k).empty());
  CHECK(tir::renumbered(k) == k);
  CHECK(k.exprs.size() < sample_kernel().exprs.size());  // those that nothing uses are gone
  auto back = parse_kernel(print(k), "k.tir");
  REQUIRE(back);
  CHECK(*back == k);
  CHECK(print(k).find("#0:") == std::string::npos);
}

TEST_CASE("text: text of a later minor version is read, of a later major version refused") {
  CHECK(bool(parse_module("tenon 1.7\nmodule \"m\"\n", "x.tir", builtin_ops())));
  auto r = parse_module("// made later\ntenon 2.3\nmodule \"m\"\n", "x.tir", builtin_ops());
  REQUIRE(!r);
  CHECK(r.errors()[0].code == 3054);
  CHECK(r.errors()[0].loc.line == 2);
  CHECK(r.errors()[0].what.find("2.3") != std::string::npos);
  CHECK(r.errors()[0].fix.find("2.3") != std::string::npos);
}

TEST_CASE("text: a blob that is missing, short or of another size is named") {
  Module m(builtin_ops());
  m.attrs.set("c", make_constant(TensorType(DType::f32, Shape{32}), std::vector<std::byte>(128)));
  Blobs blobs;
  const std::string text = print(m, {.blobs = &blobs});
  REQUIRE(blobs.size() == 1);
  CHECK(text.find("blob sha256:" + blobs.begin()->first + " bytes:128") != std::string::npos);
  auto none = parse_module(text, "x.tir", m.ops_ptr());
  REQUIRE(!none);
  CHECK(none.errors()[0].code == 3055);
  CHECK(none.errors()[0].what.find(blobs.begin()->first) != std::string::npos);
  Blobs other{{blobs.begin()->first,
               make_constant(TensorType(DType::f32, Shape{8}), std::vector<std::byte>(32))}};
  auto wrong = parse_module(text, "x.tir", m.ops_ptr(), other);
  REQUIRE(!wrong);
  CHECK(wrong.errors()[0].what.find("32") != std::string::npos);
}

TEST_CASE("text: attributes that the text leaves out take their default, unknown ones stay") {
  auto m = parse_module(
      "tenon 1.0\nmodule \"m\"\nfunc @main(%0: f32[4]) -> (\"y\") {\n  %1 = view(%0) {acme.note = "
      "3} : f32[4]\n  return %1\n}\n",
      "x.tir", builtin_ops());
  if (!m) FAIL(m.errors()[0].what);
  const Attrs& a = m->main()->body.nodes[0]->attrs;
  CHECK(*a.get<std::int64_t>("offset") == 0);
  CHECK(*a.get<std::int64_t>("acme.note") == 3);
}

}  // namespace
}  // namespace tenon::test
