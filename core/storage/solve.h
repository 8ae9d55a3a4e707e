// Runs a planner on a request: builds the C view, keeps the budget, judges every offer, keeps the
// best. The planner is a guest: what it says is checked, what it throws is caught, and every
// complaint names it. Codes TN43xx.
#ifndef TENON_CORE_STORAGE_SOLVE_H
#define TENON_CORE_STORAGE_SOLVE_H

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>

#include "tenon/c/planner.h"
#include "tenon/storage.h"

namespace tenon {

/// A planner as the plugin host found it; `planner` lives as long as the process.
struct PlannerRef {
  const tn_planner* planner = nullptr;
  std::string version;  ///< of its plugin
};

inline constexpr std::uint64_t kDefaultWork = 1'000'000'000;  // units of tn_host.tick, about 10 s

struct SolveSettings {
  std::map<std::string, std::string> options;  ///< by key of the planner's table; texts as written
  std::uint64_t work = kDefaultWork;
  std::optional<std::chrono::milliseconds>
      deadline;  ///< wall clock; a plan cut short by it is not reproducible
  /// Finds another planner by id, for tn_host.plan; empty, or returning nothing: that call answers
  /// TN_UNSUPPORTED.
  std::function<std::optional<PlannerRef>(std::string_view id)> find;
  Loc loc;  ///< where the user chose the planner
  /// A further judgement of each offer that passed judge_slots: with a module, judge_values over
  /// its values.
  std::function<Status(const StoragePlan&)> judge;
  /// Told of each plan that is better than those before it, with its figures. For progress.
  std::function<void(const StoragePlan&)> better;
};

struct Solved {
  StoragePlan plan;  ///< judged
  Diags messages;    ///< notes and warnings: what the planner said, and where it broke its contract
};

/// Why the request could not be solved; kept apart for `else:` and exit codes by Diag.code:
///   4301 gave up (no fit)   4302 says infeasible   4303 stopped by its budget   4304 unsupported
///   4305 failed   4306 broke its contract: unknown status, success without an offer, only wrong
///   offers   4307 threw an exception   4308 lacks a feature that the request needs
///   4310 unknown option   4311 bad option value
///   1016 did not end with its deadline; its thread goes on until the process ends
/// Precondition: check_request(r) and is_canonical(r), as prepare_request gives.
Result<Solved> solve(const StorageRequest& r, const PlannerRef& planner,
                     const SolveSettings& settings);

/// The planner's options with `given` on top, checked against its table (4310, 4311).
Result<std::map<std::string, std::string>> planner_options(
    const tn_planner& planner, const std::map<std::string, std::string>& given, const Loc& loc);

}  // namespace tenon

#endif
