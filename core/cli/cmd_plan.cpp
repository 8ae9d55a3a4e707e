// tenon plan: storage plans on their own.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>

#include "core/cli/commands.h"
#include "core/cli/planning.h"
#include "core/storage/judge.h"
#include "core/support/files.h"

namespace tenon::cli {
namespace {

struct SolveArgs {
  std::string request, planner = "auto", deadline, output, save_request;
  std::vector<std::string> pools, set;
  std::uint64_t work = kDefaultWork;
};

std::size_t pinned(const StorageRequest& r) {
  return static_cast<std::size_t>(
      std::ranges::count_if(r.tokens, [](const StorageToken& t) { return t.at.has_value(); }));
}

int solve_verb(Context& ctx, const SolveArgs& a) {
  auto pools = pools_from(a.pools);
  if (!pools) return ctx.report(pools.errors());
  auto request = read_request(a.request, *pools);
  if (!request) return ctx.report(request.errors());
  for (const std::string& out : {a.output, a.save_request})
    if (std::error_code ec; !out.empty() && std::filesystem::equivalent(out, a.request, ec))
      return ctx.report(Diag{.code = 2002,
                             .loc = {out, 0, 0},
                             .what = "is the request itself; it is not overwritten",
                             .fix = "name another file"});
  auto chosen = choose_planner(ctx, a.planner);
  if (!chosen) return ctx.report(chosen.errors());
  auto given = name_values(a.set, "--set");
  if (!given) return ctx.report(given.errors());
  SolveSettings settings = solve_settings(*chosen->session, {});
  settings.options = *given;
  settings.work = a.work;
  if (!a.deadline.empty()) {
    auto d = duration_from(a.deadline);
    if (!d) return ctx.report(d.errors());
    settings.deadline = *d;
  }
  Progress progress;
  progress.say(fmt::format("{}: {} tokens", chosen->planner->id, request->request.tokens.size()));
  auto solved =
      solve(request->request, {chosen->planner->planner, chosen->planner->version}, settings);
  progress.say("");
  if (!solved) return ctx.report(solved.errors());
  ctx.report(solved->messages);
  const StoragePlan& plan = solved->plan;
  if (const auto n = pinned(request->request); n && storage_format(a.request) == StorageFormat::csv)
    say(fmt::format("{} token{} pinned by column offset\n", n, n == 1 ? "" : "s"));
  if (!a.output.empty()) {
    if (Status s =
            DiskFiles().write(a.output, write_plan(plan, *request, storage_format(a.output)));
        !s)
      return ctx.report(s.errors());
  }
  if (!a.save_request.empty())
    if (Status s = DiskFiles().write(a.save_request, to_json(request->request)); !s)
      return ctx.report(s.errors());
  say(show_plan(request->request, plan, false));
  return 0;
}

struct CheckArgs {
  std::string request, plan;
  std::vector<std::string> pools;
};

int check_verb(Context& ctx, const CheckArgs& a) {
  auto pools = pools_from(a.pools);
  if (!pools) return ctx.report(pools.errors());
  auto request = read_request(a.request, *pools);
  if (!request) return ctx.report(request.errors());
  auto text = DiskFiles().read(a.plan);
  if (!text) return ctx.report(text.errors());
  auto plan = load_plan(*text, a.plan, storage_format(a.plan), *request);
  if (!plan) return ctx.report(plan.errors());
  if (Status s = judge_plan(request->request, *plan); !s)
    return ctx.report(about_file(s.errors(), a.plan));
  say(fmt::format("{}the plan keeps every rule\n", show_plan(request->request, *plan, false)));
  return 0;
}

int export_verb(Context& ctx, const std::string& folder, const std::string& out) {
  auto request = read_request(join_path(folder, "request.json"), {});
  if (!request) return ctx.report(request.errors());
  if (Status s = DiskFiles().write(out, to_json(request->request)); !s)
    return ctx.report(s.errors());
  say(fmt::format("{}: {} tokens, {} pools, {} steps\n", out, request->request.tokens.size(),
                  request->request.pools.size(), request->request.steps.size()));
  return 0;
}

}  // namespace

void add_plan(CLI::App& app, Context& ctx) {
  app.require_subcommand(1);
  auto* solve = app.add_subcommand("solve", "Plan a request from a file");
  auto a = std::make_shared<SolveArgs>();
  solve
      ->add_option("REQUEST", a->request,
                   "Request (.json), or buffers (.csv: id, lower, upper, size, ...; a value in the "
                   "column offset pins the buffer there)")
      ->required();
  solve->add_option("--planner", a->planner, "Planner by id, or a plugin file (./x.so)")
      ->capture_default_str();
  solve->add_option("--pool", a->pools, pool_help);
  solve->add_option("--work", a->work, "Budget in work units")
      ->transform(work_units)
      ->check(work_range)
      ->capture_default_str();
  solve->add_option("--deadline", a->deadline,
                    "Budget in wall time, e.g. 10s; the plan is then not reproducible");
  solve->add_option("--set", a->set, "Option of the planner, KEY=VALUE");
  solve->add_option("-o,--output", a->output,
                    "File for the plan: .json, or .csv (the input's rows with `offset`)");
  solve->add_option("--save-request", a->save_request,
                    "File for the request as JSON: canonical, as the plan's hash means it");
  solve->footer("Example:\n  tenon plan solve buffers.csv --pool sram:1MiB -o placed.csv");
  solve->callback([a, &ctx] { solve_verb(ctx, *a); });

  auto* check = app.add_subcommand("check", "Judge a plan");
  auto c = std::make_shared<CheckArgs>();
  check->add_option("REQUEST", c->request, "Request (.json or .csv)")->required();
  check->add_option("PLAN", c->plan, "Plan (.json or .csv)")->required();
  check->add_option("--pool", c->pools, pool_help);
  check->footer("Example:\n  tenon plan check buffers.csv placed.csv --pool sram:1MiB");
  check->callback([c, &ctx] { check_verb(ctx, *c); });

  add_plan_at(app, ctx);
  add_plan_blame(app, ctx);
  add_plan_compare(app, ctx);
  add_plan_merge(app, ctx);
  add_plan_show(app, ctx);

  auto* exp = app.add_subcommand("export", "Write the request of an artefact to a file");
  auto e = std::make_shared<std::pair<std::string, std::string>>();
  exp->add_option("DIR", e->first, "Artefact folder")->required();
  exp->add_option("-o,--output", e->second, "File (.json)")->required();
  exp->callback([e, &ctx] { export_verb(ctx, e->first, e->second); });
}

}  // namespace tenon::cli
