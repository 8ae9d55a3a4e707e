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

struct Found {
  bool object = false;  ///< the linked one: then nobody asked for its kernels
  std::size_t kernels = 0;
};

/// Kernel by kernel: what no earlier compilation met is compiled, then all are linked.
Result<ObjectBytes> linked(const Compilation& c, const TargetInfo& target,
                           std::span<const tir::Kernel* const> kernels,
                           std::span<const std::string> keys, const TargetFacts& facts,
                           Found& found) {
  std::vector<ObjectBytes> objects(kernels.size());
  std::vector<const tir::Kernel*> fresh;
  std::vector<std::size_t> places;
  for (std::size_t i = 0; i < kernels.size(); ++i) {
    if (auto object = c.objects_on_disk->find(keys[i])) {
      objects[i] = *std::move(object);
      continue;
    }
    fresh.push_back(kernels[i]);
    places.push_back(i);
  }
  found.kernels = kernels.size() - fresh.size();
  if (!fresh.empty()) {
    auto made = target.objects(fresh, facts, c.threads);
    if (!made) return made.errors();
    std::vector<ObjectCache::Entry> entries;
    for (std::size_t i = 0; i < fresh.size(); ++i) {
      ObjectBytes& object = objects[places[i]] = std::move((*made)[i]);
      entries.push_back({keys[places[i]], object});
    }
    c.objects_on_disk->put(entries);
  }
  return target.link(objects, facts);
}

Result<ObjectBytes> object_of(const Compilation& c, const TargetInfo& target,
                              std::span<const tir::Kernel* const> kernels, const TargetFacts& facts,
                              Found& found) {
  if (!c.objects_on_disk || !c.objects_on_disk->keeps() || !target.identity)
    return target.compile(kernels, facts, c.threads);
  const std::vector<std::string> keys = kernel_keys(kernels, facts, target.identity());
  const std::string key = object_key(keys);
  if (auto object = c.objects_on_disk->find(key)) {
    found.object = true;
    return *std::move(object);
  }
  auto object = target.objects ? linked(c, target, kernels, keys, facts, found)
                               : target.compile(kernels, facts, c.threads);
  if (object) c.objects_on_disk->put(std::vector<ObjectCache::Entry>{{key, *object}});
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
    Found found;
    auto object = object_of(c, **info, kernels, facts, found);
    if (!object) return object.errors();
    timed.count("objects from the cache", found.object);
    timed.count("kernels from the cache", static_cast<std::int64_t>(found.kernels));
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
  c.files["metadata.json"] = FileBytes(*std::move(metadata));
  c.files["request.json"] = FileBytes(to_json(input->request));
  c.files["plan.json"] = FileBytes(to_json(*c.module.plan, input->request));
  return {};
}

}  // namespace tenon
