// tenon run: an artefact, through the C runtime.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <nlohmann/json.hpp>
#include <numeric>
#include <optional>

#include "core/cli/cli.h"
#include "core/cli/commands.h"
#include "core/cli/json.h"
#include "core/cli/profile.h"
#include "core/cli/runner.h"
#include "core/support/files.h"
#include "core/support/npy.h"

namespace tenon::cli {
namespace {

using Json = nlohmann::ordered_json;

struct Args {
  std::string folder, output;
  std::vector<std::string> inputs, fills;
  std::uint64_t seed = 1;
  std::uint32_t threads = 1, repeat = 1;
  std::string profile_file;
  CLI::Option* profile_option = nullptr;
  bool poison = false, json = false, verify = false, dynamic = false;
  bool profile() const { return profile_option->count() > 0; }
};

using Clock = std::chrono::steady_clock;

double ms_since(Clock::time_point start) {
  return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
}

struct Latency {
  double first = 0, min = 0, median = 0;  // ms; the first run warms up and is not one of the others
};

Result<Latency> measure(Runner& r, std::uint32_t repeat, bool progress_wanted, Profile* profile) {
  const auto start = Clock::now();
  if (Status s = r.run(); !s) return s.errors();
  const double first = ms_since(start);
  std::vector<double> ms;
  Progress progress(progress_wanted && repeat > 1);
  for (std::uint32_t i = 0; i < repeat; ++i) {
    if (i % 64 == 0) progress.say(fmt::format("run {} of {}", i + 1, repeat));
    const auto t0 = Clock::now();
    if (Status s = r.run(); !s) return s.errors();
    ms.push_back(ms_since(t0));
    if (profile) profile->add(r);
  }
  std::sort(ms.begin(), ms.end());
  return Latency{first, ms.front(), (ms[(ms.size() - 1) / 2] + ms[ms.size() / 2]) / 2};
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

/// `--profile F`: as a trace when F ends so, else as JSON.
Status write_profile(const std::string& file, const Profile& p, const std::string& model) {
  const auto j = file.ends_with(".trace.json") ? p.trace(model) : p.json();
  return DiskFiles().write(file, j.dump(1, ' ', false, Json::error_handler_t::replace) + "\n");
}

int run(Context& ctx, const Args& a) {
  auto fills = name_values(a.fills, "--fill");
  if (!fills) return ctx.report(fills.errors());
  std::uint32_t flags = 0;
  if (a.poison) flags |= TN_POISON | TN_GUARD;
  if (a.profile()) flags |= TN_PROFILE;
  if (a.dynamic) flags |= TN_DYNAMIC;
  const auto start = Clock::now();
  auto runner = Runner::open(a.folder, a.threads, flags);
  if (!runner) return ctx.report(runner.errors());
  const double load = ms_since(start);
  if (a.verify)
    if (Status s = runner->verify(); !s) return ctx.report(s.errors());
  auto files = input_files(a.inputs, runner->inputs());
  if (!files) return ctx.report(files.errors());
  auto inputs = make_inputs(runner->inputs(), *files, *fills, a.seed);
  if (!inputs) return ctx.report(inputs.errors());
  if (Status s = runner->set(*inputs); !s) return ctx.report(s.errors());
  std::optional<Profile> profile;
  if (a.profile()) profile.emplace(*runner, a.folder);
  auto latency = measure(*runner, a.repeat, !a.json, profile ? &*profile : nullptr);
  if (!latency) return ctx.report(latency.errors());
  auto out = runner->results();
  if (!out) return ctx.report(out.errors());
  if (!a.output.empty())
    if (Status s = write_outputs(a.output, *out); !s) return ctx.report(s.errors());
  if (!a.profile_file.empty())
    if (Status s = write_profile(a.profile_file, *profile, a.folder); !s)
      return ctx.report(s.errors());
  if (a.json) {
    Json j{{"artefact", a.folder},
           {"threads", runner->threads()},
           {"repeat", a.repeat},
           {"load_ms", load},
           {"first_run_ms", latency->first},
           {"latency_ms", {{"min", latency->min}, {"median", latency->median}}}};
    auto& list = j["outputs"] = Json::array();
    for (std::size_t i = 0; i < out->size(); ++i)
      list.push_back({{"name", runner->outputs()[i].name},
                      {"type", to_string((*out)[i].type)},
                      {"bytes", (*out)[i].bytes.size()}});
    if (profile) j["steps"] = profile->json();
    say_json(j);
    return 0;
  }
  for (std::size_t i = 0; i < out->size(); ++i) {
    const Summary s = summary_of((*out)[i]);
    say(fmt::format(
        "{} {}{}\n", runner->outputs()[i].name, to_string((*out)[i].type),
        s.known ? fmt::format("  min {:.6g}  max {:.6g}  mean {:.6g}", s.min, s.max, s.mean) : ""));
  }
  say(fmt::format("load: {:.3f} ms, first run: {:.3f} ms\n", load, latency->first));
  say(fmt::format("latency: min {:.3f} ms, median {:.3f} ms ({} runs, {} thread{})\n", latency->min,
                  latency->median, a.repeat, runner->threads(), runner->threads() == 1 ? "" : "s"));
  if (profile) say(profile->table(12));
  return 0;
}

}  // namespace

void add_run(CLI::App& app, Context& ctx) {
  auto a = std::make_shared<Args>();
  app.add_option("DIR", a->folder, "Artefact folder")->required();
  app.add_option("--input", a->inputs, input_help);
  app.add_option("--fill", a->fills,
                 "Made data: NAME=uniform:0:1, NAME=randint:0:10 or NAME=const:1 (default: floats "
                 "uniform in [-1, 1), integers 0..9)");
  app.add_option("--seed", a->seed, "Seed of made data")->capture_default_str();
  app.add_option("--output", a->output, "Folder for out_<i>.npy");
  app.add_option("--threads", a->threads, "Workers (0: one per CPU)")
      ->envname("TENON_NUM_THREADS")
      ->capture_default_str();
  app.add_flag("--dynamic", a->dynamic,
               "Workers take parts of a step as they become free: where others use the CPUs too");
  app.add_option("--repeat", a->repeat, "Counted runs; one warm-up run comes before them")
      ->check(CLI::Range(1, 1'000'000'000))
      ->capture_default_str();
  app.add_flag("--poison", a->poison, "Fill pools with NaN before each run and guard their ends");
  app.add_flag(
      "--verify", a->verify,
      "Check the constants against their checksums too; program and kernels are always checked");
  a->profile_option =
      app.add_option("--profile", a->profile_file,
                     "Show the time of each step; with a file: all of it there, as JSON or, where "
                     "the name ends in .trace.json, for chrome://tracing and Perfetto")
          ->expected(0, 1);
  app.add_flag("--json", a->json, "Machine-readable, alone on stdout");
  app.footer("Example:\n  tenon run out --input input=cat.npy --output results --threads 2");
  app.callback([a, &ctx] { run(ctx, *a); });
}

}  // namespace tenon::cli
