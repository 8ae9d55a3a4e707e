#include "impl.h"

#include <fmt/format.h>
#include <llvm/IR/LLVMContext.h>

#include <atomic>
#include <optional>
#include <set>
#include <thread>

#include "codegen.h"
#include "emit.h"

namespace tenon::llvm_target {
namespace {

/// One object per kernel, in a context of its own: what it becomes depends on nothing else.
Result<ObjectBytes> compile_kernel(const tir::Kernel& k, const TargetFacts& facts,
                                   llvm::TargetMachine& machine) {
  if (std::string why = refuse(k, facts); !why.empty())
    return Diag{
        .code = 6103,
        .what = fmt::format("target '{}' cannot compile kernel '{}': {}", facts.id, k.symbol, why),
        .fix = fmt::format("where the cpu lacks something, choose one that has it "
                           "(`targets.{}.cpu`); else report it to the lowering's author with the "
                           "kernel (`--print-after lower`)",
                           facts.id)};
  llvm::LLVMContext context;
  const std::unique_ptr<llvm::Module> m = emit(k, facts, context);
  return compile_module(*m, machine);
}

Result<std::vector<ObjectBytes>> compile_all(std::span<const tir::Kernel* const> kernels,
                                             const TargetFacts& facts, unsigned threads) {
  std::vector<ObjectBytes> objects(kernels.size());
  std::vector<Diags> errors(kernels.size());
  std::atomic<std::size_t> next{0};
  const auto work = [&] {
    auto machine = make_machine(facts);
    for (std::size_t i = next++; i < kernels.size(); i = next++) {
      if (!machine) {
        errors[i] = machine.errors();
        continue;
      }
      Result<ObjectBytes> r = compile_kernel(*kernels[i], facts, **machine);
      if (r)
        objects[i] = std::move(*r);
      else
        errors[i] = r.errors();
    }
  };
  const std::size_t n = std::min<std::size_t>(std::max(threads, 1u), kernels.size());
  std::vector<std::jthread> helpers;
  for (std::size_t t = 1; t < n; ++t) helpers.emplace_back(work);
  work();
  helpers.clear();  // joins
  Diags all;
  for (Diags& d : errors) all.insert(all.end(), d.begin(), d.end());
  if (!all.empty()) return all;
  return objects;
}

Result<std::vector<ObjectBytes>> objects_of(std::span<const tir::Kernel* const> kernels,
                                            const TargetFacts& facts, unsigned threads) {
  std::set<std::string_view> symbols;
  for (const tir::Kernel* k : kernels)
    if (!symbols.insert(k->symbol).second)
      return Diag{.code = 6103,
                  .what = fmt::format("two kernels have the symbol '{}'", k->symbol),
                  .fix =
                      "report it to the lowering's author with the kernels (`--print-after "
                      "lower`)"};
  return compile_all(kernels, facts, threads);
}

Result<ObjectBytes> link(std::span<const ObjectBytes> objects, const TargetFacts& facts) {
  if (!objects.empty()) return link_shared(objects, "kernels.so");
  // An empty artefact still has its object; LLD wants some input.
  auto machine = make_machine(facts);
  if (!machine) return machine.errors();
  llvm::LLVMContext context;
  llvm::Module none("none", context);
  auto o = compile_module(none, **machine);
  if (!o) return o.errors();
  return link_shared(std::span(&*o, 1), "kernels.so");
}

}  // namespace
}  // namespace tenon::llvm_target

extern "C" tenon::llvm_target::Implementation tenon_llvm_impl() {
  return {&tenon::llvm_target::objects_of, &tenon::llvm_target::link};
}
