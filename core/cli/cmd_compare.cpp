// tenon compare: compile, run on given inputs, compare with given outputs.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "core/cli/cli.h"
#include "core/cli/commands.h"
#include "core/cli/compiling.h"
#include "core/cli/difference.h"
#include "core/cli/json.h"
#include "core/cli/runner.h"
#include "core/support/files.h"
#include "core/support/npy.h"

namespace tenon::cli {
namespace {

struct Args : CompileArgs {
  std::string io;
  double rtol = 1e-3, atol = 1e-5, rel_l2 = 0;
  std::uint32_t threads_run = 1;
  bool json = false;
};

struct IoTensor {
  std::string name;
  Tensor data;
};
struct Io {
  std::vector<IoTensor> inputs, outputs;
};

/// DIR/io.json names inputs and outputs with type, dims and file; the data stand beside it.
Result<Io> read_io(const std::string& folder) {
  const std::string path = join_path(folder, "io.json");
  const auto refuse = [&](std::string what) {
    return Diag{.code = 8105,
                .loc = {path, 0, 0},
                .what = std::move(what),
                .fix = "see `tenon compare --help` for the folder's form"};
  };
  DiskFiles disk;
  auto text = disk.read(path);
  if (!text) return text.errors();
  const auto j = nlohmann::json::parse(*text, nullptr, false);
  if (j.is_discarded() || !j.is_object()) return refuse("not JSON");
  Io io;
  for (auto [key, list] : {std::pair{"inputs", &io.inputs}, std::pair{"outputs", &io.outputs}}) {
    if (!j.contains(key) || !j[key].is_array()) return refuse(fmt::format("no list '{}'", key));
    for (const auto& row : j[key]) {
      if (!row.is_object() || !row.contains("name") || !row.contains("file") ||
          !row["name"].is_string() || !row["file"].is_string())
        return refuse(fmt::format("an entry of '{}' without name and file", key));
      const std::string file = row["file"].get<std::string>();
      if (std::filesystem::path(file).has_parent_path())
        return refuse(fmt::format("file '{}' does not stand beside io.json", file));
      const std::string full = join_path(folder, file);
      auto bytes = disk.read(full);
      if (!bytes) return bytes.errors();
      auto t = tensor_from_npy(*bytes, full);
      if (!t) return t.errors();
      list->push_back({row["name"].get<std::string>(), std::move(*t)});
    }
  }
  return io;
}

/// Shapes of all inputs, so that models with open ones compile.
void add_shapes(const Io& io, CompileArgs& a) {
  for (const IoTensor& t : io.inputs) {
    std::string s;
    for (std::int64_t d : t.data.type.shape()) s += (s.empty() ? "" : "x") + std::to_string(d);
    a.shapes.push_back(t.name + "=" + (s.empty() ? "scalar" : s));
  }
}

Result<std::vector<Tensor>> run_compiled(const Compiled& c, const Io& io, std::uint32_t threads) {
  const ScratchFolder scratch;
  const std::string folder = scratch.file("artefact");
  if (Status s = write_artefact(folder, c.compilation->files); !s) return s.errors();
  auto runner = Runner::open(folder, threads, 0);
  if (!runner) return runner.errors();
  std::vector<Tensor> inputs;
  for (const NamedType& want : runner->inputs()) {
    const auto it = std::find_if(io.inputs.begin(), io.inputs.end(),
                                 [&](const IoTensor& t) { return t.name == want.name; });
    if (it == io.inputs.end())
      return Diag{.code = 8104,
                  .loc = {},
                  .what = fmt::format("no data for input '{}'", want.name),
                  .fix = "add it to io.json"};
    inputs.push_back(it->data);
  }
  if (Status s = runner->set(inputs); !s) return s.errors();
  if (Status s = runner->run(); !s) return s.errors();
  auto out = runner->results();
  if (!out) return out.errors();
  std::vector<Tensor> ordered;
  for (const IoTensor& want : io.outputs) {
    std::size_t k = 0;
    while (k < out->size() && runner->outputs()[k].name != want.name) ++k;
    if (k == out->size())
      return Diag{.code = 8104,
                  .loc = {},
                  .what = fmt::format("the model has no output '{}'", want.name),
                  .fix = "correct io.json"};
    ordered.push_back((*out)[k]);
  }
  return ordered;
}

int run(Context& ctx, Args a) {
  auto io = read_io(a.io);
  if (!io) return ctx.report(io.errors());
  add_shapes(*io, a);
  Diags warnings;
  auto compiled = compile_model(ctx, a, {}, &warnings);
  if (!compiled) return ctx.report(compiled.errors());
  ctx.report(warnings);
  auto got = run_compiled(*compiled, *io, a.threads_run);
  if (!got) return ctx.report(got.errors());
  std::vector<std::vector<std::string>> rows{
      {"output", "type", "max abs", "max rel", "rel L2", "outside", "verdict"}};
  nlohmann::ordered_json json{{"rtol", a.rtol}, {"atol", a.atol}, {"rel_l2", a.rel_l2}};
  bool all = true;
  for (std::size_t i = 0; i < io->outputs.size(); ++i) {
    const Tensor& want = io->outputs[i].data;
    const Difference d = difference((*got)[i], want, a.rtol, a.atol);
    const bool ok = d.comparable && (a.rel_l2 > 0 ? d.rel_l2 <= a.rel_l2 : d.outside == 0);
    all = all && ok;
    const std::string verdict = ok             ? "ok"
                                : d.comparable ? "MISMATCH"
                                               : "MISMATCH: got " + to_string((*got)[i].type);
    rows.push_back({io->outputs[i].name, to_string(want.type), fmt::format("{:.3g}", d.max_abs),
                    fmt::format("{:.3g}", d.max_rel), fmt::format("{:.3g}", d.rel_l2),
                    std::to_string(d.outside), verdict});
    json["outputs"].push_back({{"name", io->outputs[i].name},
                               {"max_abs", d.max_abs},
                               {"max_rel", d.max_rel},
                               {"rel_l2", d.rel_l2},
                               {"outside", d.outside},
                               {"ok", ok}});
  }
  json["ok"] = all;
  if (a.json)
    say_json(json);
  else
    say(fmt::format("{}{}\n", table(rows), all ? "all outputs agree" : "outputs differ"));
  return ctx.exit_code = all ? 0 : 1;
}

}  // namespace

void add_compare(CLI::App& app, Context& ctx) {
  auto a = std::make_shared<Args>();
  add_pipeline_options(app, *a);
  app.add_option(
         "--io", a->io,
         "Folder with io.json {inputs: [{name, file}], outputs: [...]} and the .npy files it names")
      ->required();
  app.add_option("--threads", a->threads_run, "Workers of the run")->capture_default_str();
  const CLI::Range tolerance(0.0, 1e300);  // NaN and infinity would judge nothing
  app.add_option("--rtol", a->rtol, "Relative tolerance")->capture_default_str()->check(tolerance);
  app.add_option("--atol", a->atol, "Absolute tolerance")->capture_default_str()->check(tolerance);
  app.add_option("--rel-l2", a->rel_l2, "Judge by the relative L2 distance instead, at most this")
      ->check(tolerance);
  app.add_flag("--json", a->json, "Machine-readable, alone on stdout");
  app.footer("Exit code 1 when an output differs.");
  app.callback([a, &ctx] { run(ctx, *a); });
}

}  // namespace tenon::cli
