// What `compile`, `compare` and `fit` share.
#ifndef TENON_CORE_CLI_COMPILING_H
#define TENON_CORE_CLI_COMPILING_H

#include <memory>
#include <string>
#include <vector>

#include "core/cli/cli.h"
#include "core/pipeline/compile.h"
#include "core/pipeline/steps/planning.h"
#include "core/storage/files.h"

namespace tenon::cli {

struct CompileArgs {
  std::string model, pipeline = "graph-cpu", board;
  std::vector<std::string> shapes, dims, set;
  unsigned threads = 0;
  bool no_cache = false;
  bool without_capacity =
      false;  ///< pretend that every pool is large enough: what would be needed?
};

void add_pipeline_options(CLI::App& app, CompileArgs& a);

struct Compiled {
  std::unique_ptr<Toolchain> toolchain;  // outlives the compilation
  std::unique_ptr<Compilation> compilation;
};
Result<Compiled> compile_model(const Context& ctx, const CompileArgs& a,
                               const Instruments& instruments, Diags* warnings);

/// A row per pool: capacity, used, without sharing, bound, peak step.
std::string memory_summary(const StorageRequest& r, const StoragePlan& p);

/// Bytes of inputs and outputs that stand in no pool: the caller of the artefact brings them.
struct CallerOwned {
  std::uint64_t inputs = 0, outputs = 0;
};
CallerOwned caller_owned(const Module& m, const MemoryConfig& memory);
/// A line about them; "" when all is planned.
std::string caller_summary(const CallerOwned& c);

}  // namespace tenon::cli

#endif
