// tenon fit: does a model fit? No pipeline file, no output folder: the shipped pipeline up to
// lowering, then planning alone.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "core/cli/cli.h"
#include "core/cli/commands.h"
#include "core/cli/compiling.h"
#include "core/cli/json.h"

namespace tenon::cli {
namespace {

struct Args : CompileArgs {
  bool json = false;
};

/// What the model would use if no pool had a limit.
void show_need(Context& ctx, Args a) {
  a.without_capacity = true;
  Instruments in;
  in.stop_after = "plan";
  if (auto done = compile_model(ctx, a, in, nullptr))
    if (auto input = planning_input(done->compilation->module, done->compilation->config.memory);
        input && !a.json)
      say(fmt::format("if no pool had a limit:\n{}",
                      memory_summary(input->request, *done->compilation->module.plan)));
  say(fmt::format("{}", a.json ? "{\"fits\": false}\n" : "does not fit\n"));
}

int run(Context& ctx, const Args& a) {
  Diags warnings;
  Progress progress;
  progress.say("lowering " + a.model);
  Instruments in;
  in.stop_after = "plan";
  auto done = compile_model(ctx, a, in, &warnings);
  progress.say("");
  if (!done) {
    Diags all = done.errors();
    all.insert(all.end(), warnings.begin(), warnings.end());
    const int code = ctx.report(all);
    if (std::any_of(all.begin(), all.end(), [](const Diag& d) {
          return d.code / 1000 == 4 && d.severity == Severity::error;
        }))
      show_need(ctx, a);
    return code;
  }
  ctx.report(warnings);
  const Compilation& c = *done->compilation;
  auto input = planning_input(c.module, c.config.memory);
  if (!input) return ctx.report(input.errors());
  const StoragePlan& plan = *c.module.plan;
  if (a.json) {
    nlohmann::ordered_json j{
        {"model", a.model}, {"board", c.config.board}, {"fits", true}, {"planner", plan.planner}};
    const auto apart = unshared(input->request, plan);
    for (std::size_t i = 0; i < input->request.pools.size(); ++i) {
      const StoragePool& p = input->request.pools[i];
      nlohmann::ordered_json row{{"pool", p.id},
                                 {"used", plan.pools[i].peak},
                                 {"without_sharing", apart[i]},
                                 {"bound", plan.pools[i].bound},
                                 {"peak_step", plan.pools[i].peak_step}};
      if (p.capacity) row["capacity"] = *p.capacity;
      j["pools"].push_back(row);
    }
    const CallerOwned caller = caller_owned(c.module, c.config.memory);
    j["caller_owned"] = {{"inputs", caller.inputs}, {"outputs", caller.outputs}};
    say_json(j);
    return 0;
  }
  say(fmt::format("{}{}fits (planner {}, {} tokens, {} steps)\n",
                  memory_summary(input->request, plan),
                  caller_summary(caller_owned(c.module, c.config.memory)), plan.planner,
                  input->request.tokens.size(), input->request.steps.size()));
  return 0;
}

}  // namespace

void add_fit(CLI::App& app, Context& ctx) {
  auto a = std::make_shared<Args>();
  add_pipeline_options(app, *a);
  app.add_flag("--json", a->json, "Machine-readable, alone on stdout");
  app.footer("Exit code 0: fits; 1: does not.\nExample:\n  tenon fit kws.onnx --board stm32h743");
  app.callback([a, &ctx] { run(ctx, *a); });
}

}  // namespace tenon::cli
