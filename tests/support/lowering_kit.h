// Lowers computes with the plugin tenon.te and judges the kernels: against the evaluator, against
// the plain schedule, however the parallel range is cut, in place, interpreted and compiled.
#ifndef TENON_TESTS_SUPPORT_LOWERING_KIT_H
#define TENON_TESTS_SUPPORT_LOWERING_KIT_H

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "tenon/lowering.h"
#include "tenon/target.h"
#include "tenon/te.h"
#include "tests/support/native_target.h"

namespace tenon::test {

/// tenon.te as its plugin registers it.
const LoweringInfo& te_lowering();
/// A CPU with vectors of `bytes`; for what is only interpreted.
TargetFacts plain_facts(std::uint32_t bytes = 64, std::uint32_t registers = 32);

/// The same, with an instruction that multiplies bytes in groups.
TargetFacts facts_with_bytes();

struct Lowered {
  te::Compute compute;
  Schedule schedule;
  tir::Kernel kernel;
};
/// All three sub-slots in turn. Fails the test on a diagnostic, a broken law of TE or of kernels.
Lowered lower(const te::Compute& c, const TargetFacts& facts, bool naive = false,
              bool fast_math = false);

struct Case {
  std::string name;
  te::Compute compute;
  double ulp = 0;       ///< allowed difference from the evaluator in units of the last place of the
                        ///< result; 0 = bitwise
  double at_least = 0;  ///< ... of a result of at least this size (sums that cancel)
  int low = -3, high = 3;  ///< inputs are integers in this range ...
  double scale = 1;        ///< ... times this
};
/// A compute lowered and compiled for this machine.
class NativeKernel {
 public:
  explicit NativeKernel(const te::Compute& c, bool fast_math = false);
  /// One vector of bytes per output.
  std::vector<std::vector<std::byte>> run(const std::vector<std::vector<std::byte>>& inputs) const;
  /// The same by the interpreter of kernels.
  std::vector<std::vector<std::byte>> interpret(
      const std::vector<std::vector<std::byte>>& inputs) const;

 private:
  std::size_t outputs_;
  Lowered lowered_;
  NativeKernels code_;
};
/// NativeKernel::run of a compute that runs once.
std::vector<std::vector<std::byte>> run_native(const te::Compute& c,
                                               const std::vector<std::vector<std::byte>>& inputs);

/// The kernels that `schedules` make of `c`, which stands as the first sub-slot leaves it: each
/// against the evaluator, cut into chunks, in place, interpreted and compiled. Small integers go
/// in.
void judge_schedules(const te::Compute& c, const std::vector<Schedule>& schedules);

/// The whole judgement of every case, for vectors of 64, 32 and 16 bytes.
void judge(const std::vector<Case>& cases);

}  // namespace tenon::test

#endif
