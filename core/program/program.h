// From module and judged plan to the program that every executor encodes.
#ifndef TENON_CORE_PROGRAM_PROGRAM_H
#define TENON_CORE_PROGRAM_PROGRAM_H

#include "tenon/program.h"
#include "tenon/storage.h"

namespace tenon {

/// Resolves every argument to bytes of a pool, an input or an output; pools have exactly the
/// planned bytes. `values` and `request` are what storage_values() and fold() give for `m` now.
/// 4501: the plan is stale (it was made for another request). 4502: the plan does not have one slot
/// per token and one use per pool. 4201-4203 as for storage_values().
Result<ExecProgram> build_program(const Module& m, const StorageValues& values,
                                  const StorageRequest& request, const StoragePlan& plan);

}  // namespace tenon

#endif
