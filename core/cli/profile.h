// Where the time of a run goes, per step: a table for people, JSON, and Chrome's trace format.
#ifndef TENON_CORE_CLI_PROFILE_H
#define TENON_CORE_CLI_PROFILE_H

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "core/cli/runner.h"

namespace tenon::cli {

/// A step of the program, under the name that `tenon plan show` gives it.
struct ProfiledStep : StepInfo {
  std::uint64_t ns = 0;         ///< least of the counted runs; 0: never taken
  std::uint64_t bytes = 0;      ///< of all arguments, each once
  std::string inputs, outputs;  ///< types, as the kernel was compiled: packed layouts show as
                                ///< further axes
  double gigaops() const { return ns ? static_cast<double>(work) / static_cast<double>(ns) : 0; }
  double gigabytes() const { return ns ? static_cast<double>(bytes) / static_cast<double>(ns) : 0; }
};

/// Collects the times of run after run.
class Profile {
 public:
  /// What `folder`, the artefact, says about its kernels is read from its metadata.json, if any.
  Profile(const Runner& r, const std::string& folder);
  void add(const Runner& r);  ///< the last run
  const std::vector<ProfiledStep>& steps() const { return steps_; }
  std::uint64_t total() const;
  /// The `limit` steps that take longest.
  std::string table(std::size_t limit) const;
  nlohmann::ordered_json json() const;
  /// Complete events one after the other, in microseconds: chrome://tracing and Perfetto read it.
  nlohmann::ordered_json trace(const std::string& model) const;

 private:
  std::vector<ProfiledStep> steps_;
};

}  // namespace tenon::cli

#endif
