// tenon run: an artefact, through the C runtime.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <nlohmann/json.hpp>
#include <numeric>

#include "core/cli/cli.h"
#include "core/cli/commands.h"
#include "core/cli/json.h"
#include "core/cli/runner.h"
#include "core/support/files.h"
#include "core/support/npy.h"

namespace tenon::cli {
namespace {

struct Args {
  std::string folder, output;
  std::vector<std::string> inputs, fills;
  std::uint64_t seed = 1;
  std::uint32_t threads = 1, repeat = 1;
  bool poison = false, json = false, profile = false, verify = false;
};

struct Latency {
  double min = 0, median = 0;
};

Result<Latency> measure(Runner& r, std::uint32_t repeat, bool progress_wanted) {
  if (Status s = r.run(); !s) return s.errors();  // warm-up, not counted
  std::vector<double> ms;
  Progress progress(progress_wanted && repeat > 1);
  for (std::uint32_t i = 0; i < repeat; ++i) {
    if (i % 64 == 0) progress.say(fmt::format("run {} of {}", i + 1, repeat));
    const auto t0 = std::chrono::steady_clock::now();
    if (Status s = r.run(); !s) return s.errors();
    ms.push_back(
        std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - t0).count());
  }
  std::sort(ms.begin(), ms.end());
  return Latency{ms.front(), (ms[(ms.size() - 1) / 2] + ms[ms.size() / 2]) / 2};
}

Status write_outputs(const std::string& folder, const std::vector<Tensor>& out) {
  for (std::size_t i = 0; i < out.size(); ++i) {
    auto npy = npy_from_tensor(out[i]);
    if (!npy) return npy.errors();
    if (Status s = DiskFiles().write(join_path(folder, fmt::format("out_{}.npy", i)), *npy); !s)
      return s;
  }
  return {};
}

struct Summary {
  double min = 0, max = 0, mean = 0;
  bool known = false;
};
Summary summary_of(const Tensor& t) {
  if (t.type.dtype != DType::f32 || t.bytes.empty()) return {};
  const auto v = t.as<float>();
  const auto [lo, hi] = std::minmax_element(v.begin(), v.end());
  return {static_cast<double>(*lo), static_cast<double>(*hi),
          std::accumulate(v.begin(), v.end(), 0.0) / static_cast<double>(v.size()), true};
}

void print_profile(const Runner& r) {
  auto steps = r.step_times();
  std::uint64_t total = 0;
  for (const auto& s : steps) total += s.second;
  std::stable_sort(steps.begin(), steps.end(),
                   [](auto& a, auto& b) { return a.second > b.second; });
  std::vector<std::vector<std::string>> rows{{"step", "ms", "share"}};
  for (std::size_t i = 0; i < steps.size() && i < 12; ++i)
    rows.push_back(
        {steps[i].first, fmt::format("{:.3f}", static_cast<double>(steps[i].second) / 1e6),
         fmt::format("{:.1f} %", 100.0 * static_cast<double>(steps[i].second) /
                                     static_cast<double>(std::max<std::uint64_t>(total, 1)))});
  say(fmt::format("where the time went, one run ({} steps):\n{}", steps.size(), table(rows)));
}

int run(Context& ctx, const Args& a) {
  auto files = name_values(a.inputs, "--input");
  if (!files) return ctx.report(files.errors());
  auto fills = name_values(a.fills, "--fill");
  if (!fills) return ctx.report(fills.errors());
  std::uint32_t flags = 0;
  if (a.poison) flags |= TN_POISON | TN_GUARD;
  if (a.profile) flags |= TN_PROFILE;
  auto runner = Runner::open(a.folder, a.threads, flags);
  if (!runner) return ctx.report(runner.errors());
  if (a.verify)
    if (Status s = runner->verify(); !s) return ctx.report(s.errors());
  auto inputs = make_inputs(runner->inputs(), *files, *fills, a.seed);
  if (!inputs) return ctx.report(inputs.errors());
  if (Status s = runner->set(*inputs); !s) return ctx.report(s.errors());
  auto latency = measure(*runner, a.repeat, !a.json);
  if (!latency) return ctx.report(latency.errors());
  auto out = runner->results();
  if (!out) return ctx.report(out.errors());
  if (!a.output.empty())
    if (Status s = write_outputs(a.output, *out); !s) return ctx.report(s.errors());
  if (a.json) {
    nlohmann::ordered_json j{{"artefact", a.folder},
                             {"threads", runner->threads()},
                             {"repeat", a.repeat},
                             {"latency_ms", {{"min", latency->min}, {"median", latency->median}}}};
    auto& list = j["outputs"] = nlohmann::ordered_json::array();
    for (std::size_t i = 0; i < out->size(); ++i)
      list.push_back({{"name", runner->outputs()[i].name},
                      {"type", to_string((*out)[i].type)},
                      {"bytes", (*out)[i].bytes.size()}});
    if (a.profile) {
      auto& steps = j["steps"] = nlohmann::ordered_json::array();
      for (const auto& [name, ns] : runner->step_times())
        steps.push_back({{"name", name}, {"ns", ns}});
    }
    say_json(j);
    return 0;
  }
  for (std::size_t i = 0; i < out->size(); ++i) {
    const Summary s = summary_of((*out)[i]);
    say(fmt::format(
        "{} {}{}\n", runner->outputs()[i].name, to_string((*out)[i].type),
        s.known ? fmt::format("  min {:.6g}  max {:.6g}  mean {:.6g}", s.min, s.max, s.mean) : ""));
  }
  say(fmt::format("latency: min {:.3f} ms, median {:.3f} ms ({} runs, {} thread{})\n", latency->min,
                  latency->median, a.repeat, runner->threads(), runner->threads() == 1 ? "" : "s"));
  if (a.profile) print_profile(*runner);
  return 0;
}

}  // namespace

void add_run(CLI::App& app, Context& ctx) {
  auto a = std::make_shared<Args>();
  app.add_option("DIR", a->folder, "Artefact folder")->required();
  app.add_option("--input", a->inputs, "Data of an input: --input NAME=F.npy; may be repeated");
  app.add_option("--fill", a->fills,
                 "Made data: NAME=uniform:0:1, NAME=randint:0:10 or NAME=const:1 (default: floats "
                 "uniform in [-1, 1), integers 0..9)");
  app.add_option("--seed", a->seed, "Seed of made data")->capture_default_str();
  app.add_option("--output", a->output, "Folder for out_<i>.npy");
  app.add_option("--threads", a->threads, "Workers (0: one per CPU)")
      ->envname("TENON_NUM_THREADS")
      ->capture_default_str();
  app.add_option("--repeat", a->repeat, "Counted runs; one warm-up run comes before them")
      ->check(CLI::Range(1, 1'000'000'000))
      ->capture_default_str();
  app.add_flag("--poison", a->poison, "Fill pools with NaN before each run and guard their ends");
  app.add_flag(
      "--verify", a->verify,
      "Check the constants against their checksums too; program and kernels are always checked");
  app.add_flag("--profile", a->profile, "Show the time of each step");
  app.add_flag("--json", a->json, "Machine-readable, alone on stdout");
  app.footer("Example:\n  tenon run out --input input=cat.npy --output results --threads 2");
  app.callback([a, &ctx] { run(ctx, *a); });
}

}  // namespace tenon::cli
