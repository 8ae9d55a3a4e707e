// The thin half of tenon.llvm: what it is and what it needs to know of a CPU. LLVM is loaded at the
// first compile.
#include "tenon/plugin.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include "cpu.h"
#include "impl.h"

namespace {

namespace target = tenon::llvm_target;

struct LlvmOptions {
  std::string cpu = "native";
  static constexpr auto fields() {
    return std::tuple{tenon::Field{
        "cpu", &LlvmOptions::cpu,
        "CPU to compile for: `native`, an x86-64 level (`x86-64-v3`), or a name (`znver5`)"}};
  }
};

tenon::Result<tenon::TargetFacts> facts(std::string_view name, const tenon::OptionValues& values) {
  tenon::TargetFacts f;
  f.id = name;
  f.with = "tenon.llvm";
  tenon::Status s = target::resolve_cpu(tenon::read_options<LlvmOptions>(values).cpu, f);
  if (s) return f;
  tenon::Diags errors = s.errors();
  for (const tenon::OptionValue& o : values)
    if (o.key == "cpu")
      for (tenon::Diag& d : errors) d.loc = o.loc;
  return errors;
}

/// The folder that holds this plugin.
std::string own_folder() {
  Dl_info info{};
  if (!dladdr(reinterpret_cast<void*>(&facts), &info) || !info.dli_fname) return ".";
  const std::string path = info.dli_fname;
  const auto slash = path.rfind('/');
  return slash == path.npos ? "." : path.substr(0, slash);
}

tenon::Result<std::vector<std::byte>> compile(std::span<const tenon::tir::Kernel* const> kernels,
                                              const tenon::TargetFacts& f, unsigned threads) {
  const std::string path = own_folder() + "/llvm/tenon-llvm-impl.so";
  // Never closed; a second dlopen of the same file is cheap.
  void* impl = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  void* entry = impl ? dlsym(impl, "tenon_llvm_impl") : nullptr;
  if (!entry) {
    const char* why = dlerror();
    return tenon::Diag{.code = 6101,
                       .what = fmt::format("cannot load the LLVM half of tenon.llvm, {}: {}", path,
                                           why ? why : "?"),
                       .fix = "install LLVM 19 (libllvm19), or use the target tenon.c"};
  }
  return reinterpret_cast<decltype(&tenon_llvm_impl)>(entry)()(kernels, f, threads);
}

void describe(tenon::Registration& r) {
  r.add(tenon::TargetInfo{
      .id = "tenon.llvm",
      .doc = "Kernels to x86-64 machine code with LLVM, linked to one shared object.",
      .options = tenon::option_rows<LlvmOptions>(),
      .facts = facts,
      .compile = compile,
      .object_name = "kernels.so"});
}

}  // namespace

TENON_PLUGIN("tenon.llvm", "0.1.0", "target tenon.llvm: x86-64 through LLVM 19", describe,
             TN_KIND_TARGET);
