// The thin half of tenon.llvm: what it is and what it needs to know of a CPU. LLVM is loaded at the
// first compile.
#include "tenon/plugin.h"

#include "cpu.h"
#include "impl.h"
#include "tenon/implementation.h"
#include "tenon/vector_options.h"

namespace {

namespace target = tenon::llvm_target;

struct LlvmOptions {
  std::string cpu = "native";
  std::int64_t vector_bytes = 0;
  std::int64_t vector_registers = 0;
  static constexpr auto fields() {
    return std::tuple{
        tenon::Field{
            "cpu", &LlvmOptions::cpu,
            "CPU to compile for: `native`, an x86-64 level (`x86-64-v3`), or a name (`znver5`)"},
        tenon::Field{"vector_bytes",
                     &LlvmOptions::vector_bytes,
                     tenon::vector_bytes_doc,
                     {.min = 0, .max = 64}},
        tenon::Field{"vector_registers",
                     &LlvmOptions::vector_registers,
                     tenon::vector_registers_doc,
                     {.min = 0, .max = 64}}};
  }
};

tenon::Result<tenon::TargetFacts> facts(std::string_view name, const tenon::OptionValues& values) {
  tenon::TargetFacts f;
  f.id = name;
  f.with = "tenon.llvm";
  const LlvmOptions options = tenon::read_options<LlvmOptions>(values);
  tenon::Status s = target::resolve_cpu(options.cpu, f);
  if (s) s = tenon::apply_vector_options(options.vector_bytes, options.vector_registers, values, f);
  if (s) return f;
  tenon::Diags errors = s.errors();
  for (tenon::Diag& d : errors)
    if (d.loc == tenon::Loc{}) d.loc = tenon::place_of(values, "cpu");
  return errors;
}

constexpr std::string_view implementation = "llvm/tenon-llvm-impl.so";

std::string identity() {
  return "llvm 19 " +
         tenon::implementation_identity(reinterpret_cast<const void*>(&facts), implementation);
}

tenon::Result<target::Implementation> llvm() {
  auto entry = tenon::load_implementation(reinterpret_cast<const void*>(&facts), implementation,
                                          "tenon_llvm_impl", "install LLVM 19 (libllvm19)");
  if (!entry) return entry.errors();
  return reinterpret_cast<decltype(&tenon_llvm_impl)>(*entry)();
}

tenon::Result<std::vector<tenon::ObjectBytes>> objects(
    std::span<const tenon::tir::Kernel* const> kernels, const tenon::TargetFacts& f,
    unsigned threads) {
  const auto impl = llvm();
  if (!impl) return impl.errors();
  return impl->objects(kernels, f, threads);
}

tenon::Result<tenon::ObjectBytes> link(std::span<const tenon::ObjectBytes> objects,
                                       const tenon::TargetFacts& f) {
  const auto impl = llvm();
  if (!impl) return impl.errors();
  return impl->link(objects, f);
}

tenon::Result<tenon::ObjectBytes> compile(std::span<const tenon::tir::Kernel* const> kernels,
                                          const tenon::TargetFacts& f, unsigned threads) {
  const auto made = objects(kernels, f, threads);
  if (!made) return made.errors();
  return link(*made, f);
}

void describe(tenon::Registration& r) {
  r.add(tenon::TargetInfo{
      .id = "tenon.llvm",
      .doc = "Kernels to x86-64 machine code with LLVM, linked to one shared object.",
      .options = tenon::option_rows<LlvmOptions>(),
      .facts = facts,
      .compile = compile,
      .objects = objects,
      .link = link,
      .object_name = "kernels.so",
      .identity = identity});
}

}  // namespace

TENON_PLUGIN("tenon.llvm", "0.1.0", "target tenon.llvm: x86-64 through LLVM 19", describe,
             TN_KIND_TARGET);
