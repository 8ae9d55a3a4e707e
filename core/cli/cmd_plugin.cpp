// tenon plugin: what plugin files there are, and what is in one.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>

#include "core/cli/cli.h"
#include "core/cli/commands.h"
#include "core/cli/json.h"
#include "core/cli/planning.h"
#include "core/plugin_host/session.h"

namespace tenon::cli {
namespace {

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

struct InspectArgs {
  std::string plugin;
  bool json = false, no_load = false;
};

/// The file that a plugin's id, or the name of its file, means; else `text`, which is then a path.
Result<std::string> file_of(const Context& ctx, const std::string& text) {
  if (is_plugin_file(text)) return text;
  auto index = index_plugins(ctx.session_options());
  if (!index) return index.errors();
  for (const PluginRow& r : index->rows) {
    const std::string id = r.candidate.descriptor.id;
    if (id == text || id == "tenon." + text || r.name == text) return r.file;
  }
  return text;
}

struct Option {
  std::string key, type, dflt, range, doc;
};

/// Something that a plugin offers.
struct Offered {
  std::string kind, id, doc;
  std::vector<Option> options;
};

Option option_of(const OptionRow& r) {
  std::string range;
  if (r.range.min != INT64_MIN) range = fmt::format("{}", r.range.min);
  if (r.range.min != INT64_MIN || r.range.max != INT64_MAX) range += "..";
  if (r.range.max != INT64_MAX) range += fmt::format("{}", r.range.max);
  return {r.key, r.type, r.dflt, range, r.doc};
}

template <class Info>
void add_offered(std::vector<Offered>& out, const Session& session, const std::string& file,
                 std::uint32_t kind, const std::vector<const Info*>& all) {
  for (const Info* x : all) {
    const auto from = session.provenance(kind, x->id);
    if (!from || from->file != file) continue;
    Offered o{plugin_host::kinds_text(kind), x->id, x->doc, {}};
    for (const OptionRow& r : x->options) o.options.push_back(option_of(r));
    out.push_back(std::move(o));
  }
}

/// Loads the plugin, first in a process of its own: one that crashes there is not loaded here.
Result<std::vector<Offered>> offered_by(const Context& ctx, const std::string& file) {
  SessionOptions options = ctx.session_options();
  options.named.push_back({"", file, {}});
  const auto load = [&]() -> Result<std::vector<Offered>> {
    auto session = open_session(options);
    if (!session) return session.errors();
    std::vector<Offered> out;
    add_offered(out, *session, file, TN_KIND_PLANNER, session->planners());
    add_offered(out, *session, file, TN_KIND_PASS, session->passes());
    add_offered(out, *session, file, TN_KIND_FRONTEND, session->frontends());
    add_offered(out, *session, file, TN_KIND_LOWERING, session->lowerings());
    add_offered(out, *session, file, TN_KIND_TARGET, session->targets());
    add_offered(out, *session, file, TN_KIND_EXECUTOR, session->executors());
    return out;
  };
  if (auto crash = crashes_when_loaded(file, [&] { return static_cast<bool>(load()); }))
    return *crash;
  return load();
}

std::string built_for(const tn_descriptor& d) {
  return fmt::format("Tenon {}, ABI {}.{}, C API {} to {}", d.core_version, d.abi_major,
                     d.abi_minor, d.api_min, d.api_built);
}

std::string as_text(const PluginRow& r, const std::vector<Offered>& offered) {
  const tn_descriptor& d = r.candidate.descriptor;
  const tn_fingerprint& f = d.fingerprint;
  std::string out =
      table({{"id", d.id},
             {"version", d.version},
             {"doc", d.doc},
             {"tier", std::string(plugin_host::tier_name(d.tier))},
             {"offers", plugin_host::kinds_text(d.kinds)},
             {"built for", built_for(d)},
             {"compiler", fmt::format("version {}, language {}", f.compiler_version, f.language)},
             {"LLVM", d.llvm_major ? std::to_string(d.llvm_major) : "not used"},
             {"licence", d.licence},
             {"file", r.file}});
  for (const Offered& o : offered) {
    out += fmt::format("\n{} {}: {}\n", o.kind, o.id, o.doc);
    std::vector<std::vector<std::string>> rows{{"option", "type", "default", "range", "doc"}};
    for (const Option& x : o.options) rows.push_back({x.key, x.type, x.dflt, x.range, x.doc});
    out += o.options.empty() ? std::string("no options\n") : table(rows);
  }
  return out;
}

nlohmann::ordered_json as_json(const PluginRow& r, const std::vector<Offered>& offered) {
  const tn_descriptor& d = r.candidate.descriptor;
  nlohmann::ordered_json j{{"id", d.id},
                           {"version", d.version},
                           {"doc", d.doc},
                           {"tier", plugin_host::tier_name(d.tier)},
                           {"built_for", built_for(d)},
                           {"licence", d.licence},
                           {"file", r.file}};
  auto& list = j["offers"] = nlohmann::ordered_json::array();
  for (const Offered& o : offered) {
    auto options = nlohmann::ordered_json::array();
    for (const Option& x : o.options)
      options.push_back({{"key", x.key},
                         {"type", x.type},
                         {"default", x.dflt},
                         {"range", x.range},
                         {"doc", x.doc}});
    list.push_back({{"kind", o.kind}, {"id", o.id}, {"doc", o.doc}, {"options", options}});
  }
  return j;
}

int inspect(Context& ctx, const InspectArgs& a) {
  auto file = file_of(ctx, a.plugin);
  if (!file) return ctx.report(file.errors());
  const PluginRow r = inspect_plugin(*file);
  if (r.status == PluginStatus::refused) return ctx.report(r.why);
  std::vector<Offered> offered;
  if (!a.no_load) {
    auto found = offered_by(ctx, r.file);
    if (!found) return ctx.report(found.errors());
    offered = std::move(*found);
  }
  if (a.json)
    say_json(as_json(r, offered));
  else
    say(as_text(r, offered));
  return 0;
}

}  // namespace

void add_plugin(CLI::App& app, Context& ctx) {
  app.require_subcommand(1);
  app.add_subcommand("list", "Every plugin file on the search path; loads none")->callback([&ctx] {
    list_plugins(ctx);
  });
  auto* i = app.add_subcommand(
      "inspect", "One plugin: its descriptor, what it offers, and the options of that");
  auto a = std::make_shared<InspectArgs>();
  i->add_option("PLUGIN", a->plugin, "Plugin file, or the id of one on the search path")
      ->required();
  i->add_flag("--no-load", a->no_load,
              "The descriptor alone: no instruction of the plugin is run, no options are known");
  i->add_flag("--json", a->json, "The same as JSON");
  i->footer(
      "Example:\n  tenon plugin inspect greedy\n  tenon plugin inspect ./my_planner.so --json");
  i->callback([a, &ctx] { inspect(ctx, *a); });
}

}  // namespace tenon::cli
