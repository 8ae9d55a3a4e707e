// Passes: IR -> IR, one file each. A pass never crashes on verified IR: it does its work, does
// nothing, or says why not.
#ifndef TENON_PASS_H
#define TENON_PASS_H

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tenon/diag.h"
#include "tenon/ir.h"
#include "tenon/options.h"

namespace tenon {

struct TargetFacts;

/// What a pass may ask of its host.
class PassContext {
 public:
  virtual ~PassContext() = default;
  virtual const OptionValues& options() const = 0;
  /// A warning or remark for the user; does not stop the pipeline.
  virtual void report(Diag d) = 0;
  /// A count for --timing and --print-after, e.g. count("folded", 12).
  virtual void count(std::string name, std::int64_t n) = 0;
  /// How many threads a pass may keep busy. What it does never depends on it.
  virtual unsigned threads() const { return 1; }
  /// Bytes that every plan of `m` needs at least, all pools together, in the memory that the
  /// pipeline configures: for passes that change what is live when. Nothing where that is not
  /// known: before `lower`, or without a pipeline.
  virtual std::optional<std::uint64_t> memory_bound(const Module&) const { return std::nullopt; }
  /// Facts of the target that the pipeline lowers for when nothing else is said; null where none is
  /// known: without a pipeline.
  virtual const TargetFacts* target() const { return nullptr; }
};

/// Facts are named properties of a module. Core facts are predicates recomputed on the module,
/// never stored claims:
///   shapes-static     every type of every graph function is static
///   primitives-only   every computing node of `main` stands in a primitive
///   kernels-lowered   `main` consists of structural nodes and call_kernel only
///   memory-planned    the module has a plan whose request hash is that of the module
/// Other names are facts that a pass `gives` and later ones may need; they hold until a pass
/// `destroys` them.
struct PassInfo {
  std::string
      id;  ///< tenon.fuse-ops; file passes/fuse_ops.cpp; YAML key fuse-ops; tests/golden/fuse-ops/
  std::string doc;  ///< one sentence
  std::vector<std::string> needs, gives, destroys;
  std::vector<OptionRow> options;
  Status (*run)(Module&, PassContext&) = nullptr;
};

}  // namespace tenon

#endif
