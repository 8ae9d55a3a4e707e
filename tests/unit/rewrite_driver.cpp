// The rewriting driver and the sweep for dead nodes, regions included.
#include <doctest/doctest.h>

#include "tenon/op.h"
#include "tenon/rewrite.h"
#include "tenon/text.h"

namespace tenon {
namespace {

Module read(std::string_view text) {
  auto m = parse_module(text, "test.tir", builtin_ops());
  REQUIRE_MESSAGE(m, m.errors()[0].what);
  return std::move(*m);
}

// neg(neg(x)) -> x
std::vector<Value> neg_neg(Builder& b, const Node& n) {
  const OpId neg = b.module().ops().at("neg");
  if (n.op != neg || n.operands[0].node->op != neg) return {};
  return {n.operands[0].node->operands[0]};
}

constexpr std::string_view arms = R"(tenon 1.0
module "arms"
func @main(%0 "x": f32[4], %1 "c": bool[]) -> ("y") {
  %2 = neg(%0) : f32[4]
  %3 = neg(%2) : f32[4]
  %4 = if(%1) : f32[4] region () {
    return %3
  } region () {
    %5 = relu(%3) : f32[4]
    return %5
  }
  return %4
}
)";

}  // namespace

TEST_CASE("rewrite: a region that returns or uses an outer value follows its replacement") {
  Module m = read(arms);
  const Rule rule = neg_neg;
  CHECK(rewrite(m, std::span(&rule, 1)));
  CHECK(verify(m));
  const Node* branch = m.main()->body.nodes.back();
  CHECK(branch->regions[0].results[0] == m.main()->param(0));
  CHECK(branch->regions[1].nodes[0]->operands[0] == m.main()->param(0));
  CHECK(remove_dead(m));
  CHECK(m.main()->body.nodes.size() == 1);
  m.compact();
  CHECK(verify(m));
}

TEST_CASE("rewrite: no rule applies, nothing changes, not even a pointer") {
  Module m = read(arms);
  const std::vector<const Node*> before = m.main()->body.nodes;
  const Rule never = [](Builder&, const Node&) { return std::vector<Value>(); };
  CHECK_FALSE(rewrite(m, std::span(&never, 1)));
  CHECK(m.main()->body.nodes == before);
}

TEST_CASE("rewrite: a value made in place of another takes over its id and name") {
  Module m = read(R"(tenon 1.0
module "ids"
func @main(%0 "x": f32[4]) -> ("y") {
  %7 "named" = relu(%0) : f32[4]
  return %7
}
)");
  const OpId relu = m.ops().at("relu");
  const Rule to_neg = [&](Builder& b, const Node& n) -> std::vector<Value> {
    if (n.op != relu) return {};
    return {b.make("neg", {b.make("abs", {n.operands[0]})})};
  };
  CHECK(rewrite(m, std::span(&to_neg, 1)));
  const Value y = m.main()->body.results[0];
  CHECK(y.id() == 7);
  CHECK(y.name() == "named");
  CHECK(m.ops()[y.node->op].name == "neg");
  CHECK(verify(m));
}

TEST_CASE("rewrite: chains of 100 000 nodes are rewritten, swept and compacted") {
  auto ops = builtin_ops();
  Module m(ops);
  m.name = "chain";
  m.functions.push_back(Function{
      .name = "main", .body = {}, .result_names = {"y"}, .attrs = {}, .next_id = 0, .loc = {}});
  Builder b(m, m.functions.back());
  Value v = b.params({{TensorType(DType::f32, Shape{2}), 0, "x"}})[0];
  for (int i = 0; i < 100000; ++i) v = b.make("neg", {v});
  m.functions.back().body.nodes = b.take();
  m.functions.back().body.results = {v};
  const Rule rule = neg_neg;
  CHECK(rewrite(m, std::span(&rule, 1)));
  remove_dead(m);
  m.compact();
  CHECK(m.main()->body.results[0] == m.main()->param(0));
  CHECK(m.arena_size() == 1);
}

}  // namespace tenon
