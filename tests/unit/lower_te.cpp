// LowerTE: the six call forms, the cache, names. With the real lowering.
#include "core/lower/lower_te.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "core/lower/names.h"
#include "tenon/op.h"
#include "tenon/text.h"
#include "tests/support/lowering_kit.h"

namespace tenon::test {
namespace {

LowerConfig config() {
  const LoweringInfo& te = te_lowering();
  TargetFacts facts = plain_facts();
  facts.id = "host";
  LowerConfig c;
  c.by_target["host"] = {&te, &te, &te, {}, {}, {}, facts};
  c.default_target = "host";
  return c;
}

Module read(std::string_view text) {
  auto m = parse_module(text, "test.tir", builtin_ops());
  REQUIRE_MESSAGE(m, m.errors()[0].what);
  return std::move(*m);
}

std::string op_of(const Module& m, std::size_t k) {
  return m.ops()[m.main()->body.nodes[k]->op].name;
}

// Two regions that differ in nothing but the weights, one of another shape, an ordinary call, a
// global primitive.
constexpr std::string_view forms = R"(tenon 1.0
module "forms"
func @main(%0 "x": f32[4, 4]) -> ("y") {
  %1 = constant() {value = const f32[4, 4] [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16]} : f32[4, 4]
  %2 = constant() {value = const f32[4, 4] [2, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16]} : f32[4, 4]
  %5 = primitive(%0, %1) : f32[4, 4] region (%3: f32[4, 4], %4: f32[4, 4]) {
    %6 = matmul(%3, %4) : f32[4, 4]
    return %6
  }
  %9 = primitive(%5, %2) : f32[4, 4] region (%7: f32[4, 4], %8: f32[4, 4]) {
    %10 = matmul(%7, %8) : f32[4, 4]
    return %10
  }
  %11 = call @global(%9) : f32[4, 4]
  %12 = call @ordinary(%11) : f32[4, 4]
  %14 = primitive(%12) {vendor = "acme"} : f32[4, 4] region (%13: f32[4, 4]) {
    %15 = relu(%13) : f32[4, 4]
    return %15
  }
  return %14
}
func @global(%0: f32[4, 4]) -> ("r") attrs {primitive = true} {
  %1 = neg(%0) : f32[4, 4]
  return %1
}
func @ordinary(%0: f32[4, 4]) -> ("r") {
  %2 = primitive(%0) : f32[4, 4] region (%1: f32[4, 4]) {
    %3 = neg(%1) : f32[4, 4]
    return %3
  }
  return %2
}
)";

}  // namespace

TEST_CASE("lower_te: the six call forms; twice equals once") {
  Module m = read(forms);
  LoweringCache cache;
  LowerCounts counts;
  const Status s = lower_te(m, config(), cache, &counts);
  REQUIRE_MESSAGE(s, s.errors()[0].what);
  CHECK(verify(m));
  CHECK(counts.regions == 4);    // two products, @global, the one in @ordinary
  CHECK(m.kernels.size() == 2);  // products that differ in weights are one kernel; neg is another
  for (const KernelFunction& k : m.kernels) CHECK(k.uses == 2);
  CHECK(op_of(m, 2) == "call_kernel");
  CHECK(op_of(m, 4) == "call_kernel");  // was call @global
  CHECK(op_of(m, 5) == "call");         // @ordinary
  CHECK(op_of(m, 6) == "primitive");    // the vendor's
  CHECK(m.function("global") == nullptr);
  const Module once = m.clone();
  CHECK(lower_te(m, config(), cache));
  std::string why;
  CHECK_MESSAGE(equal(m, once, &why), why);
}

TEST_CASE("lower_te: a hash that is the same for everything changes nothing") {
  Module good = read(forms), bad = read(forms);
  LoweringCache cache, constant([](const LoweringKey&) { return std::size_t{42}; });
  REQUIRE(lower_te(good, config(), cache));
  REQUIRE(lower_te(bad, config(), constant));
  std::string why;
  CHECK_MESSAGE(equal(good, bad, &why), why);
}

TEST_CASE("lower_te: the number of threads changes nothing") {
  Module one = read(forms), two = read(forms);
  LoweringCache a, b;
  LowerConfig c = config();
  REQUIRE(lower_te(one, c, a));
  c.threads = 3;
  REQUIRE(lower_te(two, c, b));
  std::string why;
  CHECK_MESSAGE(equal(one, two, &why), why);
}

TEST_CASE(
    "lower_te: a primitive with the attribute fast_math has a kernel of its own, where it "
    "matters") {
  const auto kernels = [](std::string_view op) {
    const std::string region = fmt::format(
        " : f32[4] region (%a: f32[4]) {{\n    %b = {}(%a) : f32[4]\n    return %b\n  }}\n", op);
    std::string text = "tenon 1.0\nmodule \"m\"\nfunc @main(%0: f32[4]) -> (\"x\", \"y\") {\n";
    int id = 1;
    for (std::string attrs : {"", " {fast_math = true}"}) {
      std::string here = fmt::format("  %{} = primitive(%0){}{}", id, attrs, region);
      for (auto [from, to] : {std::pair("%a", id + 1), std::pair("%b", id + 2)})
        for (std::size_t at; (at = here.find(from)) != here.npos;)
          here.replace(at, 2, fmt::format("%{}", to));
      text += here;
      id += 3;
    }
    Module m = read(text + "  return %1, %4\n}\n");
    LoweringCache cache;
    REQUIRE(lower_te(m, config(), cache));
    return m.kernels.size();
  };
  CHECK(kernels("exp") == 2);
  CHECK(kernels("neg") == 1);
}

TEST_CASE("lower_te: preconditions are named") {
  Module loose = read(
      "tenon 1.0\nmodule \"m\"\nfunc @main(%0: f32[4]) -> (\"y\") {\n  %1 = neg(%0) : f32[4]\n  "
      "return %1\n}\n");
  LoweringCache cache;
  const Status s = lower_te(loose, config(), cache);
  REQUIRE_FALSE(s);
  CHECK(s.errors()[0].code == 3201);
  CHECK(s.errors()[0].fix.find("fuse-ops") != std::string::npos);
  Module elsewhere = read(
      "tenon 1.0\nmodule \"m\"\nfunc @main(%0: f32[4]) -> (\"y\") {\n  %2 = primitive(%0) {target "
      "= \"npu\"} : f32[4] region (%1: f32[4]) {\n"
      "    %3 = neg(%1) : f32[4]\n    return %3\n  }\n  return %2\n}\n");
  const Status t = lower_te(elsewhere, config(), cache);
  REQUIRE_FALSE(t);
  CHECK(t.errors()[0].code == 3204);
  CHECK(t.errors()[0].what.find("npu") != std::string::npos);
}

TEST_CASE("names: C identifiers of bounded length, from content alone") {
  CHECK(c_part("3D-Größe/v2", 24) == "3D_Gr_e_v2");
  CHECK(c_part("", 8) == "x");
  CHECK(c_part(std::string(300, 'a'), 24).size() == 24);
  const std::string s = content_symbol("int", std::string(300, '!'), "content");
  CHECK(s.starts_with("tn_int_x_"));
  CHECK(s == content_symbol("int", "!!", "content"));
  CHECK(s != content_symbol("int", "!!", "content2"));
}

}  // namespace tenon::test
