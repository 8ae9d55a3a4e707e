// Every scalar operation on every type, as machine code, against the interpreter.
#include <doctest/doctest.h>

#include "tests/support/scalar_cases.h"

namespace tenon::test {
namespace {

void check_cases(const std::vector<ScalarCase>& cases, const TargetFacts& facts) {
  std::vector<tir::Kernel> kernels;
  for (const ScalarCase& c : cases) kernels.push_back(kernel_of(c));
  const auto compiled = NativeKernels::compile(kernels, facts, 2);
  if (!runs_here(facts)) return;
  for (const ScalarCase& c : cases) CHECK(difference(c, compiled[c.symbol()]) == "");
}

}  // namespace

TEST_CASE("llvm: every scalar operation equals the interpreter, on this machine's cpu") {
  check_cases(scalar_cases({1, 16}), llvm_facts());
}

TEST_CASE("llvm: every scalar operation equals the interpreter, with 256-bit vectors") {
  check_cases(scalar_cases({8}), llvm_facts("x86-64-v3"));
}

TEST_CASE(
    "llvm: every scalar operation equals the interpreter, with narrower vectors than the cpu has") {
  TargetFacts facts = llvm_facts();
  facts.vector_bytes = 32;
  check_cases(scalar_cases({1, 8}), facts);
}

TEST_CASE(
    "llvm: plain x86-64 has no fma, no rounding and no f16 instructions, and computes the same") {
  std::vector<ScalarCase> cases;
  for (const ScalarCase& c : scalar_cases({4})) {
    if (c.from == DType::f16 || c.to == DType::f16 ||
        (c.op == ScalarOp::fma && c.from == DType::f64))
      continue;
    if (is_float(c.from) || is_float(c.to)) cases.push_back(c);
  }
  check_cases(cases, llvm_facts("x86-64"));
}

TEST_CASE("llvm: products in groups of four equal the interpreter's, with and without VNNI") {
  for (const char* cpu : {"native", "x86-64-v4", "x86-64-v3", "x86-64"})
    for (const unsigned lanes : {1u, 4u, 5u, 8u, 16u, 32u}) {
      CAPTURE(cpu);
      const TargetFacts facts = llvm_facts(cpu);
      const auto compiled = NativeKernels::compile({dot_kernel(lanes)}, facts, 1);
      if (runs_here(facts)) CHECK(dot_difference(lanes, compiled[dot_kernel(lanes).symbol]) == "");
    }
}

}  // namespace tenon::test
