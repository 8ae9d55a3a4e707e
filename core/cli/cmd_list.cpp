// What there is: passes, pipelines, boards, ops; and what a code or a file means.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>

#include "core/cli/cli.h"
#include "core/cli/commands.h"
#include "core/diag/explain.h"
#include "core/pipeline/config.h"
#include "core/pipeline/index.h"
#include "core/pipeline/validate.h"
#include "core/plugin_host/session.h"
#include "core/support/files.h"

namespace tenon::cli {
namespace {

std::string joined(const std::vector<std::string>& v) {
  std::string s;
  for (const std::string& x : v) s += (s.empty() ? "" : ", ") + x;
  return s;
}

int list_passes(Context& ctx) {
  auto session = open_session(ctx.session_options());
  if (!session) return ctx.report(session.errors());
  std::vector<std::vector<std::string>> rows{{"pass", "needs", "gives", "what it does"}};
  for (const PassInfo* p : session->passes())
    rows.push_back({p->id, joined(p->needs), joined(p->gives), p->doc});
  say(table(rows));
  return 0;
}

int list_ops(Context& ctx) {
  auto session = open_session(ctx.session_options());
  if (!session) return ctx.report(session.errors());
  std::vector<std::vector<std::string>> rows{{"op", "attributes", "what it means"}};
  const OpTable& ops = *session->ops();
  for (const std::string& name : ops.names()) {
    const OpDef& d = ops[ops.at(name)];
    std::vector<std::string> attrs;
    for (const AttrSpec& a : d.attrs) attrs.push_back(a.name);
    rows.push_back({name, joined(attrs), d.doc});
  }
  say(table(rows));
  return 0;
}

int print_names(const std::vector<std::string>& names) {
  for (const std::string& n : names) say(fmt::format("{}\n", n));
  return 0;
}

int validate_verb(Context& ctx, const std::string& pipeline, const std::string& board,
                  const std::vector<std::string>& set) {
  const LoadRequest load{pipeline, board, set, share_folders(), true};
  auto config = load_pipeline(DiskFiles(), load);
  if (!config) return ctx.report(config.errors());
  SessionOptions options = ctx.session_options();
  for (const PluginConfig& p : config->plugins) options.named.push_back({p.id, p.path, p.loc});
  auto session = open_session(options);
  if (!session) return ctx.report(session.errors());
  SessionIndex index(*session);
  Diags found = validate(*config, index);
  found.insert(found.end(), config->warnings.begin(), config->warnings.end());
  const int code = ctx.report(found);
  if (code == 0)
    say(fmt::format("{}: valid ({} steps, {} pools, {} targets)\n", config->path,
                    config->steps.size(), config->memory.pools.size(), config->targets.size()));
  return code;
}

int explain_verb(Context& ctx, const std::string& text) {
  const auto code = parse_code(text);
  const auto page = code ? explain(*code) : std::nullopt;
  if (!page)
    return ctx.report(
        Diag{.code = 2151,
             .loc = {},
             .what = fmt::format("no page for '{}'", text),
             .fix = "a code looks like TN2104; it stands in the first line of a message"});
  say(*page);
  return 0;
}

void list_only(CLI::App& app, std::function<void()> run) {
  app.require_subcommand(1);
  app.add_subcommand("list", "List them")->callback(std::move(run));
}

}  // namespace

void add_pass(CLI::App& app, Context& ctx) {
  list_only(app, [&ctx] { list_passes(ctx); });
}
void add_op(CLI::App& app, Context& ctx) {
  list_only(app, [&ctx] { list_ops(ctx); });
}
void add_pipeline(CLI::App& app, Context&) {
  list_only(app, [] { print_names(pipeline_names(DiskFiles(), share_folders())); });
}
void add_board(CLI::App& app, Context&) {
  list_only(app, [] { print_names(board_names(DiskFiles(), share_folders())); });
}

void add_validate(CLI::App& app, Context& ctx) {
  auto a = std::make_shared<std::pair<std::string, std::string>>();
  auto set = std::make_shared<std::vector<std::string>>();
  app.add_option("PIPELINE", a->first, "Pipeline or board file, or a shipped name")->required();
  app.add_option("--board", a->second, "Board by name or path");
  app.add_option("--set", *set, "Override one setting");
  app.callback([a, set, &ctx] { validate_verb(ctx, a->first, a->second, *set); });
}

void add_explain(CLI::App& app, Context& ctx) {
  auto code = std::make_shared<std::string>();
  app.add_option("CODE", *code, "e.g. TN2104")->required();
  app.callback([code, &ctx] { explain_verb(ctx, *code); });
}

}  // namespace tenon::cli
