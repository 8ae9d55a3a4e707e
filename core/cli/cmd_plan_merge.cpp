// tenon plan merge: one request of several models.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <filesystem>

#include "core/cli/planning.h"
#include "core/storage/merge.h"
#include "core/support/files.h"

namespace tenon::cli {
namespace {

struct MergeArgs {
  std::vector<std::string> requests;
  std::string output;
  bool together = false;
};

/// "NAME=FILE", or a file, whose name without its ending is the model's.
Result<NamedModel> model_from(const std::string& text) {
  const std::size_t eq = text.find('=');
  const std::string path = eq == text.npos ? text : text.substr(eq + 1);
  auto request = read_request(path, {});
  if (!request) return request.errors();
  return NamedModel{
      eq == text.npos ? std::filesystem::path(path).stem().string() : text.substr(0, eq),
      std::move(request->request)};
}

int merge_verb(Context& ctx, const MergeArgs& a) {
  std::vector<NamedModel> models;
  for (const std::string& text : a.requests) {
    auto m = model_from(text);
    if (!m) return ctx.report(m.errors());
    models.push_back(std::move(*m));
  }
  auto merged = merge_requests(models, a.together ? Merge::together : Merge::sequence);
  if (!merged) return ctx.report(merged.errors());
  if (Status s = DiskFiles().write(a.output, to_json(*merged)); !s) return ctx.report(s.errors());
  say(fmt::format("{}: {} models, {} tokens, {} pools, {} steps\n", a.output, models.size(),
                  merged->tokens.size(), merged->pools.size(), merged->steps.size()));
  return 0;
}

}  // namespace

void add_plan_merge(CLI::App& plan, Context& ctx) {
  auto* merge = plan.add_subcommand("merge", "One request of several models in one memory");
  auto a = std::make_shared<MergeArgs>();
  merge
      ->add_option("REQUESTS", a->requests,
                   "Requests (.json); NAME=FILE names the model, else the file does")
      ->required();
  merge->add_flag(
      "--together", a->together,
      "The models run at any time and share nothing; without it one runs after another, "
      "and only constants and state live throughout");
  merge->add_option("-o,--output", a->output, "File for the request (.json)")->required();
  merge->footer(
      "Example:\n  tenon plan export detector -o detector.json\n  tenon plan export landmarks -o "
      "landmarks.json\n  tenon plan merge detector.json landmarks.json -o both.json\n  tenon plan "
      "solve both.json");
  merge->callback([a, &ctx] { merge_verb(ctx, *a); });
}

}  // namespace tenon::cli
