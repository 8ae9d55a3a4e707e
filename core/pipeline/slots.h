// The steps that bind an implementation, as rows: which slot, and which facts they ask for and
// leave behind.
#ifndef TENON_CORE_PIPELINE_SLOTS_H
#define TENON_CORE_PIPELINE_SLOTS_H

#include <span>
#include <string_view>

#include "core/pipeline/index.h"

namespace tenon {

struct SlotStep {
  std::string_view name;  ///< the step in YAML
  SlotKind slot;
  std::span<const std::string_view> needs, gives;
  std::string_view doc;
};

std::span<const SlotStep> slot_steps();
/// Null for a pass.
const SlotStep* slot_step(std::string_view name);

}  // namespace tenon

#endif
