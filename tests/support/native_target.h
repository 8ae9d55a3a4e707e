// Compiles kernels with the plugin tenon.llvm and calls them, for tests.
#ifndef TENON_TESTS_SUPPORT_NATIVE_TARGET_H
#define TENON_TESTS_SUPPORT_NATIVE_TARGET_H

#include <memory>
#include <string>
#include <vector>

#include "tenon/target.h"

namespace tenon::test {

using KernelFn = std::int32_t (*)(void* const* buf, const std::int64_t* dim, void* worker,
                                  std::int64_t begin, std::int64_t end);

/// tenon.llvm as its plugin registers it.
const TargetInfo& llvm_target();
/// Its facts for a cpu. Fails the test when there are none.
TargetFacts llvm_facts(const std::string& cpu = "native");
/// Can this machine run what was compiled for `f`?
bool runs_here(const TargetFacts& f);

/// The object, or what the target says.
Result<std::vector<std::byte>> compile_object(const std::vector<tir::Kernel>& kernels,
                                              const TargetFacts& facts, unsigned threads = 1);

/// A loaded object.
class NativeKernels {
 public:
  /// Fails the test with the diagnostics when the target refuses.
  static NativeKernels compile(const std::vector<tir::Kernel>& kernels, const TargetFacts& facts,
                               unsigned threads = 1);
  explicit NativeKernels(std::vector<std::byte> object);
  KernelFn operator[](const std::string& symbol) const;
  const std::vector<std::byte>& bytes() const { return bytes_; }

 private:
  std::vector<std::byte> bytes_;
  std::shared_ptr<void> handle_;
};

}  // namespace tenon::test

#endif
