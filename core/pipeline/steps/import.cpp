// `import`: a model file becomes the module. Tenon's own text form (.tir) needs no frontend.
#include <filesystem>

#include "core/pipeline/steps/steps.h"
#include "core/plugin_host/session.h"
#include "core/support/files.h"
#include "tenon/text.h"

namespace tenon {

Status step_import(Compilation& c, const Step& step) {
  const std::string extension = std::filesystem::path(c.model).extension().string();
  if (extension == ".tir") {
    auto text = DiskFiles().read(c.model);
    if (!text) return text.errors();
    auto m = parse_module(*text, c.model, c.session.ops());
    if (!m) return m.errors();
    c.module = std::move(*m);
    return {};
  }
  auto frontend = step.use.with.empty() ? c.session.frontend_for(extension) : c.session.frontend(step.use.with, step.use.with_loc);
  if (!frontend) return frontend.errors();
  auto m = (*frontend)->import({c.model, c.shapes, c.session.ops(), step.use.options});
  if (!m) return m.errors();
  c.module = std::move(*m);
  return {};
}

}  // namespace tenon
