// What a module needs, by function: for boards, archives and people.
#ifndef TENON_CORE_PROGRAM_METADATA_H
#define TENON_CORE_PROGRAM_METADATA_H

#include <string>

#include "tenon/ir.h"
#include "tenon/storage.h"

namespace tenon {

/// JSON, from module and plan alone, so it is the same before and after passes that change no
/// memory:
///   {"functions": {"main": {"workspace": {POOL: bytes}, "worker": {POOL: bytes}, "constants":
///   {POOL: bytes}, "io": bytes,
///                           "inputs": {NAME: {"size", "type"}}, "outputs": {...}},
///                  SYMBOL: {"target", "calls", "workspace", "worker", "io"}}}
/// All sizes are bytes. `workspace` of `main` is the peak of each pool that holds data, `worker` is
/// per worker, `constants` is the bytes of constants in each pool. `workspace` of a kernel is its
/// shared scratch. `io` is inputs plus outputs. Codes 4201-4203 as for storage_values(), 4502 for a
/// plan of another request.
Result<std::string> metadata_json(const Module& m, const StorageRequest& request,
                                  const StoragePlan& plan);

}  // namespace tenon

#endif
