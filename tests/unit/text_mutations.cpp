// A change to any field of a module breaks equality and shows in the text: so neither forgets one.
#include <doctest/doctest.h>

#include <functional>

#include "tenon/storage.h"
#include "tests/support/sample_module.h"

namespace tenon::test {
namespace {

struct Mutation {
  const char* name;
  std::function<void(Module&)> apply;
};

// Nodes of a clone belong to this test alone.
Node& node_at(Module& m, std::size_t k) {
  return const_cast<Node&>(*m.function("main")->body.nodes.at(k));
}
Node& entry(Module& m) { return const_cast<Node&>(*m.function("main")->body.entry); }
Node& with_regions(Module& m) {
  for (const Node* n : m.function("main")->body.nodes)
    if (n->regions.size() == 2) return const_cast<Node&>(*n);
  FAIL("no node with regions");
  return node_at(m, 0);
}
te::Compute& compute(Module& m) { return m.computes[0].compute; }
tir::Kernel& kernel(Module& m) { return m.kernels[0].kernel; }

template <class E>
E& find(std::vector<E>& list, auto kind) {
  for (E& e : list)
    if (e.kind == kind) return e;
  FAIL("no such element");
  return list[0];
}
template <class E>
E& find_real(std::vector<E>& list, auto kind) {
  for (E& e : list)
    if (e.kind == kind && e.f != 0) return e;
  return find(list, kind);
}

std::vector<Mutation> graph_mutations() {
  return {
      {"module name", [](Module& m) { m.name += "x"; }},
      {"module attributes", [](Module& m) { m.attrs.set("t.int", std::int64_t{4}); }},
      {"attribute name",
       [](Module& m) { m.attrs.erase("t.int"), m.attrs.set("t.inu", std::int64_t{INT64_MIN}); }},
      {"attribute kind", [](Module& m) { m.attrs.set("t.whole_real", std::int64_t{3}); }},
      {"sign of zero",
       [](Module& m) {
         auto v = *m.attrs.get<std::vector<double>>("t.reals");
         v[0] = 0.0;
         m.attrs.set("t.reals", v);
       }},
      {"kind of an empty list",
       [](Module& m) { m.attrs.set("t.no_reals", std::vector<std::string>{}); }},
      {"symbol name", [](Module& m) { m.symbols[0].name = "q"; }},
      {"symbol min", [](Module& m) { m.symbols[0].min = 2; }},
      {"symbol max", [](Module& m) { m.symbols[0].max = 127; }},
      {"symbol without max", [](Module& m) { m.symbols[0].max.reset(); }},
      {"symbol order", [](Module& m) { std::swap(m.symbols[0], m.symbols[1]); }},
      {"function name", [](Module& m) { m.functions[0].name = "other"; }},
      {"function order", [](Module& m) { std::swap(m.functions[0], m.functions[1]); }},
      {"function attributes", [](Module& m) { m.functions[0].attrs.set("primitive", false); }},
      {"next id", [](Module& m) { m.functions[1].next_id++; }},
      {"result name", [](Module& m) { m.functions[0].result_names[0] = "b"; }},
      {"result",
       [](Module& m) {
         auto& r = m.function("main")->body.results;
         std::swap(r[0], r[3]);
       }},
      {"number of results", [](Module& m) { m.function("main")->body.results.pop_back(); }},
      {"node order",
       [](Module& m) {
         auto& n = m.function("main")->body.nodes;
         std::swap(n[0], n[1]);
       }},
      {"a node less",
       [](Module& m) {
         m.function("main")->body.nodes.erase(m.function("main")->body.nodes.begin());
       }},
      {"op", [](Module& m) { node_at(m, 2).op = m.ops().at("sub"); }},
      {"operand", [](Module& m) { node_at(m, 2).operands[1] = node_at(m, 2).operands[0]; }},
      {"operand's result number",
       [](Module& m) { with_regions(m).regions[1].results[0].index = 0; }},
      {"number of operands", [](Module& m) { node_at(m, 2).operands.pop_back(); }},
      {"node attribute", [](Module& m) { node_at(m, 2).attrs.set("t.bool", false); }},
      {"callee", [](Module& m) { node_at(m, 3).attrs.set("callee", std::string("main")); }},
      {"constant",
       [](Module& m) {
         node_at(m, 0).attrs.set("value", make_constant(TensorType(DType::f32, Shape{2, 3}),
                                                        std::vector<std::byte>(24)));
       }},
      {"large constant",
       [](Module& m) {
         node_at(m, 1).attrs.set("value", make_constant(TensorType(DType::f32, Shape{4, 5}),
                                                        std::vector<std::byte>(80)));
       }},
      {"result type", [](Module& m) { node_at(m, 2).results[0].type.dtype = DType::i32; }},
      {"result dim", [](Module& m) { node_at(m, 2).results[0].type.dims[1] = 4; }},
      {"result symbol", [](Module& m) { node_at(m, 2).results[0].type.dims[1] = Dim::symbol(1); }},
      {"result lanes", [](Module& m) { node_at(m, 2).results[0].type.lanes = 2; }},
      {"result id", [](Module& m) { node_at(m, 2).results[0].id = 99; }},
      {"value name", [](Module& m) { node_at(m, 2).results[0].name = "conv2.out"; }},
      {"parameter name", [](Module& m) { entry(m).results[0].name = "in"; }},
      {"parameter type", [](Module& m) { entry(m).results[0].type.dims.pop_back(); }},
      {"parameter id", [](Module& m) { entry(m).results[0].id = 77; }},
      {"region order",
       [](Module& m) { std::swap(with_regions(m).regions[0], with_regions(m).regions[1]); }},
      {"region result",
       [](Module& m) {
         auto& r = with_regions(m).regions[0].results;
         std::swap(r[0], r[1]);
       }},
      {"node in a region",
       [](Module& m) {
         const_cast<Node*>(with_regions(m).regions[0].nodes[0])->op = m.ops().at("abs");
       }},
  };
}

std::vector<Mutation> compute_mutations() {
  using te::Kind;
  return {
      {"compute name", [](Module& m) { m.computes[0].name = "d"; }},
      {"compute input", [](Module& m) { compute(m).inputs[0].dims[0] = 9; }},
      {"compute output", [](Module& m) { compute(m).outputs[0] = 1; }},
      {"stage name", [](Module& m) { compute(m).stages[0].name = "z"; }},
      {"stage type", [](Module& m) { compute(m).stages[0].dtype = DType::f16; }},
      {"axis name", [](Module& m) { compute(m).stages[0].axes[0].name = "z"; }},
      {"axis extent", [](Module& m) { compute(m).stages[0].axes[0].extent = 3; }},
      {"reduction axis", [](Module& m) { compute(m).stages[1].reduce[0].extent = 2; }},
      {"stage value", [](Module& m) { compute(m).stages[0].value = 0; }},
      {"te op", [](Module& m) { find(compute(m).exprs, Kind::scalar).op = ScalarOp::sub; }},
      {"te fold", [](Module& m) { find(compute(m).exprs, Kind::reduce).fold = te::Fold::min; }},
      {"te type", [](Module& m) { find(compute(m).exprs, Kind::scalar).dtype = DType::f64; }},
      {"te type of a load",
       [](Module& m) { find(compute(m).exprs, Kind::load).dtype = DType::f64; }},
      {"te tensor", [](Module& m) { find(compute(m).exprs, Kind::load).n = 1; }},
      {"te axis", [](Module& m) { find(compute(m).exprs, Kind::axis).n = 1; }},
      {"te real", [](Module& m) { find_real(compute(m).exprs, Kind::imm).f = 0.25; }},
      {"te integer",
       [](Module& m) {
         for (auto& e : compute(m).exprs)
           if (e.kind == Kind::imm && e.i == 3) e.i = 4;
       }},
      {"te operand",
       [](Module& m) {
         auto& a = find(compute(m).exprs, Kind::load).args;
         std::swap(a[0], a[1]);
       }},
      {"a te expression more",
       [](Module& m) {
         compute(m).exprs.push_back({.kind = Kind::imm, .dtype = DType::i8, .i = 1});
       }},
      {"schedule", [](Module& m) { m.computes[0].schedule.reset(); }},
      {"schedule family", [](Module& m) { m.computes[0].schedule->family = "naive"; }},
      {"schedule place",
       [](Module& m) { m.computes[0].schedule->stages[1].place = Place::output; }},
      {"schedule at stage", [](Module& m) { m.computes[0].schedule->stages[0].at_stage = 1; }},
      {"schedule at loop", [](Module& m) { m.computes[0].schedule->stages[0].at_loop = 2; }},
      {"schedule axis", [](Module& m) { m.computes[0].schedule->stages[0].loops[0].axis = 1; }},
      {"schedule step", [](Module& m) { m.computes[0].schedule->stages[0].loops[0].step = 3; }},
      {"schedule kind",
       [](Module& m) { m.computes[0].schedule->stages[0].loops[0].kind = LoopKind::unroll; }},
  };
}

std::vector<Mutation> kernel_mutations() {
  using tir::Kind;
  using tir::StmtKind;
  return {
      {"kernel symbol", [](Module& m) { kernel(m).symbol = "k1"; }},
      {"kernel compute", [](Module& m) { m.kernels[0].compute = "no schedule"; }},
      {"kernel target", [](Module& m) { m.kernels[0].target = "npu"; }},
      {"kernel uses", [](Module& m) { m.kernels[0].uses++; }},
      {"extent", [](Module& m) { kernel(m).extent++; }},
      {"grain", [](Module& m) { kernel(m).grain++; }},
      {"work", [](Module& m) { kernel(m).work++; }},
      {"worker bytes", [](Module& m) { kernel(m).worker_bytes++; }},
      {"worker align", [](Module& m) { kernel(m).worker_align *= 2; }},
      {"in-place pair", [](Module& m) { kernel(m).inplace.clear(); }},
      {"in-place argument", [](Module& m) { kernel(m).inplace[0].first = 1; }},
      {"buffer name", [](Module& m) { kernel(m).buffers[1].name = "v"; }},
      {"buffer type", [](Module& m) { kernel(m).buffers[1].dtype = DType::f64; }},
      {"buffer elements", [](Module& m) { kernel(m).buffers[1].elements++; }},
      {"buffer scope", [](Module& m) { kernel(m).buffers[1].scope = tir::Scope::output; }},
      {"buffer argument", [](Module& m) { kernel(m).buffers[1].arg = 7; }},
      {"buffer offset", [](Module& m) { kernel(m).buffers[4].offset = 0; }},
      {"buffer offset of an argument", [](Module& m) { kernel(m).buffers[1].offset = 8; }},
      {"buffer align", [](Module& m) { kernel(m).buffers[1].align = 8; }},
      {"variable name", [](Module& m) { kernel(m).vars[2].name = "j"; }},
      {"variable type", [](Module& m) { kernel(m).vars[3].type.lanes = 8; }},
      {"tir op", [](Module& m) { find(kernel(m).exprs, Kind::scalar).op = ScalarOp::add; }},
      {"tir type", [](Module& m) { find(kernel(m).exprs, Kind::scalar).type.dtype = DType::i32; }},
      {"tir lanes", [](Module& m) { find(kernel(m).exprs, Kind::broadcast).type.lanes = 2; }},
      {"tir lanes of a load", [](Module& m) { find(kernel(m).exprs, Kind::load).type.lanes = 2; }},
      {"tir buffer", [](Module& m) { find(kernel(m).exprs, Kind::load).n = 1; }},
      {"tir stride", [](Module& m) { find(kernel(m).exprs, Kind::load).i = 2; }},
      {"tir stride that is not used",
       [](Module& m) {
         for (auto& e : kernel(m).exprs)
           if (e.kind == Kind::load && e.i == 0) e.i = 1;
       }},
      {"tir mask",
       [](Module& m) {
         for (auto& e : kernel(m).exprs)
           if (e.kind == Kind::load && e.args.size() == 2) e.args.pop_back();
       }},
      {"tir ramp step", [](Module& m) { find(kernel(m).exprs, Kind::ramp).i = 3; }},
      {"tir fold", [](Module& m) { find(kernel(m).exprs, Kind::fold_lanes).op = ScalarOp::min; }},
      {"tir variable", [](Module& m) { find(kernel(m).exprs, Kind::var).n = 1; }},
      {"tir real",
       [](Module& m) {
         for (auto& e : kernel(m).exprs)
           if (e.kind == Kind::imm && is_float(e.type.dtype)) e.f = 0.0;
       }},
      {"tir integer", [](Module& m) { find(kernel(m).exprs, Kind::imm).i = 6; }},
      {"tir operand",
       [](Module& m) {
         for (auto& e : kernel(m).exprs)
           if (e.op == ScalarOp::fma) std::swap(e.args[0], e.args[1]);
       }},
      {"statement target", [](Module& m) { find(kernel(m).stmts, StmtKind::store).target = 3; }},
      {"statement value", [](Module& m) { find(kernel(m).stmts, StmtKind::assign).value = 0; }},
      {"statement index", [](Module& m) { find(kernel(m).stmts, StmtKind::store).index = 0; }},
      {"statement mask",
       [](Module& m) { find(kernel(m).stmts, StmtKind::store).mask = tir::none; }},
      {"statement stride", [](Module& m) { find(kernel(m).stmts, StmtKind::store).stride = 3; }},
      {"loop begin", [](Module& m) { find(kernel(m).stmts, StmtKind::loop).begin = 1; }},
      {"loop end", [](Module& m) { find(kernel(m).stmts, StmtKind::loop).end = 0; }},
      {"loop step", [](Module& m) { find(kernel(m).stmts, StmtKind::loop).step = 4; }},
      {"loop variable", [](Module& m) { find(kernel(m).stmts, StmtKind::loop).target = 2; }},
      {"body order",
       [](Module& m) {
         auto& b = kernel(m).stmts[kernel(m).body[0]].body;
         std::swap(b[0], b[1]);
       }},
      {"branch arms",
       [](Module& m) {
         auto& s = find(kernel(m).stmts, StmtKind::branch);
         std::swap(s.body, s.other);
       }},
      {"statement ids", [](Module& m) { kernel(m) = tir::renumbered(kernel(m)); }},
  };
}

StoragePlan& plan(Module& m) {
  auto copy = std::make_shared<StoragePlan>(*m.plan);
  m.plan = copy;
  return *copy;
}

std::vector<Mutation> plan_mutations() {
  return {
      {"plan", [](Module& m) { m.plan.reset(); }},
      {"plan hash", [](Module& m) { plan(m).request_hash = "b"; }},
      {"planner", [](Module& m) { plan(m).planner = "naive"; }},
      {"planner version", [](Module& m) { plan(m).version = "2"; }},
      {"planner option", [](Module& m) { plan(m).options["align"] = "1"; }},
      {"slot", [](Module& m) { plan(m).slots[0].offset = 64; }},
      {"slot pool", [](Module& m) { plan(m).slots[0].pool = 3; }},
      {"pool peak", [](Module& m) { plan(m).pools[0].peak = 64; }},
      {"pool bound", [](Module& m) { plan(m).pools[0].bound = 64; }},
      {"pool step", [](Module& m) { plan(m).pools[0].peak_step = 64; }},
      {"cost", [](Module& m) { plan(m).cost = 64; }},
      {"optimal", [](Module& m) { plan(m).optimal = false; }},
      {"reproducible", [](Module& m) { plan(m).reproducible = true; }},
  };
}

void check_all(const std::vector<Mutation>& mutations) {
  const Module original = sample_module();
  const std::string text = print(original);
  for (const Mutation& mutation : mutations) {
    CAPTURE(mutation.name);
    Module m = original.clone();
    REQUIRE(equal(original, m));
    REQUIRE(print(m) == text);
    mutation.apply(m);
    CHECK(!equal(original, m));
    CHECK(print(m) != text);
  }
}

TEST_CASE("text: a change to any field of a graph breaks equality and shows") {
  check_all(graph_mutations());
}
TEST_CASE("text: a change to any field of a compute breaks equality and shows") {
  check_all(compute_mutations());
}
TEST_CASE("text: a change to any field of a kernel breaks equality and shows") {
  check_all(kernel_mutations());
}
TEST_CASE("text: a change to any field of a plan breaks equality and shows") {
  check_all(plan_mutations());
}

}  // namespace
}  // namespace tenon::test
