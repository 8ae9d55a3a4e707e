// Does a planner keep the contract of tenon/c/planner.h? The checks behind `tenon kit run`.
#ifndef TENON_CORE_KIT_PLANNER_KIT_H
#define TENON_CORE_KIT_PLANNER_KIT_H

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/storage/solve.h"
#include "tenon/c/planner.h"

namespace tenon::kit {

/// What a check works on.
struct Subject {
  PlannerRef planner;
  /// Finds planners that the subject runs through tn_host.plan; as in SolveSettings.
  std::function<std::optional<PlannerRef>(std::string_view id)> find;
  std::uint64_t requests = 1000;  ///< random requests of the checks that ask many
};

/// One law of the contract. `run` gives "" or what is wrong; it runs in a process of its own.
struct Check {
  const char* name;
  const char* law;  ///< one line for people
  int seconds;      ///< wall time after which the planner hangs
  std::string (*run)(const Subject&);
};
/// In the order of the run.
std::vector<Check> checks();

struct Verdict {
  const Check* check = nullptr;
  std::string fault;  ///< "" = passed
};
/// Runs all checks, or those named in `only`. `done` is called after each.
std::vector<Verdict> run_checks(const std::vector<Check>& all, const Subject& subject,
                                const std::vector<std::string>& only,
                                const std::function<void(const Verdict&)>& done);

// The rooms that checks() is made of.
std::vector<Check> answer_checks();
std::vector<Check> contract_checks();
std::vector<Check> limit_checks();

}  // namespace tenon::kit

#endif
