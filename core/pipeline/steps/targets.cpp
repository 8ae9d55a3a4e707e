#include "core/pipeline/steps/targets.h"

#include <algorithm>

#include "core/plugin_host/session.h"

namespace tenon {
namespace {

// TN1001 and TN1012: there is no such plugin; other codes: there is, and it is unusable.
bool absent(const Diags& errors) {
  return std::ranges::all_of(errors,
                             [](const Diag& d) { return d.code == 1001 || d.code == 1012; });
}

// Enough to lower and plan for a target whose code generator is not installed: 128-bit vectors, 16
// of them.
TargetFacts plain_facts(const TargetConfig& t) {
  TargetFacts f;
  f.id = t.id;
  f.with = t.use.with;
  return f;
}

}  // namespace

Status resolve_targets(Compilation& c) {
  Diags errors;
  for (const TargetConfig& t : c.config.targets) {
    if (c.targets.contains(t.id)) continue;
    auto info = c.session.target(t.use.with, t.use.with_loc);
    if (!info && absent(info.errors())) {
      c.targets.emplace(t.id, plain_facts(t));
      continue;
    }
    auto facts = info ? (*info)->facts(t.id, t.use.options) : Result<TargetFacts>(info.errors());
    if (facts)
      c.targets.emplace(t.id, *facts);
    else
      errors.insert(errors.end(), facts.errors().begin(), facts.errors().end());
  }
  if (c.config.targets.empty())
    errors.push_back(Diag{.code = 2147,
                          .loc = {c.config.path, 0, 0},
                          .what = "no target is declared",
                          .fix = "name a `board:`, or declare one under `targets:`"});
  return errors;
}

}  // namespace tenon
