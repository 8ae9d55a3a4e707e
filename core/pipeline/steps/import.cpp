// `import`: a model file becomes the module. Tenon's own text form (.tir) needs no frontend.
#include <filesystem>

#include "core/pipeline/steps/steps.h"
#include "core/plugin_host/session.h"
#include "core/support/files.h"
#include "tenon/text.h"

namespace tenon {
namespace {

// The text form says its shapes itself: one given beside it may only repeat them.
Status check_shapes(const Compilation& c, const Module& m) {
  for (const auto& [name, shape] : c.shapes) {
    bool fits = false;
    for (const NodeResult& p : m.main()->body.entry->results)
      fits = fits || (p.name == name && p.type == TensorType(p.type.dtype, shape));
    if (!fits)
      return Diag{
          .code = 7006,
          .loc = {c.model, 0, 0},
          .what = "the shape given for '" + name + "' is not that of an input of this module",
          .fix = "a module in text form has fixed shapes: leave --shape out, or edit the file"};
  }
  if (!c.dims.empty())
    return Diag{.code = 7006,
                .loc = {c.model, 0, 0},
                .what = "a value is given for the dim '" + c.dims.begin()->first +
                        "', a module in text form leaves none open",
                .fix = "leave --dim out, or edit the file"};
  return {};
}

Diag is_folder(const std::string& model) {
  const bool artefact = DiskFiles().exists(join_path(model, "program.json"));
  return {.code = 7001,
          .loc = {model, 0, 0},
          .what = artefact ? "is an artefact, which is compiled already"
                           : "is a folder, a model is a file",
          .fix = artefact ? "`tenon run` runs it" : "name the model inside it"};
}

}  // namespace

Status step_import(Compilation& c, const Step& step) {
  if (std::error_code ec; std::filesystem::is_directory(c.model, ec)) return is_folder(c.model);
  const std::string extension = std::filesystem::path(c.model).extension().string();
  if (extension == ".tir") {
    auto text = DiskFiles().read(c.model);
    if (!text) return text.errors();
    auto m = parse_module(*text, c.model, c.session.ops());
    if (!m) return m.errors();
    if (!m->main())
      return Diag{.code = 7004,
                  .loc = {c.model, 0, 0},
                  .what = "the module has no function @main",
                  .fix = "add one"};
    if (Status s = check_shapes(c, *m); !s) return s;
    c.module = std::move(*m);
    return {};
  }
  auto frontend = step.use.with.empty() ? c.session.frontend_for(extension)
                                        : c.session.frontend(step.use.with, step.use.with_loc);
  if (!frontend) {
    auto there = DiskFiles().read(c.model);
    return there ? frontend.errors() : there.errors();
  }
  c.frontend = (*frontend)->id;
  auto m = (*frontend)->import({c.model, c.shapes, c.dims, c.session.ops(), step.use.options});
  if (!m) return m.errors();
  c.module = std::move(*m);
  return {};
}

}  // namespace tenon
