// tenon plan: storage plans on their own.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>

#include "core/cli/cli.h"
#include "core/cli/commands.h"
#include "core/plugin_host/session.h"
#include "core/storage/files.h"
#include "core/storage/judge.h"
#include "core/storage/solve.h"
#include "core/support/files.h"

namespace tenon::cli {
namespace {

constexpr const char* pool_help =
    "NAME:SIZE (bytes, KiB, MiB), may be repeated; CSV: the pools, without it one pool p0 without "
    "capacity; JSON: another capacity of a pool of the request";

struct SolveArgs {
  std::string request, planner = "auto", deadline, output;
  std::vector<std::string> pools, set;
  std::uint64_t work = kDefaultWork;
};

Result<std::vector<StoragePool>> pools_from(const std::vector<std::string>& texts) {
  std::vector<StoragePool> out;
  for (const std::string& t : texts) {
    auto p = pool_from_text(t);
    if (!p) return p.errors();
    out.push_back(std::move(*p));
  }
  return out;
}

Result<RequestFile> read_request(const std::string& path, const std::vector<StoragePool>& pools) {
  auto text = DiskFiles().read(path);
  if (!text) return text.errors();
  return load_request(*text, path, storage_format(path), pools);
}

/// "10s", "250ms" or "2" (seconds).
Result<std::chrono::milliseconds> duration_from(std::string_view text) {
  double n = 0;
  auto [p, ec] = std::from_chars(text.data(), text.data() + text.size(), n);
  const std::string_view unit(p, static_cast<std::size_t>(text.data() + text.size() - p));
  if (ec != std::errc() || n <= 0 || n > 1e9 || (unit != "s" && unit != "ms" && !unit.empty()))
    return Diag{.code = 2151,
                .loc = {},
                .what = fmt::format("'{}' is not a time", text),
                .fix = "write 10s or 250ms"};
  return std::chrono::milliseconds(static_cast<std::int64_t>(unit == "ms" ? n : n * 1000));
}

/// An id of the session, or the path of a planner plugin (with a `/`, or ending in .so).
struct Chosen {
  std::unique_ptr<Session> session;
  const PlannerInfo* planner = nullptr;
};
Result<Chosen> choose_planner(const Context& ctx, const std::string& name) {
  SessionOptions options = ctx.session_options();
  const bool file = name.find('/') != name.npos || name.ends_with(".so");
  if (file) options.named.push_back({"", join_path(options.project_dir, name), {}});
  auto session = open_session(options);
  if (!session) return session.errors();
  Chosen c{std::make_unique<Session>(std::move(*session)), nullptr};
  if (!file) {
    auto p = c.session->planner(name);
    if (!p) return p.errors();
    c.planner = *p;
    return c;
  }
  const std::string wanted = options.named.back().path;
  for (const PlannerInfo* p : c.session->planners())
    if (p->file == wanted) c.planner = p;
  if (!c.planner)
    return Diag{.code = 1012,
                .loc = {wanted, 0, 0},
                .what = "the plugin offers no planner",
                .fix = "name one that does"};
  return c;
}

std::size_t pinned(const StorageRequest& r) {
  return static_cast<std::size_t>(
      std::ranges::count_if(r.tokens, [](const StorageToken& t) { return t.at.has_value(); }));
}

int solve_verb(Context& ctx, const SolveArgs& a) {
  auto pools = pools_from(a.pools);
  if (!pools) return ctx.report(pools.errors());
  auto request = read_request(a.request, *pools);
  if (!request) return ctx.report(request.errors());
  auto chosen = choose_planner(ctx, a.planner);
  if (!chosen) return ctx.report(chosen.errors());
  auto given = name_values(a.set, "--set");
  if (!given) return ctx.report(given.errors());
  SolveSettings settings;
  settings.options = *given;
  settings.work = a.work;
  settings.find = [&](std::string_view id) -> std::optional<PlannerRef> {
    auto p = chosen->session->planner(id);
    return p ? std::optional(PlannerRef{(*p)->planner, (*p)->version}) : std::nullopt;
  };
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
  say(show_plan(request->request, plan, false));
  say(fmt::format("planner {} {}{}\n", plan.planner, plan.version,
                  plan.optimal ? ", optimal" : ""));
  return 0;
}

/// The laws about slots (TN4001 to 4010) blame a planner; a plan from a file has its file to
/// correct.
Diags about_file(Diags all, const std::string& path) {
  for (Diag& d : all) {
    if (d.loc.file.empty()) d.loc.file = path;
    if (d.code >= 4001 && d.code <= 4010) d.fix = "correct the plan, or plan again";
  }
  return all;
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

int show_verb(Context& ctx, const std::string& folder) {
  auto request = read_request(join_path(folder, "request.json"), {});
  if (!request) return ctx.report(request.errors());
  const std::string path = join_path(folder, "plan.json");
  auto text = DiskFiles().read(path);
  if (!text) return ctx.report(text.errors());
  auto plan = load_plan(*text, path, StorageFormat::json, *request);
  if (!plan) return ctx.report(plan.errors());
  say(show_plan(request->request, *plan));
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
  solve->add_option("--work", a->work, "Budget in work units")->capture_default_str();
  solve->add_option("--deadline", a->deadline,
                    "Budget in wall time, e.g. 10s; the plan is then not reproducible");
  solve->add_option("--set", a->set, "Option of the planner, KEY=VALUE");
  solve->add_option("-o,--output", a->output,
                    "File for the plan: .json, or .csv (the input's rows with `offset`)");
  solve->footer("Example:\n  tenon plan solve buffers.csv --pool sram:1MiB -o placed.csv");
  solve->callback([a, &ctx] { solve_verb(ctx, *a); });

  auto* check = app.add_subcommand("check", "Judge a plan");
  auto c = std::make_shared<CheckArgs>();
  check->add_option("REQUEST", c->request, "Request (.json or .csv)")->required();
  check->add_option("PLAN", c->plan, "Plan (.json or .csv)")->required();
  check->add_option("--pool", c->pools, pool_help);
  check->footer("Example:\n  tenon plan check buffers.csv placed.csv --pool sram:1MiB");
  check->callback([c, &ctx] { check_verb(ctx, *c); });

  auto* show = app.add_subcommand("show", "Show the plan of an artefact");
  auto dir = std::make_shared<std::string>();
  show->add_option("DIR", *dir, "Artefact folder")->required();
  show->callback([dir, &ctx] { show_verb(ctx, *dir); });

  auto* exp = app.add_subcommand("export", "Write the request of an artefact to a file");
  auto e = std::make_shared<std::pair<std::string, std::string>>();
  exp->add_option("DIR", e->first, "Artefact folder")->required();
  exp->add_option("-o,--output", e->second, "File (.json)")->required();
  exp->callback([e, &ctx] { export_verb(ctx, e->first, e->second); });
}

}  // namespace tenon::cli
