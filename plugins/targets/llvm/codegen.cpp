#include "codegen.h"

#include <fmt/format.h>
#include <llvm/IR/DiagnosticInfo.h>
#include <llvm/IR/DiagnosticPrinter.h>
#include <llvm/IR/LegacyPassManager.h>
#include <llvm/IR/Verifier.h>
#include <llvm/MC/TargetRegistry.h>
#include <llvm/Passes/PassBuilder.h>
#include <llvm/Support/TargetSelect.h>
#include <llvm/Transforms/InstCombine/InstCombine.h>
#include <llvm/Transforms/Scalar/EarlyCSE.h>
#include <llvm/Transforms/Scalar/SROA.h>
#include <llvm/Transforms/Scalar/SimplifyCFG.h>

#include <cstring>
#include <mutex>

namespace tenon::llvm_target {
namespace {

void initialise_once() {
  static std::once_flag once;
  std::call_once(once, [] {
    LLVMInitializeX86TargetInfo();
    LLVMInitializeX86Target();
    LLVMInitializeX86TargetMC();
    LLVMInitializeX86AsmPrinter();
  });
}

/// O3's speed at a quarter of its time: the vectors are already there, and unrolling would hurt
/// them.
void optimise(llvm::Module& m, llvm::TargetMachine& machine) {
  llvm::LoopAnalysisManager lam;
  llvm::FunctionAnalysisManager fam;
  llvm::CGSCCAnalysisManager cgam;
  llvm::ModuleAnalysisManager mam;
  llvm::PassBuilder builder(&machine);
  builder.registerModuleAnalyses(mam);
  builder.registerCGSCCAnalyses(cgam);
  builder.registerFunctionAnalyses(fam);
  builder.registerLoopAnalyses(lam);
  builder.crossRegisterProxies(lam, fam, cgam, mam);
  llvm::FunctionPassManager passes;
  passes.addPass(llvm::SROAPass(llvm::SROAOptions::ModifyCFG));
  passes.addPass(llvm::EarlyCSEPass(true));
  passes.addPass(llvm::InstCombinePass(llvm::InstCombineOptions().setVerifyFixpoint(false)));
  passes.addPass(llvm::SimplifyCFGPass());
  for (llvm::Function& f : m)
    if (!f.isDeclaration()) passes.run(f, fam);
}

/// Keeps the first error that LLVM reports, instead of printing it and exiting.
struct FirstError : llvm::DiagnosticHandler {
  explicit FirstError(std::string& where) : to(where) {}
  bool handleDiagnostics(const llvm::DiagnosticInfo& d) override {
    if (d.getSeverity() == llvm::DS_Error && to.empty()) {
      llvm::raw_string_ostream os(to);
      llvm::DiagnosticPrinterRawOStream printer(os);
      d.print(printer);
    }
    return true;
  }
  std::string& to;
};

}  // namespace

Result<std::unique_ptr<llvm::TargetMachine>> make_machine(const TargetFacts& facts) {
  initialise_once();
  std::string why;
  const llvm::Target* target = llvm::TargetRegistry::lookupTarget(facts.triple, why);
  if (!target)
    return Diag{.code = 6104,
                .what = fmt::format("LLVM has no target '{}': {}", facts.triple, why)};
  llvm::TargetOptions options;
  options.AllowFPOpFusion =
      llvm::FPOpFusion::Strict;  // a * b + c is rounded twice unless the kernel says fma
  return std::unique_ptr<llvm::TargetMachine>(
      target->createTargetMachine(facts.triple, "x86-64", "", options, llvm::Reloc::PIC_,
                                  llvm::CodeModel::Small, llvm::CodeGenOptLevel::Default));
}

Result<ObjectBytes> compile_module(llvm::Module& m, llvm::TargetMachine& machine) {
  std::string error;
  m.getContext().setDiagnosticHandler(std::make_unique<FirstError>(error));
  m.setTargetTriple(machine.getTargetTriple().str());
  m.setDataLayout(machine.createDataLayout());
  m.setPICLevel(llvm::PICLevel::BigPIC);
  llvm::raw_string_ostream os(error);
  if (llvm::verifyModule(m, &os))
    return Diag{.code = 9061,
                .what = fmt::format("kernel '{}' became broken LLVM IR: {}",
                                    m.getModuleIdentifier(), error),
                .fix = "this is a bug of tenon.llvm: please report it with the kernel's text"};
  optimise(m, machine);
  llvm::SmallVector<char, 0> out;
  llvm::raw_svector_ostream stream(out);
  llvm::legacy::PassManager emit;
  if (machine.addPassesToEmitFile(emit, stream, nullptr, llvm::CodeGenFileType::ObjectFile))
    return Diag{
        .code = 6104,
        .what = fmt::format("LLVM cannot write objects for '{}'", machine.getTargetTriple().str())};
  emit.run(m);
  if (!error.empty())
    return Diag{
        .code = 6103,
        .what = fmt::format("LLVM cannot compile kernel '{}': {}", m.getModuleIdentifier(), error),
        .fix = "choose another `cpu`, and report it with the kernel (`--print-after lower`)"};
  ObjectBytes bytes(out.size());
  std::memcpy(bytes.data(), out.data(), out.size());
  return bytes;
}

}  // namespace tenon::llvm_target
