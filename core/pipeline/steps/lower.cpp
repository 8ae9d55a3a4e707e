// `lower`: binds the three sub-slots per target and runs LowerTE.
#include "core/lower/lower_te.h"
#include "core/pipeline/steps/steps.h"
#include "core/pipeline/steps/targets.h"
#include "core/plugin_host/session.h"

namespace tenon {
namespace {

// An option belongs to the implementation that declares it; the sub-slots of one binding share its
// options.
OptionValues options_for(const LoweringInfo& info, const OptionValues& all) {
  OptionValues mine;
  for (const OptionValue& o : all)
    for (const OptionRow& r : info.options)
      if (r.key == o.key) mine.push_back(o);
  return mine;
}

Result<const LoweringInfo*> part(Compilation& c, const Binding& b, const char* name) {
  auto it = b.parts.find(name);
  return c.session.lowering(it != b.parts.end() ? it->second : b.with, b.with_loc);
}

Diag no_part(const Binding& b, const LoweringInfo& info, const char* name) {
  return Diag{.code = 2148,
              .loc = b.with_loc,
              .what = "lowering '" + info.id + "' does not bring the part '" + name + "'",
              .fix = std::string("name one that does, e.g. ") + name + ": te"};
}

Result<BoundLowering> bind(Compilation& c, const Binding& b, const TargetFacts& facts) {
  auto compute = part(c, b, "compute"), schedule = part(c, b, "schedule"),
       kernel = part(c, b, "kernel");
  for (auto* p : {&compute, &schedule, &kernel})
    if (!*p) return p->errors();
  if (!(*compute)->compute) return no_part(b, **compute, "compute");
  if (!(*schedule)->schedule) return no_part(b, **schedule, "schedule");
  if (!(*kernel)->kernel) return no_part(b, **kernel, "kernel");
  return BoundLowering{*compute,
                       *schedule,
                       *kernel,
                       options_for(**compute, b.options),
                       options_for(**schedule, b.options),
                       options_for(**kernel, b.options),
                       facts};
}

}  // namespace

Status step_lower(Compilation& c, const Step& step) {
  if (Status s = resolve_targets(c); !s) return s;
  LowerConfig config;
  config.threads = c.threads;
  config.default_target = c.config.targets.front().id;
  for (const auto& [id, facts] : c.targets) {
    auto on = step.on.find(id);
    auto bound = bind(c, on == step.on.end() ? step.use : on->second, facts);
    if (!bound) return bound.errors();
    config.by_target.emplace(id, std::move(*bound));
  }
  TimedScope timed(c.timing, "kernels");
  LoweringCache cache;
  LowerCounts counts;
  Status s = lower_te(c.module, config, cache, &counts);
  timed.count("regions", counts.regions);
  timed.count("kernels", counts.kernels);
  return s;
}

}  // namespace tenon
