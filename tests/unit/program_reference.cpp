// The reference executor's own alarms: no memory, and bytes written outside what was planned.
#include <doctest/doctest.h>

#include "tests/support/lowered_module.h"
#include "tests/support/planned.h"

namespace tenon::test {
namespace {

Module one_kernel(std::int64_t n) {
  LoweredModule b({{"x", i32(n)}});
  return b.finish({b.call("y", {b.in(0)}, i32(n))});
}

int code_of(const Module& m, const ExecProgram& p, const std::vector<Tensor>& inputs) {
  const auto run = run_reference(m, p, inputs);
  return run ? 0 : run.errors()[0].code;
}

}  // namespace

TEST_CASE("reference: pools that no machine has are refused (4513)") {
  Module m = one_kernel(8);
  const Planned p = plan_module(m);
  ExecProgram huge = p.program;
  REQUIRE(!huge.pools.empty());
  huge.pools[0].bytes = std::uint64_t{1} << 60;
  CHECK(code_of(m, huge, random_inputs(m, 1)) == 4513);
}

TEST_CASE("reference: a kernel that writes past its tensor is seen (4514)") {
  Module m = one_kernel(8);
  Planned p = plan_module(m);
  const std::vector<Tensor> inputs = random_inputs(m, 1);
  // Room before the page that faults: what the wide kernel reads and writes too much lies there.
  p.program.inputs[0].align = p.program.outputs[0].align = 64;
  CHECK(code_of(m, p.program, inputs) == 0);
  const Module wide = one_kernel(16);
  CHECK(code_of(wide, p.program, inputs) == 4514);
}

}  // namespace tenon::test
