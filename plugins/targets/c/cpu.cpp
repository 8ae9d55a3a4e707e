#include "cpu.h"

#include <fmt/format.h>

#include <algorithm>

namespace tenon::c_target {
namespace {

struct Cpu {
  std::string_view name, triple;
  std::uint32_t vector_bytes, registers;  // 4: one lane of f32
  std::string_view flags;
};
constexpr std::string_view hard = "thumbv7em-none-eabihf";
constexpr Cpu cpus[] = {
    {"generic", "unknown", 4, 16, ""},
    {"cortex-m4", hard, 4, 32, "-mcpu=cortex-m4 -mthumb -mfpu=fpv4-sp-d16 -mfloat-abi=hard"},
    {"cortex-m7", hard, 4, 32, "-mcpu=cortex-m7 -mthumb -mfpu=fpv5-d16 -mfloat-abi=hard"},
    {"cortex-m33", "thumbv8m.main-none-eabihf", 4, 32,
     "-mcpu=cortex-m33 -mthumb -mfpu=fpv5-sp-d16 -mfloat-abi=hard"},
    {"x86-64", "x86_64-unknown-linux-gnu", 16, 16, "-march=x86-64"},
    {"x86-64-v3", "x86_64-unknown-linux-gnu", 32, 16, "-march=x86-64-v3"},
};

const Cpu* find(std::string_view name) {
  const auto it =
      std::find_if(std::begin(cpus), std::end(cpus), [&](const Cpu& c) { return c.name == name; });
  return it == std::end(cpus) ? nullptr : it;
}

}  // namespace

Status resolve_cpu(std::string_view cpu, TargetFacts& facts) {
  const Cpu* c = find(cpu);
  if (!c) {
    std::vector<std::string> known;
    for (const Cpu& row : cpus) known.emplace_back(row.name);
    const std::string near = did_you_mean(cpu, known);
    return Diag{.code = 6102,
                .what = fmt::format("unknown cpu '{}'", cpu),
                .fix = near.empty() ? "use `generic` or one of the names listed"
                                    : fmt::format("did you mean '{}'?", near),
                .notes = {fmt::format("known: {}", fmt::join(known, ", "))}};
  }
  facts.triple = c->triple;
  facts.cpu = c->name;
  facts.vector_bytes = c->vector_bytes;
  facts.vector_registers = c->registers;
  return {};
}

std::string_view compiler_flags(std::string_view cpu) {
  const Cpu* c = find(cpu);
  return c ? c->flags : "";
}

}  // namespace tenon::c_target
