// Core facts of a module: predicates, recomputed whenever somebody asks. Never stored, so never
// stale. See tenon/pass.h.
#ifndef TENON_CORE_IR_FACTS_H
#define TENON_CORE_IR_FACTS_H

#include <functional>
#include <span>
#include <string>
#include <string_view>

#include "tenon/ir.h"

namespace tenon {

/// What facts need to know beyond the module.
struct FactContext {
  /// Hash of the storage request that the module asks for now; "" when it asks for none. Without
  /// it, `memory-planned` says only that there is a plan.
  std::function<std::string(const Module&)> request_hash;
};

struct CoreFact {
  std::string_view name;
  std::string_view meaning;
  bool (*holds)(const Module&, const FactContext&);
};
std::span<const CoreFact> core_facts();

bool is_core_fact(std::string_view name);

/// False for names that are no core fact. O(nodes).
bool holds(std::string_view fact, const Module& m, const FactContext& context = {});

}  // namespace tenon

#endif
