#include "cpu.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>

namespace tenon::llvm_target {
namespace {

// The x86-64 psABI levels, each with what it adds to the one before, and CPUs by what they add to a
// level. Only features that kernels can use are listed, by LLVM's names, which are also those the
// runtime checks.
constexpr std::string_view v2[] = {"cx16", "popcnt", "sse3", "sse4.1", "sse4.2", "ssse3"};
constexpr std::string_view v3[] = {"avx", "avx2", "bmi", "bmi2", "f16c", "fma", "lzcnt", "movbe"};
constexpr std::string_view v4[] = {"avx512bw", "avx512cd", "avx512dq", "avx512f", "avx512vl"};
constexpr std::string_view beyond[] = {"avx512bf16", "avx512bitalg",    "avx512vbmi", "avx512vbmi2",
                                       "avx512vnni", "avx512vpopcntdq", "gfni"};
constexpr std::string_view vnni[] = {"avx512vnni"};
constexpr std::string_view ice[] = {"avx512bitalg", "avx512vbmi",      "avx512vbmi2",
                                    "avx512vnni",   "avx512vpopcntdq", "gfni"};

struct Cpu {
  std::string_view name;
  int level;
  std::span<const std::string_view> more;
};
constexpr Cpu cpus[] = {
    {"x86-64", 1, {}},          {"x86-64-v2", 2, {}},      {"x86-64-v3", 3, {}},
    {"x86-64-v4", 4, {}},       {"haswell", 3, {}},        {"znver2", 3, {}},
    {"znver3", 3, {}},          {"skylake-avx512", 4, {}}, {"cascadelake", 4, vnni},
    {"icelake-server", 4, ice}, {"znver4", 4, beyond},     {"znver5", 4, beyond},
};

void add(std::vector<std::string>& to, std::span<const std::string_view> from) {
  for (std::string_view f : from) to.emplace_back(f);
}

std::vector<std::string> of_level(int level) {
  std::vector<std::string> out;
  if (level >= 2) add(out, v2);
  if (level >= 3) add(out, v3);
  if (level >= 4) add(out, v4);
  return out;
}

#if defined(__x86_64__)
std::vector<std::string> of_this_machine() {
  std::vector<std::string> out;
  // The builtin needs literals; lzcnt, movbe and cx16 go with AVX2 and SSE4.2 in every CPU made.
  const auto put = [&](bool has, std::string_view name) {
    if (has) out.emplace_back(name);
  };
  __builtin_cpu_init();
  const bool avx2 = __builtin_cpu_supports("avx2"), fma = __builtin_cpu_supports("fma");
  const bool sse42 = __builtin_cpu_supports("sse4.2");
  put(__builtin_cpu_supports("sse3"), "sse3");
  put(__builtin_cpu_supports("ssse3"), "ssse3");
  put(__builtin_cpu_supports("sse4.1"), "sse4.1");
  put(sse42, "sse4.2");
  put(sse42, "cx16");
  put(__builtin_cpu_supports("popcnt"), "popcnt");
  put(__builtin_cpu_supports("avx"), "avx");
  put(avx2, "avx2");
  put(fma, "fma");
  put(avx2 && fma, "f16c");
  put(avx2 && fma, "lzcnt");
  put(avx2 && fma, "movbe");
  put(__builtin_cpu_supports("bmi"), "bmi");
  put(__builtin_cpu_supports("bmi2"), "bmi2");
  put(__builtin_cpu_supports("avx512f"), "avx512f");
  put(__builtin_cpu_supports("avx512bw"), "avx512bw");
  put(__builtin_cpu_supports("avx512cd"), "avx512cd");
  put(__builtin_cpu_supports("avx512dq"), "avx512dq");
  put(__builtin_cpu_supports("avx512vl"), "avx512vl");
  put(__builtin_cpu_supports("avx512bf16"), "avx512bf16");
  put(__builtin_cpu_supports("avx512bitalg"), "avx512bitalg");
  put(__builtin_cpu_supports("avx512vbmi"), "avx512vbmi");
  put(__builtin_cpu_supports("avx512vbmi2"), "avx512vbmi2");
  put(__builtin_cpu_supports("avx512vnni"), "avx512vnni");
  put(__builtin_cpu_supports("avx512vpopcntdq"), "avx512vpopcntdq");
  put(__builtin_cpu_supports("gfni"), "gfni");
  return out;
}
#else
std::vector<std::string> of_this_machine() { return {}; }
#endif

/// The widest level whose features are all in `have` (sorted).
int level_of(const std::vector<std::string>& have) {
  for (int level = 4; level > 1; --level) {
    std::vector<std::string> need = of_level(level);
    std::sort(need.begin(), need.end());
    if (std::includes(have.begin(), have.end(), need.begin(), need.end())) return level;
  }
  return 1;
}

}  // namespace

std::vector<std::string> cpu_names() {
  std::vector<std::string> out;
  for (const Cpu& c : cpus) out.emplace_back(c.name);
  return out;
}

Status resolve_cpu(std::string_view cpu, TargetFacts& facts) {
  std::vector<std::string> have;
  std::string name(cpu);
  if (cpu == "native") {
#if !defined(__x86_64__)
    return Diag{
        .code = 6102,
        .what = "cpu 'native': this machine is not x86-64, which is all that tenon.llvm knows",
        .fix = "use the target tenon.c, or name the cpu of an x86-64 machine"};
#endif
    have = of_this_machine();
    std::sort(have.begin(), have.end());
    name = cpus[level_of(have) - 1].name;
  } else {
    const auto it =
        std::find_if(std::begin(cpus), std::end(cpus), [&](const Cpu& c) { return c.name == cpu; });
    if (it == std::end(cpus)) {
      const std::string near = did_you_mean(cpu, cpu_names());
      return Diag{.code = 6102,
                  .what = fmt::format("unknown cpu '{}'", cpu),
                  .fix = near.empty() ? "use `native` or one of the names listed"
                                      : fmt::format("did you mean '{}'?", near),
                  .notes = {fmt::format("known: native, {}", fmt::join(cpu_names(), ", "))}};
    }
    have = of_level(it->level);
    add(have, it->more);
    std::sort(have.begin(), have.end());
  }
  facts.triple = "x86_64-unknown-linux-gnu";
  facts.cpu = std::move(name);
  facts.features = fmt::format("{}", fmt::join(have, ","));
  const bool avx512 = level_of(have) == 4;
  facts.vector_bytes = avx512 ? 64 : facts.has("avx2") ? 32 : 16;
  facts.vector_registers = avx512 ? 32 : 16;
  return {};
}

}  // namespace tenon::llvm_target
