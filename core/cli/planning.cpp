#include "core/cli/planning.h"

#include <fmt/format.h>

#include <charconv>

#include "core/storage/judge.h"
#include "core/support/files.h"
#include "core/support/isolated.h"

namespace tenon::cli {

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

Diags about_file(Diags all, const std::string& path) {
  for (Diag& d : all) {
    if (d.loc.file.empty()) d.loc.file = path;
    if (d.code >= 4001 && d.code <= 4010) d.fix = "correct the plan, or plan again";
  }
  return all;
}

Result<Planned> load_planned(const std::string& folder) {
  auto request = read_request(join_path(folder, "request.json"), {});
  if (!request) return request.errors();
  const std::string path = join_path(folder, "plan.json");
  auto text = DiskFiles().read(path);
  if (!text) return text.errors();
  auto plan = load_plan(*text, path, StorageFormat::json, *request);
  if (!plan) return plan.errors();
  if (Status s = judge_plan(request->request, *plan); !s) return about_file(s.errors(), path);
  return Planned{std::move(*request), std::move(*plan)};
}

Result<std::chrono::milliseconds> duration_from(std::string_view text) {
  double n = 0;
  auto [p, ec] = std::from_chars(text.data(), text.data() + text.size(), n);
  const std::string_view unit(p, static_cast<std::size_t>(text.data() + text.size() - p));
  if (ec != std::errc() || !(n > 0 && n <= 1e9) || (unit != "s" && unit != "ms" && !unit.empty()))
    return Diag{.code = 2151,
                .loc = {},
                .what = fmt::format("'{}' is not a time", text),
                .fix = "write 10s or 250ms"};
  return std::chrono::milliseconds(static_cast<std::int64_t>(unit == "ms" ? n : n * 1000));
}

bool is_plugin_file(std::string_view name) {
  return name.find('/') != name.npos || name.ends_with(".so");
}

Result<ChosenPlanner> choose_planner(const Context& ctx, const std::string& name) {
  SessionOptions options = ctx.session_options();
  const bool file = is_plugin_file(name);
  if (file) options.named.push_back({"", join_path(options.project_dir, name), {}});
  auto session = open_session(options);
  if (!session) return session.errors();
  ChosenPlanner c{std::make_unique<Session>(std::move(*session)), nullptr};
  if (!file) {
    auto p = c.session->planner(name);
    if (!p) return p.errors();
    c.planner = *p;
    return c;
  }
  const std::string wanted = options.named.back().path;
  for (const PlannerInfo* p : c.session->planners())
    if (p->file == wanted) c.planner = p;
  if (!c.planner) {
    Diag none{.code = 1012,
              .loc = {wanted, 0, 0},
              .what = "the plugin offers no planner",
              .fix = "name one that does"};
    for (const Diag& w : c.session->warnings()) none.notes.push_back(w.what);
    return none;
  }
  return c;
}

std::optional<Diag> crashes_when_loaded(const std::string& plugin,
                                        const std::function<bool()>& load) {
  const ChildResult loads = run_isolated(std::chrono::seconds(20), [&] {
    return load() ? std::string() : std::string("refused");  // by whom, the caller finds out
  });
  if (loads.returned) return std::nullopt;
  return Diag{.code = 1014,
              .loc = {plugin, 0, 0},
              .what = "the plugin " + loads.text + " while it was loaded",
              .fix = "nothing of a plugin may run before it is called: no static constructors"};
}

}  // namespace tenon::cli
