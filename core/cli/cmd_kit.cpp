// tenon kit: conformance of plugins.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>

#include "core/cli/commands.h"
#include "core/cli/json.h"
#include "core/cli/planning.h"
#include "core/kit/planner_kit.h"

namespace tenon::cli {
namespace {

struct KitArgs {
  std::string planner;
  std::vector<std::string> only;
  std::uint64_t requests = 1000;
  bool json = false;
};

int list_verb() {
  std::vector<std::vector<std::string>> rows{{"check", "what it demands of a planner"}};
  for (const kit::Check& c : kit::checks()) rows.push_back({c.name, c.law});
  say(table(rows));
  return 0;
}

Status known(const std::vector<kit::Check>& all, const std::vector<std::string>& only) {
  for (const std::string& name : only)
    if (std::ranges::none_of(all, [&](const kit::Check& c) { return c.name == name; }))
      return Diag{.code = 2151,
                  .what = fmt::format("the kit has no check '{}'", name),
                  .fix = "`tenon kit list` shows them"};
  return {};
}

int run_verb(Context& ctx, const KitArgs& a) {
  const std::vector<kit::Check> all = kit::checks();
  if (Status s = known(all, a.only); !s) return ctx.report(s.errors());
  if (auto crash = crashes_when_loaded(
          a.planner, [&] { return static_cast<bool>(choose_planner(ctx, a.planner)); }))
    return ctx.report(*crash);
  auto chosen = choose_planner(ctx, a.planner);
  if (!chosen) return ctx.report(chosen.errors());
  kit::Subject subject{{chosen->planner->planner, chosen->planner->version},
                       solve_settings(*chosen->session, {}).find,
                       a.requests};
  Progress progress;
  std::vector<std::vector<std::string>> rows{{"check", "result", ""}};
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  std::size_t faults = 0;
  const auto done = [&](const kit::Verdict& v) {
    progress.say(fmt::format("{}: {}", v.check->name, v.fault.empty() ? "ok" : "FAULT"));
    faults += !v.fault.empty();
    rows.push_back({v.check->name, v.fault.empty() ? "ok" : "FAULT",
                    v.fault.empty() ? v.check->law : v.fault});
    list.push_back({{"check", v.check->name}, {"ok", v.fault.empty()}, {"fault", v.fault}});
  };
  const auto verdicts = kit::run_checks(all, subject, a.only, done);
  progress.say("");
  if (a.json)
    say_json({{"planner", chosen->planner->id}, {"checks", list}});
  else
    say(table(rows) + fmt::format("{}: {} of {} checks passed\n", chosen->planner->id,
                                  verdicts.size() - faults, verdicts.size()));
  ctx.exit_code = faults == 0 ? 0 : 1;
  return ctx.exit_code;
}

}  // namespace

void add_kit(CLI::App& app, Context& ctx) {
  app.require_subcommand(1);
  auto* run = app.add_subcommand("run", "Check a planner against the contract");
  auto a = std::make_shared<KitArgs>();
  run->add_option("PLANNER", a->planner, "Plugin file (./my_planner.so), or an id")->required();
  run->add_option("--only", a->only, "Checks to run, by name")->delimiter(',');
  run->add_option("--requests", a->requests, "Random requests of the checks that ask many")
      ->capture_default_str()
      ->check(CLI::Range(std::uint64_t{1}, std::uint64_t{10'000'000}));
  run->add_flag("--json", a->json, "The results as JSON");
  run->footer(
      "Each check runs in a process of its own. Exit 0: all passed; 1: a fault.\n\nExample:\n"
      "  tenon kit run ./my_planner.so");
  run->callback([a, &ctx] { run_verb(ctx, *a); });
  app.add_subcommand("list", "The checks and what they demand")->callback([] { list_verb(); });
}

}  // namespace tenon::cli
