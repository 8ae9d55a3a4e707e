// Kernels of the lowering tenon.te, compiled by tenon.llvm for this machine, and storage to call
// them with: what the benchmarks of kernels share.
#ifndef TENON_TESTS_BENCH_KERNELS_H
#define TENON_TESTS_BENCH_KERNELS_H

#include <cstdint>
#include <string>
#include <vector>

#include "tenon/kernel.h"
#include "tenon/te.h"

namespace tenon::bench {

struct Layer {
  std::string name;
  te::Compute compute;
  double flop;
};

using KernelFn = std::int32_t (*)(void* const*, const std::int64_t*, void*, std::int64_t,
                                  std::int64_t);

struct Built {
  tir::Kernel kernel;
  KernelFn call = nullptr;
  std::string loops;  ///< family and loops of the last stage
};

/// Ends the process with a message when a layer is refused. The object is written to `dump` unless
/// that is null.
std::vector<Built> build(const std::vector<Layer>& layers, const char* dump);

/// Numbers to compute with: none denormal, none large.
void fill(float* to, std::size_t n);

/// Storage of one call, aligned to cache lines.
struct Arena {
  std::vector<void*> buffers;
  void* worker = nullptr;
  explicit Arena(const tir::Kernel& k);
  Arena(const Arena&) = delete;
  ~Arena();
};

}  // namespace tenon::bench

#endif
