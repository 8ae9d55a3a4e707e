// The judge: checks a plan against the values and their lifetimes as liveness found them -- never
// against the tokens, parts or joins that the request was folded into. It shares no code with the
// folding, the request's checks or any planner, runs after every plan and offer, in release too,
// and never samples. TN40xx, one code per law:
//
//   4001  a value has no slot
//   4002  the pool is not one of the value's
//   4003  the offset is no multiple of alignment or granule
//   4004  it ends past the pool's capacity
//   4005  a pin is not honoured
//   4006  two values share bytes in a step
//   4007  an alias does not stand on its value
//   4008  a view does not stand inside its base at its offset
//   4009  it lies in reserved bytes
//   4010  an in-place pair at another offset or step than allowed
//   4011  the plan's figures (peak, bound, cost) are not what its slots give
//   4012  the plan was made for another request
//
// Law of sharing: values that `same` and `inside` relate are one storage and may overlap. An
// in-place pair (a, b) may overlap in exactly one step: the one that makes b, which is the last of
// a and not its first, with b at a + delta. All other values that are live in one step share no
// byte.
#ifndef TENON_CORE_STORAGE_JUDGE_H
#define TENON_CORE_STORAGE_JUDGE_H

#include <optional>
#include <span>

#include "tenon/storage.h"

namespace tenon {

/// slots[i]: where values[i] stands; nothing = it has no slot. O((n + intervals + relations) log
/// n). At most 20 errors.
Status judge_values(const StorageValues& v, std::span<const std::optional<Slot>> slots);

/// Where `plan` puts each value: its token's slot plus its offset there.
std::vector<std::optional<Slot>> value_slots(const StorageValues& v, const StorageRequest& r,
                                             const StoragePlan& plan);

/// A plan against the module's values: the slots, and that the plan belongs to `r` and says the
/// truth about its figures.
Status judge_plan(const StorageValues& v, const StorageRequest& r, const StoragePlan& plan);

/// A request without a module (from a file): its tokens are the values, its parts and joins are
/// taken as facts.
Status judge_slots(const StorageRequest& r, std::span<const Slot> slots);
Status judge_plan(const StorageRequest& r, const StoragePlan& plan);

}  // namespace tenon

#endif
