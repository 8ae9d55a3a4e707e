// Which pools a value may live in, in which order, at which cost, and where it is pinned.
//
// The first rule of `place` that matches a value decides; but where the tensor expression asks for
// pools, only one that names the value or its op does. A pool is left out when it does not hold
// the value's sort or when a target that touches the value may not. Two sorts of value are matched
// only by rules that speak of them: views and other aliases by rules that name a value (else they
// go where their storage goes), worker scratch by rules with `role: worker` (else any pool that
// holds it).
#ifndef TENON_CORE_STORAGE_PLACEMENT_H
#define TENON_CORE_STORAGE_PLACEMENT_H

#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/storage/timeline.h"
#include "tenon/storage.h"

namespace tenon {

/// What the rules ask about a value beside the value itself. The module has the names.
struct PlacementFacts {
  std::vector<std::pair<std::string_view, bool>> targets;  ///< that touch it; true: one that writes
  std::string_view on, compute;                            ///< of the kernel that produces it
  bool alias = false;                                      ///< its bytes belong to another value
  std::span<const std::string> pools;                      ///< that its tensor expression asks for
};

/// Without declared pools: `ram` (data), `const` (constants), `worker` (worker scratch); no limits,
/// no costs.
MemoryConfig default_memory_config();

/// Whether `keep` has a glob that matches.
bool config_keeps(const MemoryConfig& config, std::string_view value);

/// `*` any run of characters, `?` any one.
bool glob_match(std::string_view glob, std::string_view text);

/// Fills in pools, reserved ranges, and each value's pools, cost and pin. Values of 0 pools never
/// come out. 4204: unknown pool. 4205: a rule that matches nothing. 4206: a value that no rule or
/// no pool takes. 4207: a pin that is not one value in one pool, or lies below the pool. 4208: a
/// `keep` that matches nothing.
Status place_values(const MemoryConfig& config, const std::vector<ValueHome>& homes,
                    const std::vector<PlacementFacts>& facts, StorageValues& values);

}  // namespace tenon

#endif
