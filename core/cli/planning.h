// What the verbs that work on requests and planners share.
#ifndef TENON_CORE_CLI_PLANNING_H
#define TENON_CORE_CLI_PLANNING_H

#include <CLI/CLI.hpp>
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/cli/cli.h"
#include "core/pipeline/steps/planning.h"
#include "core/plugin_host/session.h"
#include "core/storage/files.h"
#include "core/storage/solve.h"

namespace tenon::cli {

inline constexpr const char* pool_help =
    "NAME:SIZE (bytes, KiB, MiB), may be repeated; CSV: the pools, without it one pool p0 without "
    "capacity; JSON: another capacity of a pool of the request";

/// Of --work.
inline const CLI::Range work_range(1.0, 9e18);
/// 50M is fifty million.
inline const CLI::AsNumberWithUnit work_units(
    std::map<std::string, std::uint64_t>{{"k", 1000}, {"M", 1000000}, {"G", 1000000000}},
    CLI::AsNumberWithUnit::CASE_SENSITIVE, "NUMBER[k|M|G]");

/// Pools from --pool NAME:SIZE.
Result<std::vector<StoragePool>> pools_from(const std::vector<std::string>& texts);
Result<RequestFile> read_request(const std::string& path, const std::vector<StoragePool>& pools);
/// The laws about slots (TN4001 to 4010) blame a planner; a plan from a file has its file to
/// correct.
Diags about_file(Diags all, const std::string& path);

/// A request and its plan, judged: request.json and plan.json of a folder.
struct Planned {
  RequestFile request;
  StoragePlan plan;
};
Result<Planned> load_planned(const std::string& folder);

/// "10s", "250ms" or "2" (seconds). TN2151.
Result<std::chrono::milliseconds> duration_from(std::string_view text);

/// Does this name a planner by its file: has it a `/`, or does it end in .so?
bool is_plugin_file(std::string_view name);

/// An id of the session, or the path of a planner plugin.
struct ChosenPlanner {
  std::unique_ptr<Session> session;
  const PlannerInfo* planner = nullptr;
};
Result<ChosenPlanner> choose_planner(const Context& ctx, const std::string& name);

/// Runs `load` in a process of its own. TN1014 when that process did not outlive it: then nothing
/// should be loaded here.
std::optional<Diag> crashes_when_loaded(const std::string& plugin,
                                        const std::function<bool()>& load);

// Verbs of `tenon plan` that have files of their own.
void add_plan_at(CLI::App& plan, Context& ctx);
void add_plan_blame(CLI::App& plan, Context& ctx);
void add_plan_compare(CLI::App& plan, Context& ctx);
void add_plan_merge(CLI::App& plan, Context& ctx);
void add_plan_show(CLI::App& plan, Context& ctx);

}  // namespace tenon::cli

#endif
