// Targets: kernels -> machine code. And the facts that lowering asks for.
#ifndef TENON_TARGET_H
#define TENON_TARGET_H

#include <algorithm>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tenon/ir.h"
#include "tenon/options.h"

namespace tenon {

/// What lowering needs to know of a target; part of the lowering key.
struct TargetFacts {
  std::string id;           ///< name of the target in the board or pipeline: "host"
  std::string with;         ///< implementation: "tenon.llvm"
  std::string triple, cpu;  ///< resolved: never "native"
  std::string features;     ///< sorted, comma-separated: what the artefact requires of the CPU
  std::uint32_t vector_bytes = 16;  ///< widest register: 64 for AVX-512
  std::uint32_t vector_registers = 16;
  bool operator==(const TargetFacts&) const = default;
  /// Is `feature` in the list of features?
  bool has(std::string_view feature) const {
    for (std::string_view rest = features; !rest.empty();) {
      const std::size_t comma = std::min(rest.find(','), rest.size());
      if (rest.substr(0, comma) == feature) return true;
      rest.remove_prefix(std::min(comma + 1, rest.size()));
    }
    return false;
  }
  /// Whether it has an instruction for tir::Kind::dot in its widest vectors.
  bool multiplies_bytes() const { return has("avx512vnni") && vector_bytes >= 64; }
};

using ObjectBytes = std::vector<std::byte>;

struct TargetInfo {
  std::string id;  ///< tenon.llvm
  std::string doc;
  std::vector<OptionRow> options;
  /// Cheap; loads no heavy library where that can be avoided.
  Result<TargetFacts> (*facts)(std::string_view name, const OptionValues&) = nullptr;
  /// One linked object that exports each kernel's symbol. Same input, same bytes, for any
  /// `threads`.
  Result<ObjectBytes> (*compile)(std::span<const tir::Kernel* const>, const TargetFacts&,
                                 unsigned threads) = nullptr;
  /// The same in two steps, where a target has them: an object per kernel, which depends on that
  /// kernel and the facts alone, and all of them linked. Then a model that was changed compiles
  /// only the kernels that are new. Both or neither.
  Result<std::vector<ObjectBytes>> (*objects)(std::span<const tir::Kernel* const>,
                                              const TargetFacts&, unsigned threads) = nullptr;
  Result<ObjectBytes> (*link)(std::span<const ObjectBytes>, const TargetFacts&) = nullptr;
  std::string object_name;  ///< file name in the artefact: "kernels.so"
  /// Names what an object depends on beside kernels and facts: versions of the plugin, of the
  /// compiler behind it. With it objects are kept from one compilation to the next; null: never.
  std::string (*identity)() = nullptr;
};

}  // namespace tenon

#endif
