// Every scalar operation on every type, as kernels, and what the interpreter says of them: all
// pairs of edge values, and random ones, in one lane and in many. For the tests of targets.
#ifndef TENON_TESTS_SUPPORT_SCALAR_CASES_H
#define TENON_TESTS_SUPPORT_SCALAR_CASES_H

#include <string>
#include <vector>

#include "tenon/kernel.h"
#include "tests/support/native_target.h"

namespace tenon::test {

struct ScalarCase {
  ScalarOp op;
  DType from, to;
  unsigned lanes;
  std::string symbol() const;
};

/// Each operation that kernels have, on each type, with each number of lanes.
std::vector<ScalarCase> scalar_cases(std::initializer_list<unsigned> lanes);
tir::Kernel kernel_of(const ScalarCase& c);
/// Runs the case both ways; the first difference, or "".
std::string difference(const ScalarCase& c, KernelFn fn);

/// tir::Kind::dot in `lanes` lanes: of vectors, and of a group of four for all lanes.
tir::Kernel dot_kernel(unsigned lanes);
/// Runs it both ways over edge values and random ones; the first difference, or "".
std::string dot_difference(unsigned lanes, KernelFn fn);

}  // namespace tenon::test

#endif
