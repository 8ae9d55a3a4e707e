// tenon compile, and what its relatives share.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <thread>

#include "core/cli/allocation.h"
#include "core/cli/cli.h"
#include "core/cli/commands.h"
#include "core/cli/compiling.h"
#include "core/cli/difference.h"
#include "core/cli/runner.h"
#include "core/pipeline/object_cache.h"
#include "core/storage/files.h"
#include "core/storage/timeline.h"
#include "core/support/machine.h"
#include "tenon/storage.h"

namespace tenon::cli {

void add_pipeline_options(CLI::App& app, CompileArgs& a) {
  app.add_option("MODEL", a.model, "ONNX model (.onnx), or a module in text form (.tir)")
      ->required();
  app.add_option("-p,--pipeline", a.pipeline, "Shipped pipeline by name, or a path")
      ->capture_default_str();
  app.add_option("--board", a.board, "Board by name or path; replaces the pipeline's");
  app.add_option("--shape", a.shapes,
                 "Shape of an input, e.g. --shape input=1x3x224x224; may be repeated");
  app.add_option(
      "--dim", a.dims,
      "Value of a dim that the model leaves open, in all its inputs, e.g. --dim batch=1; "
      "may be repeated");
  app.add_option("--set", a.set,
                 "Override one setting, e.g. --set plan.with=naive; may be repeated");
  app.add_option("--compile-threads", a.threads,
                 "Threads of the compiler (0: one per CPU); the result does not depend on it")
      ->check(CLI::Range(0, 256))
      ->capture_default_str();
  app.add_flag(
      "--no-cache", a.no_cache,
      "Compile everything anew; else objects are kept in $TENON_CACHE_DIR (~/.cache/tenon)");
}

Result<Compiled> compile_model(const Context& ctx, const CompileArgs& a,
                               const Instruments& instruments, Diags* warnings) {
  auto shapes = shapes_from(a.shapes);
  if (!shapes) return shapes.errors();
  auto dims = dims_from(a.dims);
  if (!dims) return dims.errors();
  LoadRequest load{a.pipeline, a.board, a.set, {}};
  auto chain = open_toolchain(load, ctx.session_options(), warnings);
  if (!chain) return chain.errors();
  if (a.without_capacity)
    for (StoragePool& p : chain->config.memory.pools) p.capacity.reset();
  Compiled out{std::make_unique<Toolchain>(std::move(*chain)), nullptr};
  const unsigned threads =
      a.threads ? a.threads : std::max(1u, std::thread::hardware_concurrency());
  const ObjectCache cache = a.no_cache ? ObjectCache("") : ObjectCache::of_user();
  Instruments watched = instruments;
  watched.after_step = give_back_memory;
  auto c = compile(*out.toolchain, {a.model, *shapes, *dims, threads, watched, &cache});
  if (!c) return c.errors();
  out.compilation = std::move(*c);
  if (warnings)
    warnings->insert(warnings->end(), out.compilation->reports.begin(),
                     out.compilation->reports.end());
  return out;
}

std::string memory_summary(const StorageRequest& r, const StoragePlan& p) {
  std::vector<std::vector<std::string>> rows{
      {"pool", "capacity", "used", "without sharing", "bound", "peak step"}};
  const auto apart = unshared(r, p);
  for (std::size_t i = 0; i < r.pools.size(); ++i) {
    const StoragePool& pool = r.pools[i];
    if (p.pools[i].peak == 0) continue;
    rows.push_back({pool.id, pool.capacity ? size_text(*pool.capacity) : "-",
                    size_text(p.pools[i].peak), size_text(apart[i]), size_text(p.pools[i].bound),
                    p.pools[i].peak_step < r.steps.size() ? r.steps[p.pools[i].peak_step] : "-"});
  }
  return table(rows);
}

CallerOwned caller_owned(const Module& m, const MemoryConfig& memory) {
  CallerOwned out;
  if (memory.io_planned || !m.main()) return out;
  auto bound = io_binding(*m.main(), memory);
  const IoBinding io = bound ? *std::move(bound) : IoBinding{};
  const auto add = [](std::uint64_t& sum, const TensorType& t) {
    sum = checked_add(sum, byte_size(t).value_or(0)).value_or(UINT64_MAX);
  };
  for (std::uint32_t i = 0; i < m.main()->n_params(); ++i) {
    if (!io.input_planned(i)) add(out.inputs, m.main()->param(i).type());
  }
  for (std::uint32_t j = 0; j < m.main()->body.results.size(); ++j) {
    if (!io.output_planned(j)) add(out.outputs, m.main()->body.results[j].type());
  }
  return out;
}

std::string caller_summary(const CallerOwned& c) {
  if (c.inputs == 0 && c.outputs == 0) return "";
  return fmt::format("owned by the caller, in no pool: inputs {}, outputs {}\n",
                     size_text(c.inputs), size_text(c.outputs));
}

namespace {

struct Args : CompileArgs {
  std::string out, stop_after;
  std::vector<std::string> print_after;
  bool timing = false, check = false;
};

/// The artefact against the evaluator on the imported model, with made inputs, in a folder of its
/// own: what fails leaves nothing behind. Sums are taken in another order, hence 1e-3.
int check_artefact(Context& ctx, const Args& a, const ArtefactFiles& files) {
  if (const auto header = files.find("model.h"); header != files.end()) {
    const auto text = header->second.joined();
    const std::string_view shown(reinterpret_cast<const char*>(text.data()), text.size());
    if (auto d = ahead_of_time(shown, a.out)) {
      d->fix = "compile it without --check; then " + d->fix;
      return ctx.report(*d);
    }
  }
  const ScratchFolder scratch;
  const std::string folder = scratch.file("artefact");
  if (Status s = write_artefact(folder, files); !s) return ctx.report(s.errors());
  CompileArgs import_only = a;
  Instruments in;
  in.stop_after = "import";
  auto imported = compile_model(ctx, import_only, in, nullptr);
  if (!imported) return ctx.report(imported.errors());
  auto runner = Runner::open(folder, 1, TN_GUARD | TN_POISON);
  if (!runner) return ctx.report(runner.errors());
  auto inputs = make_inputs(runner->inputs(), {}, {}, 1);
  if (!inputs) return ctx.report(inputs.errors());
  if (Status s = runner->set(*inputs); !s) return ctx.report(s.errors());
  if (Status s = runner->run(); !s) return ctx.report(s.errors());
  auto got = runner->results();
  if (!got) return ctx.report(got.errors());
  const Module& m = imported->compilation->module;
  EvalOptions limits;
  limits.max_bytes = memory_of_machine();
  auto want = evaluate(m, *m.main(), *inputs, limits);
  if (!want) return ctx.report(want.errors());
  bool ok = got->size() == want->size();
  double worst = 0;
  for (std::size_t i = 0; ok && i < want->size(); ++i) {
    const Difference d = difference((*got)[i], (*want)[i], 1e-3, 1e-5);
    ok = d.comparable && d.rel_l2 <= 1e-3;
    worst = std::max(worst, d.rel_l2);
  }
  say(fmt::format("check: {} outputs against the evaluator, relative L2 {:.2g}: {}\n", want->size(),
                  worst, ok ? "ok" : "MISMATCH"));
  return ctx.exit_code = ok ? 0 : 1;
}

int run(Context& ctx, const Args& a) {
  if (a.out.empty() && a.stop_after.empty() && a.print_after.empty())
    return ctx.report(Diag{.code = 2151,
                           .loc = {},
                           .what = "no output folder is given",
                           .fix = "add -o DIR, or --stop-after STEP"});
  Instruments in;
  in.print_after = a.print_after;
  in.stop_after = a.stop_after;
  in.print = [](const Step& s, std::string_view text) {
    fmt::print("// ---- after {}\n{}", s.id, text);
  };
  Diags warnings;
  Progress progress(a.print_after.empty());
  progress.say("compiling " + a.model);
  auto done = compile_model(ctx, a, in, &warnings);
  if (!done) {
    Diags all = done.errors();
    all.insert(all.end(), warnings.begin(), warnings.end());
    progress.say("");
    return ctx.report(all);
  }
  progress.say("");
  ctx.report(warnings);
  Compilation& c = *done->compilation;
  if (in.stop_after.empty() && !a.out.empty() && c.objects.empty() && c.files.empty())
    return ctx.report(Diag{.code = 2151,
                           .loc = {c.config.path, 0, 0},
                           .what = "the pipeline makes no artefact: it has no step `emit`",
                           .fix = "add `emit` after `plan`, or name a step with --stop-after"});
  if (a.timing) say(render_timing(c.timing));
  if (!a.stop_after.empty()) return 0;
  ArtefactFiles files = c.files;
  files["provenance.json"] = FileBytes(provenance_json(c));
  if (a.check && check_artefact(ctx, a, files) != 0) return ctx.exit_code;
  if (a.out.empty()) return 0;
  if (Status s = write_artefact(a.out, files); !s) return ctx.report(s.errors());
  const auto input = planning_input(c.module, c.config.memory);
  say(fmt::format("{}: {} kernels, {} steps\n", a.out, c.module.kernels.size(),
                  input ? input->request.steps.size() : 0));
  if (input && c.module.plan)
    say(memory_summary(input->request, *c.module.plan) +
        caller_summary(caller_owned(c.module, c.config.memory)));
  return 0;
}

}  // namespace

void add_compile(CLI::App& app, Context& ctx) {
  auto a = std::make_shared<Args>();
  add_pipeline_options(app, *a);
  app.add_option("-o,--output", a->out,
                 "Folder of the artefact; replaced as a whole when it is one already");
  app.add_option("--print-after", a->print_after,
                 "Print the module after a step (`*`: after each); may be repeated");
  app.add_option("--stop-after", a->stop_after, "Stop after a step; nothing is written");
  app.add_flag(
      "--check", a->check,
      "Run the artefact on made inputs and compare with the evaluator; when they differ nothing is "
      "written, exit 1");
  app.add_flag("--timing", a->timing, "Print where the time went");
  app.footer(
      "Examples:\n  tenon compile mobilenet.onnx --shape input=1x3x224x224 -o out\n  tenon compile "
      "m.onnx -o out --set plan.with=naive --timing");
  app.callback([a, &ctx] { run(ctx, *a); });
}

}  // namespace tenon::cli
