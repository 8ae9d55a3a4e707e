// `emit`: program -> target code -> artefact files. The executor encodes; it computes nothing.
#include "core/pipeline/object_cache.h"
#include "core/pipeline/steps/planning.h"
#include "core/pipeline/steps/steps.h"
#include "core/pipeline/steps/targets.h"
#include "core/plugin_host/session.h"
#include "core/program/metadata.h"
#include "core/program/program.h"

namespace tenon {
namespace {

std::vector<std::byte> bytes_of(const std::string& s) {
  const auto b = std::as_bytes(std::span(s.data(), s.size()));
  return {b.begin(), b.end()};
}

Result<std::vector<std::byte>> object_of(const Compilation& c, const TargetInfo& target,
                                         std::span<const tir::Kernel* const> kernels,
                                         const TargetFacts& facts, bool& found) {
  if (!c.objects_on_disk || !target.identity) return target.compile(kernels, facts, c.threads);
  const std::string key = object_key(kernels, facts, target.identity());
  if (auto object = c.objects_on_disk->find(key)) {
    found = true;
    return *std::move(object);
  }
  auto object = target.compile(kernels, facts, c.threads);
  if (object) c.objects_on_disk->put(key, *object);
  return object;
}

Status compile_kernels(Compilation& c) {
  std::map<std::string, std::vector<const tir::Kernel*>> by_target;
  for (const KernelFunction& k : c.module.kernels)
    if (k.uses > 0) by_target[k.target].push_back(&k.kernel);
  for (const auto& [id, kernels] : by_target) {
    const TargetFacts& facts = c.targets.at(id);
    auto info = c.session.target(facts.with);
    if (!info) return info.errors();
    TimedScope timed(c.timing, "target " + id);
    timed.count("kernels", static_cast<std::int64_t>(kernels.size()));
    bool found = false;
    auto object = object_of(c, **info, kernels, facts, found);
    if (!object) return object.errors();
    timed.count("from the cache", found);
    const std::string file =
        by_target.size() == 1 ? (*info)->object_name : id + "." + (*info)->object_name;
    c.files[file] = std::move(*object);
    c.objects.push_back(file);
  }
  return {};
}

}  // namespace

Status step_emit(Compilation& c, const Step& step) {
  if (Status s = resolve_targets(c); !s) return s;
  auto executor = c.session.executor(step.use.with, step.use.with_loc);
  if (!executor) return executor.errors();
  auto input = planning_input(c.module, c.config.memory);
  if (!input) return input.errors();
  auto program = build_program(c.module, input->values, input->request, *c.module.plan);
  if (!program) return program.errors();
  const TargetFacts& facts = c.targets.begin()->second;
  program->target_triple = facts.triple;
  program->target_cpu = facts.cpu;
  program->target_features = facts.features;
  if (Status s = compile_kernels(c); !s) return s;
  if (Status s = (*executor)->emit(*program, c.module, step.use.options, c.objects, c.files); !s)
    return s;
  auto metadata = metadata_json(c.module, input->request, *c.module.plan);
  if (!metadata) return metadata.errors();
  c.files["metadata.json"] = bytes_of(*metadata);
  c.files["request.json"] = bytes_of(to_json(input->request));
  c.files["plan.json"] = bytes_of(to_json(*c.module.plan, input->request));
  return {};
}

}  // namespace tenon
