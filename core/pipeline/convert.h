// The merged tree -> PipelineConfig.
#ifndef TENON_CORE_PIPELINE_CONVERT_H
#define TENON_CORE_PIPELINE_CONVERT_H

#include "core/pipeline/config.h"
#include "core/pipeline/read.h"

namespace tenon {

/// Fills targets, memory, steps and plugins of `out`; mistakes go to `reader`.
void convert(const YamlNode& tree, PipelineConfig& out, Reader& reader);

/// The part of it that is about memory: pools, reserved, place, io, keep. Targets of `out` are
/// known already.
void convert_memory(const YamlNode& tree, PipelineConfig& out, Reader& reader);

}  // namespace tenon

#endif
