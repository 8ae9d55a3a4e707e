// The targets of a compilation, resolved once: what `native` means here, which registers there are.
#ifndef TENON_CORE_PIPELINE_STEPS_TARGETS_H
#define TENON_CORE_PIPELINE_STEPS_TARGETS_H

#include "core/pipeline/run.h"

namespace tenon {

/// Fills c.targets from the configuration. A target whose plugin is absent (validation has warned)
/// gets plain facts: lowering and planning need no code generator; emission then fails. Errors of
/// the session and of the targets themselves.
Status resolve_targets(Compilation& c);

}  // namespace tenon

#endif
