#include "core/pipeline/compile.h"

#include <unistd.h>

#include <filesystem>

#include "core/pipeline/index.h"
#include "core/pipeline/steps/steps.h"
#include "core/pipeline/validate.h"
#include "core/support/files.h"
#include "nlohmann/json.hpp"

namespace tenon {
namespace fs = std::filesystem;

Result<Toolchain> open_toolchain(const LoadRequest& pipeline, SessionOptions plugins,
                                 Diags* warnings) {
  LoadRequest request = pipeline;
  if (request.share.empty()) request.share = share_folders();
  auto config = load_pipeline(DiskFiles(), request);
  if (!config) return config.errors();
  for (const PluginConfig& p : config->plugins) plugins.named.push_back({p.id, p.path, p.loc});
  auto session = open_session(plugins);
  if (!session) return session.errors();
  Toolchain t{std::move(*config), std::make_unique<Session>(std::move(*session))};
  SessionIndex index(*t.session);
  Diags found = validate(t.config, index);
  if (has_errors(found)) return found;
  if (warnings) {
    warnings->insert(warnings->end(), t.config.warnings.begin(), t.config.warnings.end());
    warnings->insert(warnings->end(), found.begin(), found.end());
  }
  return t;
}

Result<std::unique_ptr<Compilation>> compile(Toolchain& t, const CompileRequest& request) {
  auto c = std::make_unique<Compilation>(t.config, *t.session, t.session->ops());
  c->model = fs::absolute(request.model).string();
  c->shapes = request.shapes;
  c->dims = request.dims;
  c->threads = request.threads;
  c->objects_on_disk = request.objects_on_disk;
  SessionIndex index(*t.session);
  if (Status s = run_pipeline(*c, index, slot_bodies(), request.instruments); !s) return s.errors();
  return c;
}

std::string provenance_json(const Compilation& c) {
  nlohmann::ordered_json out;
  out["pipeline"] = c.config.path;
  out["board"] = c.config.board;
  out["model"] = c.model;
  auto& slots = out["slots"] = nlohmann::ordered_json::array();
  const auto add = [&](const std::string& where, std::uint32_t kind, std::string id,
                       const OptionValues& options) {
    nlohmann::ordered_json row{{"slot", where}, {"implementation", id}};
    if (auto p = c.session.provenance(kind, id)) {
      row["version"] = p->version;
      row["plugin"] = p->plugin;
      row["file"] = p->file;
      row["sha256"] = p->sha256;
    }
    auto& given = row["options"] = nlohmann::ordered_json::object();
    for (const OptionValue& o : options) given[o.key] = o.items;
    slots.push_back(std::move(row));
  };
  for (const TargetConfig& target : c.config.targets)
    add("targets." + target.id, TN_KIND_TARGET, target.use.with, target.use.options);
  const std::map<std::string, std::uint32_t> kinds{{"import", TN_KIND_FRONTEND},
                                                   {"lower", TN_KIND_LOWERING},
                                                   {"plan", TN_KIND_PLANNER},
                                                   {"emit", TN_KIND_EXECUTOR}};
  for (const Step& s : c.config.steps) {
    auto kind = kinds.find(s.name);
    const bool slot = kind != kinds.end();
    add(s.id, slot ? kind->second : std::uint32_t{TN_KIND_PASS},
        s.name == "import" ? c.frontend
        : slot             ? s.use.with
                           : s.name,
        s.use.options);
  }
  auto& times = out["milliseconds"] = nlohmann::ordered_json::object();
  for (const TimedPart& p : c.timing) times[p.name] = p.ms;
  return out.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

// May `name`, found in an output folder, be replaced? Only what artefacts consist of: the files of
// this one, those that core writes, constant images, and objects of targets.
static bool ours(const std::string& name, const ArtefactFiles& files) {
  for (const char* known : {"program.json", "plan.json", "request.json", "metadata.json",
                            "provenance.json", "checksums"})
    if (name == known) return true;
  return files.contains(name) || name.ends_with("kernels.so") ||
         (name.starts_with("constants.") && name.ends_with(".bin"));
}

Status write_artefact(const std::string& folder, const ArtefactFiles& files) {
  const auto refuse = [&](std::string what, std::string fix) {
    return Status(
        Diag{.code = 2150, .loc = {folder, 0, 0}, .what = std::move(what), .fix = std::move(fix)});
  };
  std::error_code ec;
  fs::path target = fs::absolute(folder, ec).lexically_normal();
  if (!target.has_filename()) target = target.parent_path();
  if (fs::is_symlink(target, ec)) {  // the folder that it names is replaced, the link stays
    const fs::path named = fs::canonical(target, ec);
    if (ec)
      return refuse("is a link that leads nowhere", "remove it, or make the folder that it names");
    target = named;
  }
  const bool there = fs::exists(target, ec);
  if (there && !fs::is_directory(target, ec))
    return refuse("is a file, an artefact is a folder", "name another output folder");
  if (there)
    for (const auto& entry : fs::directory_iterator(target, ec))
      if (const std::string name = entry.path().filename().string(); !ours(name, files))
        return refuse(
            "holds '" + name + "', which is no part of an artefact; nothing in it is overwritten",
            "name another output folder, or empty this one");
  const fs::path fresh = target.string() + ".new-" + std::to_string(getpid());
  const fs::path old = target.string() + ".old-" + std::to_string(getpid());
  fs::remove_all(fresh, ec);
  DiskFiles disk;
  for (const auto& [name, bytes] : files) {
    std::vector<std::string_view> parts;
    for (const FileBytes::Part& p : bytes.parts())
      parts.emplace_back(reinterpret_cast<const char*>(p.bytes.data()), p.bytes.size());
    Status s = disk.write_parts((fresh / name).string(), parts);
    if (s) continue;
    fs::remove_all(fresh, ec);
    return s;
  }
  if (there) fs::rename(target, old, ec);
  if (!ec) fs::rename(fresh, target, ec);
  if (ec) {
    const std::string why = ec.message();
    if (there && fs::exists(old)) fs::rename(old, target, ec);
    fs::remove_all(fresh, ec);
    return refuse("cannot be written: " + why, "check permissions and space");
  }
  fs::remove_all(old, ec);
  return {};
}

}  // namespace tenon
