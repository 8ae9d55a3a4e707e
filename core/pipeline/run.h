// The one loop over the steps of a pipeline. It knows no step: passes come from the index, slots
// from a table.
//
// Around every step: the facts that it needs are recomputed, its time is taken, the module is
// verified afterwards (so it is verified before every step as well), the facts that it gives are
// recomputed, dead nodes are freed. What a plugin throws is caught, and is the plugin's fault, by
// name.
#ifndef TENON_CORE_PIPELINE_RUN_H
#define TENON_CORE_PIPELINE_RUN_H

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/ir/facts.h"
#include "core/pipeline/config.h"
#include "core/pipeline/index.h"
#include "core/pipeline/timing.h"
#include "tenon/executor.h"
#include "tenon/ir.h"
#include "tenon/target.h"

namespace tenon {

class ObjectCache;

/// One compilation: what goes in, the module on its way, what comes out. The config and the session
/// outlive it.
struct Compilation {
  Compilation(const PipelineConfig& c, Session& s, std::shared_ptr<const OpTable> ops)
      : module(std::move(ops)), config(c), session(s) {}

  Module module;
  const PipelineConfig& config;
  Session& session;

  std::string model;                    ///< path of the model, absolute; for `import`
  std::string frontend;                 ///< id of the frontend that read it; "" for text modules
  std::map<std::string, Shape> shapes;  ///< of inputs, from --shape
  std::map<std::string, std::int64_t> dims;  ///< that the model leaves open, from --dim
  unsigned threads = 1;
  const ObjectCache* objects_on_disk = nullptr;  ///< null: every object is compiled

  std::map<std::string, TargetFacts>
      targets;                       ///< by id; resolved by the step that needs them first
  std::vector<std::string> objects;  ///< files of `files` that targets made
  ArtefactFiles files;
  FactContext facts;  ///< `plan` says here how to re-derive the request's hash

  Diags reports;                  ///< warnings and remarks, in order
  std::vector<TimedPart> timing;  ///< one per step, with its parts
};

struct Instruments {
  std::vector<std::string> print_after;  ///< ids of steps; "*" = all
  std::string stop_after;                ///< id of a step, or ""
  /// Called for each of `print_after`; `text` is "(unchanged)\n" when the step left the text form
  /// as it was.
  std::function<void(const Step&, std::string_view text)> print;
  std::function<void()> after_step;
};

/// What a slot step does. Reports its parts with TimedScope.
using SlotBody = std::function<Status(Compilation&, const Step&)>;
using SlotBodies = std::map<std::string, SlotBody, std::less<>>;

/// Runs the steps in order, up to the first that fails. Every error names the step and its line.
///   TN2146 an instrument names no step   TN3901 a plugin threw        TN3902 a fact that a step
///   needs does not hold TN3903 a promised fact does not hold  TN3904 a step left an invalid module
/// On failure the module is as the failing step left it: fit for printing, not for going on.
Status run_pipeline(Compilation& c, ImplementationIndex& index, const SlotBodies& bodies,
                    const Instruments& instruments = {});

/// One pass on its own, as `tenon opt` runs it; the same checks as in a pipeline.
Status run_pass(Module& m, const PassInfo& pass, const OptionValues& options,
                Diags* reports = nullptr, const Loc& at = {});

}  // namespace tenon

#endif
