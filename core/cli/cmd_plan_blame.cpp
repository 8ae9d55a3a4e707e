// tenon plan blame: why an artefact computes something else with its plan than without.
#include <fmt/format.h>

#include <CLI/CLI.hpp>

#include "core/blame/blame.h"
#include "core/cli/json.h"
#include "core/cli/planning.h"
#include "core/cli/runner.h"

namespace tenon::cli {
namespace {

struct BlameArgs {
  std::string folder;
  std::vector<std::string> inputs, fills;
  std::uint64_t seed = 1;
  bool json = false;
};

nlohmann::ordered_json as_json(const blame::Party& p) {
  nlohmann::ordered_json j{{"value", p.value}};
  if (!p.token.empty()) j["token"] = p.token;
  j["in"] = p.region;
  j["offset"] = p.offset;
  j["bytes"] = p.bytes;
  if (p.live) j["live"] = {p.live->first, p.live->end};
  return j;
}

nlohmann::ordered_json as_json(const blame::Subject& s, const blame::Finding& f) {
  nlohmann::ordered_json j{{"code", fmt::format("TN{}", f.diag.code)},
                           {"kind", f.kind},
                           {"what", f.diag.what},
                           {"fact", f.fact},
                           {"fix", f.diag.fix}};
  const bool inside = f.step < s.steps.size();
  j["step"] = {{"number", f.step},
               {"name", inside ? s.steps[f.step].name : ""},
               {"kernel", inside ? s.steps[f.step].kernel : ""}};
  j["values"] = nlohmann::ordered_json::array();
  for (const blame::Party& p : f.parties) j["values"].push_back(as_json(p));
  return j;
}

Result<std::vector<Tensor>> inputs_of(Runner& runner, const BlameArgs& a) {
  auto files = input_files(a.inputs, runner.inputs());
  if (!files) return files.errors();
  auto fills = name_values(a.fills, "--fill");
  if (!fills) return fills.errors();
  auto inputs = make_inputs(runner.inputs(), *files, *fills, a.seed);
  if (!inputs) return inputs.errors();
  if (Status s = runner.set(*inputs); !s) return s.errors();  // the types are the model's
  return inputs;
}

/// 1 is kept for what the experiment finds.
int no_experiment(Context& ctx, const Diags& why) {
  ctx.report(why);
  return ctx.exit_code = std::max(ctx.exit_code, 2);
}

int blame_verb(Context& ctx, const BlameArgs& a) {
  auto runner = Runner::open(a.folder, 1, 0);
  if (!runner) return no_experiment(ctx, runner.errors());
  auto planned = load_planned(a.folder);
  if (!planned) return no_experiment(ctx, planned.errors());
  auto inputs = inputs_of(*runner, a);
  if (!inputs) return no_experiment(ctx, inputs.errors());
  auto subject = blame::subject_of(runner->model(), planned->request.request, planned->plan);
  if (!subject) return no_experiment(ctx, subject.errors());
  Progress progress(!a.json);
  auto report =
      blame::blame(*subject, *inputs, [&](const std::string& what) { progress.say(what); });
  progress.say("");
  if (!report) return no_experiment(ctx, report.errors());
  if (a.json) {
    nlohmann::ordered_json j{{"artefact", a.folder},
                             {"steps", subject->steps.size()},
                             {"tokens", planned->plan.slots.size()},
                             {"trials", report->trials},
                             {"found", report->finding.has_value()}};
    if (report->finding) j["finding"] = as_json(*subject, *report->finding);
    say_json(j);
    return ctx.exit_code = report->finding ? 1 : 0;
  }
  if (report->finding) return ctx.report(report->finding->diag);
  say(fmt::format("{} steps, {} tokens: as planned is as apart, bit for bit ({} trials)\n",
                  subject->steps.size(), planned->plan.slots.size(), report->trials));
  return 0;
}

}  // namespace

void add_plan_blame(CLI::App& plan, Context& ctx) {
  auto* blame = plan.add_subcommand("blame", "Which sharing of memory makes an artefact wrong?");
  auto a = std::make_shared<BlameArgs>();
  blame->add_option("DIR", a->folder, "Artefact folder, of the graph executor")->required();
  blame->add_option("--input", a->inputs, input_help);
  blame->add_option("--fill", a->fills, "Made data, as for `tenon run`");
  blame->add_option("--seed", a->seed, "Seed of made data")->capture_default_str();
  blame->add_flag("--json", a->json, "Machine-readable, alone on stdout");
  blame->footer(
      "Runs the kernels with every value in storage of its own, then as planned, each step "
      "compared "
      "bit for bit, and bisects over what shares. Names the values, the step, the kernel and the "
      "fact that put them together: an in-place pair, a lifetime, the size of scratch, an "
      "alignment, memory of the caller's. Each trial is a process of its own.\nExit 0: nothing "
      "found; 1: found; 2: the artefact or an input cannot be read.\n\nExample:\n  tenon plan "
      "blame "
      "out --input image.npy");
  blame->callback([a, &ctx] { blame_verb(ctx, *a); });
}

}  // namespace tenon::cli
