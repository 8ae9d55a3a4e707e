// What there is: passes, pipelines, boards, ops, plugins; and what a code or a file means.
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

int list_plugins(Context& ctx) {
  auto index = index_plugins(ctx.session_options());
  if (!index) return ctx.report(index.errors());
  std::vector<std::vector<std::string>> rows{
      {"plugin", "version", "tier", "status", "from", "file"}};
  Diags why;
  for (const PluginRow& r : index->rows) {
    const std::string status = r.status == PluginStatus::ok         ? "ok"
                               : r.status == PluginStatus::shadowed ? "shadowed by " + r.shadowed_by
                                                                    : "refused";
    const tn_descriptor& d = r.candidate.descriptor;
    rows.push_back({d.id[0] ? d.id : r.name, d.version, std::string(plugin_host::tier_name(d.tier)),
                    status, r.origin, r.file});
    why.insert(why.end(), r.why.begin(), r.why.end());
  }
  say(table(rows));
  for (Diag& d : why) d.severity = Severity::warning;
  return ctx.report(why);
}

int inspect(Context& ctx, const std::string& path) {
  const PluginRow r = inspect_plugin(path);
  if (r.status == PluginStatus::refused) return ctx.report(r.why);
  const tn_descriptor& d = r.candidate.descriptor;
  const tn_fingerprint& f = d.fingerprint;
  say(fmt::format(
      "{}",
      table({{"id", d.id},
             {"version", d.version},
             {"doc", d.doc},
             {"tier", std::string(plugin_host::tier_name(d.tier))},
             {"offers", plugin_host::kinds_text(d.kinds)},
             {"built for", fmt::format("Tenon {}, ABI {}.{}, C API {} to {}", d.core_version,
                                       d.abi_major, d.abi_minor, d.api_min, d.api_built)},
             {"compiler", fmt::format("version {}, language {}", f.compiler_version, f.language)},
             {"LLVM", d.llvm_major ? std::to_string(d.llvm_major) : "not used"},
             {"licence", d.licence},
             {"file", r.file}})));
  return 0;
}

int validate_verb(Context& ctx, const std::string& pipeline, const std::string& board,
                  const std::vector<std::string>& set) {
  LoadRequest load{pipeline, board, set, share_folders()};
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

void add_plugin(CLI::App& app, Context& ctx) {
  app.require_subcommand(1);
  app.add_subcommand("list", "Every plugin file on the search path; loads none")->callback([&ctx] {
    list_plugins(ctx);
  });
  auto* i = app.add_subcommand("inspect",
                               "One plugin file: its descriptor and fingerprint; loads nothing");
  auto path = std::make_shared<std::string>();
  i->add_option("FILE", *path, "Plugin file")->required();
  i->callback([path, &ctx] { inspect(ctx, *path); });
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
