// tenon.c: kernels as C11, one function each, for whichever compiler the device has.
#include "tenon/plugin.h"

#include <fmt/format.h>

#include <cstring>
#include <set>

#include "cpu.h"
#include "emit.h"
#include "tenon/vector_options.h"

namespace {

namespace target = tenon::c_target;

struct COptions {
  std::string cpu = "generic";
  std::int64_t vector_bytes = 0;
  std::int64_t vector_registers = 0;
  static constexpr auto fields() {
    return std::tuple{
        tenon::Field{"cpu", &COptions::cpu,
                     "CPU that the code is for: generic, cortex-m4, cortex-m7, cortex-m33, x86-64, "
                     "x86-64-v3"},
        tenon::Field{"vector_bytes",
                     &COptions::vector_bytes,
                     tenon::vector_bytes_doc,
                     {.min = 0, .max = 64}},
        tenon::Field{"vector_registers",
                     &COptions::vector_registers,
                     tenon::vector_registers_doc,
                     {.min = 0, .max = 64}}};
  }
};

tenon::Result<tenon::TargetFacts> facts(std::string_view name, const tenon::OptionValues& values) {
  const COptions options = tenon::read_options<COptions>(values);
  tenon::TargetFacts f;
  f.id = name;
  f.with = "tenon.c";
  tenon::Status s = target::resolve_cpu(options.cpu, f);
  if (s) s = tenon::apply_vector_options(options.vector_bytes, options.vector_registers, values, f);
  if (s) return f;
  tenon::Diags errors = s.errors();
  for (tenon::Diag& d : errors)
    if (d.loc == tenon::Loc{}) d.loc = tenon::place_of(values, "cpu");
  return errors;
}

tenon::Status check(std::span<const tenon::tir::Kernel* const> kernels,
                    const tenon::TargetFacts& f) {
  tenon::Diags errors;
  std::set<std::string_view> symbols;
  for (const tenon::tir::Kernel* k : kernels) {
    std::string why = target::refuse(*k);
    if (why.empty() && !symbols.insert(k->symbol).second)
      why = "another kernel has the same symbol";
    if (!why.empty())
      errors.push_back(
          {.code = 6103,
           .what = fmt::format("target '{}' cannot compile kernel '{}': {}", f.id, k->symbol, why),
           .fix = "report it to the lowering's author with the kernel (`--print-after "
                  "lower`)"});
  }
  return errors;
}

tenon::Result<std::vector<std::byte>> compile(std::span<const tenon::tir::Kernel* const> kernels,
                                              const tenon::TargetFacts& f, unsigned) {
  if (tenon::Status s = check(kernels, f); !s) return s.errors();
  target::Helpers helpers;
  std::string functions;
  for (const tenon::tir::Kernel* k : kernels) functions += "\n" + target::emit(*k, helpers);
  const std::string_view flags = target::compiler_flags(f.cpu);
  const std::string text = fmt::format("/* Kernels for {}{}{}. Made by Tenon, target tenon.c. */\n",
                                       f.cpu, flags.empty() ? "" : ", compiled with ", flags) +
                           std::string(target::prelude()) + helpers.text() + functions;
  std::vector<std::byte> out(text.size());
  std::memcpy(out.data(), text.data(), text.size());
  return out;
}

void describe(tenon::Registration& r) {
  r.add(tenon::TargetInfo{.id = "tenon.c",
                          .doc = "Kernels as C11, for any CPU that has a C compiler.",
                          .options = tenon::option_rows<COptions>(),
                          .facts = facts,
                          .compile = compile,
                          .object_name = "kernels.c"});
}

}  // namespace

TENON_PLUGIN("tenon.c", "0.1.0", "target tenon.c: kernels as C11", describe, TN_KIND_TARGET);
