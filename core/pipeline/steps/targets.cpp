#include "core/pipeline/steps/targets.h"

#include "core/plugin_host/session.h"

namespace tenon {

Status resolve_targets(Compilation& c) {
  Diags errors;
  for (const TargetConfig& t : c.config.targets) {
    if (c.targets.contains(t.id)) continue;
    auto info = c.session.target(t.use.with, t.use.with_loc);
    auto facts = info ? (*info)->facts(t.id, t.use.options) : Result<TargetFacts>(info.errors());
    if (facts)
      c.targets.emplace(t.id, *facts);
    else
      errors.insert(errors.end(), facts.errors().begin(), facts.errors().end());
  }
  if (c.config.targets.empty())
    errors.push_back(Diag{.code = 2147, .loc = {c.config.path, 0, 0}, .what = "no target is declared", .fix = "name a `board:`, or declare one under `targets:`"});
  return errors;
}

}  // namespace tenon
