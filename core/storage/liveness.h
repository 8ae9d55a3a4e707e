// From a lowered module to the values that need storage: sizes, lifetimes, relations, pools, costs.
// The result is the judge's ground truth.
//
// Laws:
//  - A value is live from the step that writes it (inputs: from step 0) to the last step that reads
//    it, along every path
//    that leads there: a value that one arm of an `if` needs is not live in the other. Results are
//    live to the end, constants always, kept values (`keep`) to the end. A view is live from the
//    step that writes its base to the last step that reads the view; from one step later where the
//    base takes another value's place.
//  - What a loop carries, its count, the number of the iteration, and values from outside that its
//    body reads are live over the whole loop, back edge included; other values of the body within
//    one iteration.
//  - Caller-owned storage (`io: caller`) is not in the result, nor are values of 0 bytes, nor views
//    that nothing reads.
//  - A view of all of its base is `same`, another `inside`; both name the value that was written,
//    not a view between.
//  - Alignment is the strictest that any kernel asks of the value, at least its element's.
//  - Worker scratch is one value per call, in pools that hold `worker`.
#ifndef TENON_CORE_STORAGE_LIVENESS_H
#define TENON_CORE_STORAGE_LIVENESS_H

#include "tenon/ir.h"
#include "tenon/storage.h"

namespace tenon {

/// Codes 4201-4203 (see timeline.h) and 4204-4208 (see placement.h).
Result<StorageValues> storage_values(const Module& m, const MemoryConfig& config);

}  // namespace tenon

#endif
