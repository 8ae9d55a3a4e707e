#include "tests/support/native_target.h"

#include <dlfcn.h>
#include <doctest/doctest.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tests/support/registration.h"

namespace tenon::test {

const TargetInfo& llvm_target() {
  static const TargetInfo info = registration_of("tenon-llvm.so").targets.at(0);
  return info;
}

TargetFacts llvm_facts(const std::string& cpu) {
  const auto f = llvm_target().facts("host", {OptionValue{.key = "cpu", .items = {cpu}}});
  REQUIRE(f);
  return *f;
}

bool runs_here(const TargetFacts& f) {
  const std::string have = "," + llvm_facts().features + ",";
  for (std::size_t at = 0; at < f.features.size();) {
    const std::size_t comma = std::min(f.features.find(',', at), f.features.size());
    if (have.find("," + f.features.substr(at, comma - at) + ",") == have.npos) return false;
    at = comma + 1;
  }
  return true;
}

Result<std::vector<std::byte>> compile_object(const std::vector<tir::Kernel>& kernels,
                                              const TargetFacts& facts, unsigned threads) {
  std::vector<const tir::Kernel*> list;
  for (const tir::Kernel& k : kernels) list.push_back(&k);
  return llvm_target().compile(list, facts, threads);
}

NativeKernels NativeKernels::compile(const std::vector<tir::Kernel>& kernels,
                                     const TargetFacts& facts, unsigned threads) {
  auto object = compile_object(kernels, facts, threads);
  if (!object)
    for (const Diag& d : object.errors()) MESSAGE(d.what);
  REQUIRE(object);
  return NativeKernels(std::move(*object));
}

NativeKernels::NativeKernels(std::vector<std::byte> object) : bytes_(std::move(object)) {
  const int fd = memfd_create("kernels", 0);
  REQUIRE(fd >= 0);
  REQUIRE(write(fd, bytes_.data(), bytes_.size()) == static_cast<ssize_t>(bytes_.size()));
  void* h = dlopen(fmt::format("/proc/self/fd/{}", fd).c_str(), RTLD_NOW | RTLD_LOCAL);
  REQUIRE_MESSAGE(h != nullptr, dlerror());
  handle_ = std::shared_ptr<void>(h, [](void* p) { dlclose(p); });
  close(fd);
}

KernelFn NativeKernels::operator[](const std::string& symbol) const {
  auto* fn = reinterpret_cast<KernelFn>(dlsym(handle_.get(), symbol.c_str()));
  REQUIRE_MESSAGE(bool(fn), symbol);
  return fn;
}

}  // namespace tenon::test
