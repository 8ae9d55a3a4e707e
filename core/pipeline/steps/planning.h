// What `plan`, `emit` and `tenon fit` share: the request that a module asks for.
#ifndef TENON_CORE_PIPELINE_STEPS_PLANNING_H
#define TENON_CORE_PIPELINE_STEPS_PLANNING_H

#include "core/storage/solve.h"
#include "tenon/ir.h"
#include "tenon/storage.h"

namespace tenon {

class Session;

struct PlanningInput {
  StorageValues values;
  StorageRequest request;
};

/// Liveness and folding; precondition: make_outputs_ownable() has run.
Result<PlanningInput> planning_input(const Module& m, const MemoryConfig& memory);

/// Settings that let a planner call others of the session.
SolveSettings solve_settings(Session& session, const Loc& loc);

}  // namespace tenon

#endif
