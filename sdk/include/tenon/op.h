// Ops are data: name, meaning, attributes, type rule, traits, compute description. Parser, printer,
// verifier, docs, fuzzer, frontends and lowerings read this table; none of them lists op names.
//
// An op that consists only of a type rule and a compute description compiles to vector code.
#ifndef TENON_OP_H
#define TENON_OP_H

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "tenon/ir.h"

namespace tenon {

enum class AttrKind : std::uint8_t {
  boolean,
  integer,
  real,
  string,
  ints,
  reals,
  strings,
  dtype,
  type,
  constant
};

struct AttrSpec {
  std::string name;
  AttrKind kind = AttrKind::integer;
  std::string doc;
  std::optional<AttrValue> dflt;  ///< absent = required
};

/// How fusion may treat an op; from easiest to hardest to fuse.
enum class FusionKind : std::uint8_t {
  elementwise,  // out[i] depends on in[i] only
  broadcast,    // as elementwise, with operands of fewer or one-sized axes
  injective,    // out[i] = one element of the operands, at an index computed from i (transpose,
                // slice, pad, concat)
  reduction,    // folds axes (sum, max, softmax as several stages)
  anchor,       // contraction or window with reuse (convolution, matrix product)
  opaque,       // never fused
};

/// What the rules of an op see: types, attributes (defaults filled in), no data but constants.
struct OpContext {
  const Module* module = nullptr;  ///< may be null in tests of a rule
  std::span<const TensorType> operands;
  const Attrs* attrs = nullptr;
  std::span<const Body> regions;
  Loc loc;
  std::string op;  ///< for messages
  std::int64_t integer(std::string_view key) const;
  const std::vector<std::int64_t>& ints(std::string_view key) const;
  double real(std::string_view key) const;
  /// A Diag of this op at this place: `conv2d: <what>`.
  Diag error(std::string what, std::string fix = "") const;
};

/// Result `result` is the operand's bytes from `offset` on. Only where the bytes really are
/// contiguous.
struct ViewFact {
  std::uint32_t result = 0, operand = 0;
  std::uint64_t offset = 0;  ///< bytes
};

struct OpDef {
  std::string name;  ///< [a-z][a-z0-9_]*, plugin ops `acme.name`; the spelling in the text form
  std::string doc;   ///< one sentence of meaning, with the formula
  std::uint32_t min_operands = 1;
  std::uint32_t max_operands = 1;  ///< UINT32_MAX = any number
  std::uint32_t n_results = 1;
  std::vector<AttrSpec> attrs;
  FusionKind fusion = FusionKind::opaque;
  bool effect = false;       ///< never removed, merged or reordered
  bool commutative = false;  ///< of two operands

  /// Types of the results; also what the verifier re-runs. Handles symbols where the rule is plain,
  /// else says so.
  Result<std::vector<TensorType>> (*infer)(const OpContext&) = nullptr;
  /// Adds stages to `b` (whose inputs are the operands) and calls b.output once per result. Only
  /// static types. Null: the op is structural (call, view, ...).
  Status (*compute)(const OpContext&, te::Builder& b) = nullptr;
  /// Null: never a view.
  std::optional<ViewFact> (*view)(const OpContext&) = nullptr;
};

/// All ops of a session. Frozen before the first module is made.
class OpTable {
 public:
  /// Structural node kinds are in from the start, at the ids of `node::`.
  OpTable();
  /// Fails when the name is taken or malformed, or a field that is needed is missing.
  Status add(OpDef def);
  std::optional<OpId> find(std::string_view name) const;
  /// Aborts when there is none: for passes that name an op of core.
  OpId at(std::string_view name) const;
  const OpDef& operator[](OpId id) const { return defs_[id.v]; }
  std::uint32_t size() const { return static_cast<std::uint32_t>(defs_.size()); }
  std::vector<std::string> names() const;  ///< sorted

 private:
  std::vector<OpDef> defs_;
  std::unordered_map<std::string, std::uint32_t> by_name_;
};

/// The ops of core/ops. Called once per table.
Status add_builtin_ops(OpTable& table);
/// A table with the ops of core; for tests and tools without plugins.
std::shared_ptr<const OpTable> builtin_ops();

/// `attrs` with defaults filled in; unknown, missing and wrongly typed ones are errors.
Result<Attrs> complete_attrs(const OpDef& def, const Attrs& attrs, const Loc& loc);
/// Result types of a node-to-be.
Result<std::vector<TensorType>> infer_types(const Module& m, OpId op,
                                            std::span<const Value> operands, const Attrs& attrs,
                                            std::span<const Body> regions, const Loc& loc);
/// The compute description of one node (not structural). Inputs of the Compute = operands of the
/// node.
Result<te::Compute> compute_of(const Module& m, const Node& n);
/// The compute description of a body whose nodes all have one (a primitive): composed, not yet
/// inlined. Inputs = params; constants inside the body become further inputs after the params, in
/// order of use, returned in `constants`.
Result<te::Compute> compute_of(const Module& m, const Body& body, std::vector<Constant>* constants);

}  // namespace tenon

#endif
