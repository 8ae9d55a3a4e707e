// The reference executor: the evaluator inside the planned pools. What every other executor is
// compared with.
//
// Each pool, input and output is memory of exactly its size that ends at a page which faults.
// Memory starts poisoned (0xFF bytes, NaN as floats), scratch is poisoned around each call, results
// before it, and bytes are poisoned as soon as nothing needs what they hold: a plan that lets two
// values share bytes wrongly changes the result.
#ifndef TENON_CORE_PROGRAM_REFERENCE_H
#define TENON_CORE_PROGRAM_REFERENCE_H

#include <span>
#include <vector>

#include "tenon/eval.h"
#include "tenon/program.h"

namespace tenon {

struct ReferenceRun {
  std::vector<Tensor> outputs;
  std::uint64_t poisoned =
      0;  ///< bytes that died during the run and were poisoned; scratch does not count
};

/// Runs `p`, which was built from `m`, on `inputs`. 4511: number or type of inputs. 4512: a kernel
/// without compute function in `m`, or a place outside its pool. 4513: no memory. 4514: something
/// wrote outside a pool or tensor.
Result<ReferenceRun> run_reference(const Module& m, const ExecProgram& p,
                                   std::span<const Tensor> inputs);

}  // namespace tenon

#endif
