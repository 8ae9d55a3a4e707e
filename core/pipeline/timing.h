// Where the time went: a tree of named parts. Times never reach an artefact.
#ifndef TENON_CORE_PIPELINE_TIMING_H
#define TENON_CORE_PIPELINE_TIMING_H

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tenon {

struct TimedPart {
  std::string name;
  double ms = 0;
  std::vector<std::pair<std::string, std::int64_t>> counts;  ///< e.g. {"folded", 12}
  std::vector<TimedPart> parts;
};

/// Takes the time of a block and files it under `parent`.
class TimedScope {
 public:
  TimedScope(std::vector<TimedPart>& parent, std::string name);
  ~TimedScope();
  TimedScope(const TimedScope&) = delete;
  TimedScope& operator=(const TimedScope&) = delete;

  void count(std::string name, std::int64_t n) { part_.counts.emplace_back(std::move(name), n); }
  /// For scopes inside this one.
  std::vector<TimedPart>& parts() { return part_.parts; }

 private:
  std::vector<TimedPart>& parent_;
  TimedPart part_;
  std::chrono::steady_clock::time_point start_;
};

/// The tree as a table for --timing: name, milliseconds, share of the total, counts.
std::string render_timing(const std::vector<TimedPart>& tree);

}  // namespace tenon

#endif
