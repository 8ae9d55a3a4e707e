// The bodies of the steps that bind an implementation. Each reads its Step (`with`, options) and
// works on the Compilation.
#ifndef TENON_CORE_PIPELINE_STEPS_STEPS_H
#define TENON_CORE_PIPELINE_STEPS_STEPS_H

#include "core/pipeline/run.h"

namespace tenon {

Status step_import(Compilation& c, const Step& step);
Status step_lower(Compilation& c, const Step& step);
Status step_plan(Compilation& c, const Step& step);
Status step_emit(Compilation& c, const Step& step);

/// The four, for run_pipeline().
inline SlotBodies slot_bodies() {
  return {{"import", step_import}, {"lower", step_lower}, {"plan", step_plan}, {"emit", step_emit}};
}

}  // namespace tenon

#endif
