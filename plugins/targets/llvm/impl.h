// The door between the thin plugin (descriptor, options, facts) and tenon-llvm-impl.so, which links
// LLVM and LLD and is loaded at the first compile. Both are built together; this is no public
// interface.
#ifndef TENON_PLUGINS_TARGETS_LLVM_IMPL_H
#define TENON_PLUGINS_TARGETS_LLVM_IMPL_H

#include <cstddef>
#include <span>
#include <vector>

#include "tenon/c/descriptor.h"
#include "tenon/target.h"

namespace tenon::llvm_target {

struct Implementation {
  Result<std::vector<ObjectBytes>> (*objects)(std::span<const tir::Kernel* const>,
                                              const TargetFacts&, unsigned threads);
  Result<ObjectBytes> (*link)(std::span<const ObjectBytes>, const TargetFacts&);
};

}  // namespace tenon::llvm_target

/// The one symbol that the implementation exports.
extern "C" TN_EXPORT tenon::llvm_target::Implementation tenon_llvm_impl();

#endif
