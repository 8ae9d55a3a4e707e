// Checks a pipeline against what can be loaded: names, options, order. Compiles nothing.
#ifndef TENON_CORE_PIPELINE_VALIDATE_H
#define TENON_CORE_PIPELINE_VALIDATE_H

#include "core/pipeline/config.h"
#include "core/pipeline/index.h"

namespace tenon {

/// 2140..2145. All findings, sorted, at most 20 errors. Warnings (severity `warning`) leave the
/// pipeline valid: a target whose plugin is absent can be planned for, only not emitted for.
Diags validate(const PipelineConfig& config, ImplementationIndex& index);

bool has_errors(const Diags& all);

}  // namespace tenon

#endif
