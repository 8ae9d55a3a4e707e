// LowerTE: primitives become kernels. It walks `main` and every other graph function and meets six
// forms:
//
//   1 primitive { ... }        inline primitive           -> call_kernel
//   2 call @p, p.primitive     global primitive           -> call_kernel; @p goes when nothing else
//   calls it 3 either, tagged `vendor`  belongs to a vendor        -> left alone 4 call_kernel @k
//   already lowered            -> left alone, counted 5 call @k, k is a kernel   call to an
//   existing kernel -> call_kernel 6 call @f                  ordinary call              -> left
//   alone
//
// Twice equals once. Preconditions, each a named error: computing nodes stand in primitives
// (TN3201), primitives do not nest (TN3202), types are static (TN3203), the target that a primitive
// names exists (TN3204).
#ifndef TENON_CORE_LOWER_LOWER_TE_H
#define TENON_CORE_LOWER_LOWER_TE_H

#include <map>
#include <string>

#include "core/lower/cache.h"
#include "tenon/ir.h"

namespace tenon {

/// The three sub-slots as the pipeline binds them for one target.
struct BoundLowering {
  const LoweringInfo* compute = nullptr;
  const LoweringInfo* schedule = nullptr;
  const LoweringInfo* kernel = nullptr;
  OptionValues compute_options, schedule_options, kernel_options;
  TargetFacts target;
};

struct LowerConfig {
  std::map<std::string, BoundLowering> by_target;  ///< by target id
  std::string default_target;                      ///< of primitives that name none
  unsigned threads = 1;                            ///< the result does not depend on it
};

struct LowerCounts {
  std::uint32_t regions = 0, kernels = 0;
};

Status lower_te(Module& m, const LowerConfig& config, LoweringCache& cache,
                LowerCounts* counts = nullptr);

}  // namespace tenon

#endif
