#include "core/pipeline/config.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "core/diag/render.h"
#include "core/pipeline/convert.h"
#include "core/pipeline/layers.h"
#include "core/plugin_host/search.h"

namespace tenon {
namespace {

/// What a pipeline that plans and emits cannot do without.
void check_complete(const PipelineConfig& c, Reader& r) {
  const auto uses = [&](std::string_view slot) {
    const auto it = std::ranges::find(c.steps, slot, &Step::name);
    return it == c.steps.end() ? nullptr : &*it;
  };
  if (const Step* s = uses("plan"); s && c.memory.pools.empty())
    r.fail(2107, s->loc, "step 'plan' has no pools to plan for",
           "name a board (`board: host`), or declare `pools`");
  for (const char* slot : {"lower", "emit"})
    if (const Step* s = uses(slot); s && c.targets.empty())
      return r.fail(2107, s->loc, fmt::format("step '{}' has no target", slot),
                    "name a board (`board: host`), or declare `targets`");
}

}  // namespace

const Step* PipelineConfig::step(std::string_view id) const {
  const auto it = std::ranges::find(steps, id, &Step::id);
  return it == steps.end() ? nullptr : &*it;
}

Result<PipelineConfig> load_pipeline(const Files& files, const LoadRequest& request) {
  auto layers = load_layers(files, request);
  if (!layers) return sorted_and_capped(layers.errors());
  PipelineConfig out{.path = layers->path,
                     .board = layers->board,
                     .files = layers->files,
                     .is_board = layers->is_board};
  Reader reader;
  convert(*layers->tree, out, reader);
  if (!out.is_board && !layers->tree->find("steps"))
    reader.fail(2107, {out.path, 1, 1}, "key 'steps' is missing",
                "write steps: [import, ...], or `extends: graph-cpu`");
  if (reader.errors.empty()) check_complete(out, reader);
  for (Diag& d : reader.errors)
    if (const auto why = layers->notes.find(d.loc.file); why != layers->notes.end())
      d.notes.insert(d.notes.begin(), why->second);
  if (!reader.errors.empty()) return sorted_and_capped(std::move(reader.errors));
  return out;
}

std::vector<std::string> share_folders() {
  constexpr int levels = 4;  // <prefix>/lib/<triple>, <source>/build/<preset>/lib
  std::vector<std::string> out;
  const DiskFiles disk;
  std::filesystem::path dir = library_folder();
  for (int i = 0; i <= levels && !dir.empty(); ++i, dir = dir.parent_path()) {
    for (const char* sub : {"share/tenon/pipelines", "pipelines"})
      if (std::string p = join_path(dir.string(), sub); disk.exists(join_path(p, "graph-cpu.yaml")))
        out.push_back(std::move(p));
    if (dir == dir.root_path()) break;
  }
  return out;
}

}  // namespace tenon
