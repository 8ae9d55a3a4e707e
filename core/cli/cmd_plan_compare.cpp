// tenon plan compare: planners beside each other on one request.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>

#include "core/cli/json.h"
#include "core/cli/planning.h"
#include "core/storage/request.h"

namespace tenon::cli {
namespace {

struct CompareArgs {
  std::string request, planners = "all", deadline;
  std::vector<std::string> pools;
  std::uint64_t work = 100'000'000;
  bool json = false;
};

struct Row {
  std::string planner, refusal;  ///< refusal: why there is no plan
  int code = 0;
  StoragePlan plan;
  double ms = 0;
  bool works() const { return refusal.empty(); }
};

std::vector<std::string> names_of(Session& session, const std::string& list) {
  std::vector<std::string> out;
  if (list == "all") {
    for (const PlannerInfo* p : session.planners()) out.push_back(p->id);
    return out;
  }
  for (std::size_t at = 0; at <= list.size();) {
    const std::size_t comma = std::min(list.find(',', at), list.size());
    if (comma > at) out.push_back(list.substr(at, comma - at));
    at = comma + 1;
  }
  return out;
}

Row run(const StorageRequest& r, const PlannerInfo& p, SolveSettings settings, Progress& progress) {
  Row row{.planner = p.id, .refusal = "", .plan = {}};
  const auto start = std::chrono::steady_clock::now();
  const auto ms = [&] {
    return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start)
        .count();
  };
  progress.say(p.id);
  settings.better = [&](const StoragePlan& best) {
    std::string peaks;
    for (const PoolUse& u : best.pools) peaks += " " + size_text(u.peak);
    progress.say(fmt::format("{}:{} after {:.1f} s", p.id, peaks, ms() / 1000));
  };
  auto solved = solve(r, {p.planner, p.version}, settings);
  row.ms = ms();
  if (solved) {
    row.plan = std::move(solved->plan);
  } else {
    const Diag& d = solved.errors()[0];
    row.refusal = d.what + (d.notes.empty() ? "" : ": " + d.notes[0]);
    row.code = solved.errors()[0].code;
  }
  return row;
}

// Best first, those without a plan last; equal plans in the planners' order.
void sort_by_rank(std::vector<Row>& rows) {
  std::stable_sort(rows.begin(), rows.end(), [](const Row& a, const Row& b) {
    if (!a.works() || !b.works()) return a.works() && !b.works();
    return compare(rank_of(a.plan), rank_of(b.plan)) < 0;
  });
}

std::string gap_text(const PoolUse& u) {
  if (u.peak == u.bound) return "0 %";
  if (u.bound == 0) return "-";
  return fmt::format("{:.2f} %",
                     100.0 * (static_cast<double>(u.peak) / static_cast<double>(u.bound) - 1));
}

/// What is to be thought of a claim: proved by the bounds, only said, or refuted by another row.
std::string standing(const StorageRequest& r, const std::vector<Row>& rows, const Row& row) {
  if (!row.plan.optimal) return "";
  for (const Row& other : rows)
    if (other.works() && compare(rank_of(other.plan), rank_of(row.plan)) < 0)
      return "claimed, refuted by " + other.planner;
  return cannot_be_better(r, row.plan) ? "yes" : "claimed";
}

std::string as_table(const StorageRequest& r, const std::vector<Row>& rows) {
  std::vector<std::vector<std::string>> cells{
      {"planner", "pool", "peak", "bound", "gap", "cost", "time", "proved"}};
  std::string refused;
  for (const Row& row : rows) {
    if (!row.works()) {
      refused += fmt::format("{}: {}\n", row.planner, row.refusal);
      continue;
    }
    for (std::size_t p = 0; p < r.pools.size(); ++p) {
      const PoolUse& u = row.plan.pools[p];
      const bool first = p == 0;
      cells.push_back({first ? row.planner : "", r.pools[p].id, fmt::format("{}", u.peak),
                       fmt::format("{}", u.bound), gap_text(u),
                       first ? fmt::format("{}", row.plan.cost) : "",
                       first ? fmt::format("{:.1f} ms", row.ms) : "",
                       first ? standing(r, rows, row) : std::string()});
    }
  }
  return (cells.size() > 1 ? table(cells) : "") + refused;
}

nlohmann::ordered_json as_json(const StorageRequest& r, const std::vector<Row>& rows) {
  auto out = nlohmann::ordered_json::array();
  for (const Row& row : rows) {
    nlohmann::ordered_json j{{"planner", row.planner}, {"ms", row.ms}};
    if (!row.works()) {
      j["error"] = {{"code", row.code}, {"what", row.refusal}};
    } else {
      j["cost"] = row.plan.cost;
      j["optimal"] = row.plan.optimal;
      if (const std::string s = standing(r, rows, row); !s.empty()) j["standing"] = s;
      j["reproducible"] = row.plan.reproducible;
      auto& pools = j["pools"] = nlohmann::ordered_json::array();
      for (std::size_t p = 0; p < r.pools.size(); ++p)
        pools.push_back({{"id", r.pools[p].id},
                         {"peak", row.plan.pools[p].peak},
                         {"bound", row.plan.pools[p].bound}});
    }
    out.push_back(std::move(j));
  }
  return out;
}

int compare_verb(Context& ctx, const CompareArgs& a) {
  auto pools = pools_from(a.pools);
  if (!pools) return ctx.report(pools.errors());
  auto request = read_request(a.request, *pools);
  if (!request) return ctx.report(request.errors());
  auto session = open_session(ctx.session_options());
  if (!session) return ctx.report(session.errors());
  SolveSettings settings = solve_settings(*session, {});
  settings.work = a.work;
  if (!a.deadline.empty()) {
    auto d = duration_from(a.deadline);
    if (!d) return ctx.report(d.errors());
    settings.deadline = *d;
  }
  const std::vector<std::string> names = names_of(*session, a.planners);
  if (names.empty())
    return ctx.report(Diag{.code = 2151,
                           .what = "--planners names no planner",
                           .fix = "write all, or ids or plugin files with commas between"});
  std::vector<Row> rows;
  Progress progress;
  for (const std::string& name : names) {
    if (is_plugin_file(name)) {  // loaded in a session of its own
      auto chosen = choose_planner(ctx, name);
      if (!chosen) return ctx.report(chosen.errors());
      rows.push_back(run(request->request, *chosen->planner, settings, progress));
      continue;
    }
    auto planner = session->planner(name);
    if (!planner) return ctx.report(planner.errors());
    rows.push_back(run(request->request, **planner, settings, progress));
  }
  progress.say("");
  sort_by_rank(rows);
  if (a.json)
    say_json(as_json(request->request, rows));
  else
    say(as_table(request->request, rows));
  ctx.exit_code = std::ranges::any_of(rows, &Row::works) ? 0 : 1;
  return ctx.exit_code;
}

}  // namespace

void add_plan_compare(CLI::App& plan, Context& ctx) {
  auto* compare = plan.add_subcommand("compare", "Planners beside each other on one request");
  auto a = std::make_shared<CompareArgs>();
  compare->add_option("REQUEST", a->request, "Request (.json or .csv)")->required();
  compare
      ->add_option("--planners", a->planners,
                   "all, or ids or plugin files (./x.so) with commas between")
      ->capture_default_str();
  compare->add_option("--pool", a->pools, pool_help);
  compare->add_option("--work", a->work, "Budget of each in work units (10 ns)")
      ->transform(work_units)
      ->check(work_range)
      ->capture_default_str();
  compare->add_option("--deadline", a->deadline, "Budget of each in wall time, e.g. 10s");
  compare->add_flag("--json", a->json, "The table as JSON");
  compare->footer(
      "Best plan first: least cost, then the pools' peaks in order. Exit 1 when no planner has a "
      "plan.\n\nExample:\n  tenon plan compare buffers.csv --planners greedy,naive --pool "
      "sram:1MiB");
  compare->callback([a, &ctx] { compare_verb(ctx, *a); });
}

}  // namespace tenon::cli
