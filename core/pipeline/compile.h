// A whole compilation: session, pipeline, model in; artefact out. What the command line and tests
// call.
#ifndef TENON_CORE_PIPELINE_COMPILE_H
#define TENON_CORE_PIPELINE_COMPILE_H

#include <memory>

#include "core/pipeline/config.h"
#include "core/pipeline/run.h"
#include "core/plugin_host/session.h"

namespace tenon {

/// A pipeline that is valid for a session, with both. Everything that a compilation borrows.
struct Toolchain {
  PipelineConfig config;
  std::unique_ptr<Session> session;
};

/// Reads and validates the pipeline, opens the session with the plugins that it names. Warnings go
/// to `warnings`.
Result<Toolchain> open_toolchain(const LoadRequest& pipeline, SessionOptions plugins,
                                 Diags* warnings);

struct CompileRequest {
  std::string model;  ///< path
  std::map<std::string, Shape> shapes;
  std::map<std::string, std::int64_t> dims;
  unsigned threads = 1;
  Instruments instruments;
  const ObjectCache* objects_on_disk = nullptr;  ///< outlives the call
};

/// Runs the pipeline. The toolchain must outlive the result.
Result<std::unique_ptr<Compilation>> compile(Toolchain& t, const CompileRequest& request);

/// provenance.json: per slot the implementation, its version, file, hash and options; times.
/// Outside the artefact's identity.
std::string provenance_json(const Compilation& c);

/// Writes the artefact to `folder`, whole or not at all: into a new folder beside it, which then
/// takes its place. An existing folder is replaced only when it is an artefact itself. TN2150.
Status write_artefact(const std::string& folder, const ArtefactFiles& files);

}  // namespace tenon

#endif
