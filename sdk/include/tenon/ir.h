// The IR: one module with graph functions, compute functions and kernel functions side by side.
//
// Laws (the verifier, core/ir/verify.h, lists and checks them):
//  - A node never changes once it is in a body. "Did a pass change anything?" is a comparison of
//    pointers.
//  - A body is an ordered list: operands precede uses. After lowering that order is the execution
//    order.
//  - Each result of a node carries a value id, unique among the live values of its function and
//    kept by
//    rewriting (see rewrite.h). Region values share the id space of their function.
//  - Nodes live in the module's arena and are freed together; dead ones go at compact().
//  - No code walks the graph recursively; regions nest to at most 64.
#ifndef TENON_IR_H
#define TENON_IR_H

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "tenon/diag.h"
#include "tenon/kernel.h"
#include "tenon/schedule.h"
#include "tenon/te.h"
#include "tenon/type.h"

namespace tenon {

class OpTable;
struct StoragePlan;

/// An op, named by its place in the session's OpTable. Never the address of its definition: each
/// shared object may have its own copy of that.
struct OpId {
  std::uint32_t v = 0;
  auto operator<=>(const OpId&) const = default;
};

/// Node kinds that the IR itself knows; the same in every session. All other ops are data (op.h).
namespace node {
inline constexpr OpId param{0};     ///< entry of a body; its results are the parameters
inline constexpr OpId constant{1};  ///< attr `value`: Constant
inline constexpr OpId call{2};      ///< attr `callee`: name of a graph function
inline constexpr OpId call_kernel{
    3};  ///< attr `callee`: symbol of a kernel function; results are its outputs
inline constexpr OpId primitive{
    4};                          ///< a fused group: one region, isolated, params match the operands
inline constexpr OpId view{5};   ///< attr `offset` (bytes): bytes of the operand under another type
inline constexpr OpId copy{6};   ///< the operand's bytes in storage of their own
inline constexpr OpId debug{7};  ///< passes its operand on; attr `label`
inline constexpr OpId branch{
    8};  ///< `if`: operand 0 boolean scalar; regions then, else without params
inline constexpr OpId loop{
    9};  ///< operands: trip count (i64 scalar), carried...; region(i, carried...) -> carried...
inline constexpr OpId join{10};  ///< the operands' bytes one after another: they are written where the
                                 ///< result stands, so it takes no step; see mark-views
inline constexpr std::uint32_t count = 11;
}  // namespace node

using ValueId = std::uint32_t;

/// Tensor data: immutable, shared. Equal when types and bytes are equal; `hash` only filters.
struct ConstantData {
  TensorType type;                      // static
  std::span<const std::byte> bytes;     // row-major, little-endian, exactly byte_size(type); at any
                                        // address: a file may be its memory
  std::shared_ptr<const void> owner;    // keeps the bytes
  std::array<std::uint64_t, 2> hash{};  // of the bytes
};
using Constant = std::shared_ptr<const ConstantData>;
/// Takes the bytes; aborts unless there are exactly byte_size(type) of them.
Constant make_constant(TensorType type, std::vector<std::byte> bytes);
/// Over bytes that `owner` keeps and nobody changes any more, such as a mapped file.
Constant make_constant(TensorType type, std::span<const std::byte> bytes,
                       std::shared_ptr<const void> owner);
template <class T>
Constant make_constant(TensorType type, std::span<const T> data) {
  auto b = std::as_bytes(data);
  return make_constant(std::move(type), std::vector<std::byte>(b.begin(), b.end()));
}
bool same_constant(const Constant& a, const Constant& b);
/// Whatever the types are.
bool same_bytes(const ConstantData& a, const ConstantData& b);
/// In hex, of the bytes: names a constant outside of this process. Computed at each call.
std::string sha256_of(const ConstantData& c);
std::string sha256_hex(const std::array<std::uint8_t, 32>& h);

using AttrValue =
    std::variant<bool, std::int64_t, double, std::string, std::vector<std::int64_t>,
                 std::vector<double>, std::vector<std::string>, DType, TensorType, Constant>;

/// Named values, sorted by name.
class Attrs {
 public:
  Attrs() = default;
  Attrs(std::initializer_list<std::pair<std::string, AttrValue>> init) {
    for (auto& [k, v] : init) set(k, v);
  }
  void set(std::string key, AttrValue v);
  void erase(std::string_view key);
  const AttrValue* find(std::string_view key) const;
  template <class T>
  const T* get(std::string_view key) const {
    const AttrValue* v = find(key);
    return v ? std::get_if<T>(v) : nullptr;
  }
  template <class T>
  T get_or(std::string_view key, T dflt) const {
    const T* v = get<T>(key);
    return v ? *v : dflt;
  }
  auto begin() const { return rows_.begin(); }
  auto end() const { return rows_.end(); }
  bool empty() const { return rows_.empty(); }
  bool operator==(const Attrs& other) const;

 private:
  std::vector<std::pair<std::string, AttrValue>> rows_;
};

struct Node;

/// One result of a node. Pointer-sized, copied freely, compared by identity.
struct Value {
  const Node* node = nullptr;
  std::uint32_t index = 0;
  explicit operator bool() const { return node != nullptr; }
  bool operator==(const Value&) const = default;
  const TensorType& type() const;
  ValueId id() const;
  const std::string& name() const;
};
struct ValueHash {
  std::size_t operator()(const Value& v) const {
    return std::hash<const void*>()(v.node) * 31 + v.index;
  }
};

struct NodeResult {
  TensorType type;
  ValueId id = 0;
  std::string name;  ///< name in the imported model, or "" ; for people and for `place` rules
};

/// Parameters, an ordered list of nodes, results. `entry` is a node of kind `param`.
struct Body {
  const Node* entry = nullptr;
  std::vector<const Node*> nodes;  ///< without the entry
  std::vector<Value> results;
};

struct Node {
  OpId op;
  std::vector<Value> operands;
  Attrs attrs;
  std::vector<NodeResult> results;
  std::vector<Body> regions;
  Loc loc;
};

/// A graph function. `result_names` are the names callers use for its results (an ONNX output's
/// name); two results may be one value.
struct Function {
  std::string name;
  Body body;
  std::vector<std::string> result_names;
  Attrs attrs;
  ValueId next_id = 0;  ///< every id in use is smaller
  Loc loc;
  std::size_t n_params() const { return body.entry->results.size(); }
  Value param(std::uint32_t i) const { return {body.entry, i}; }
};

/// What a kernel computes, and how it was scheduled.
struct ComputeFunction {
  std::string name;
  te::Compute compute;
  std::optional<Schedule> schedule;
};

/// A kernel. Its outputs are what `compute` (a ComputeFunction of the module) says, given its
/// inputs.
struct KernelFunction {
  tir::Kernel kernel;
  std::string compute;     ///< name of the compute function
  std::string target;      ///< id of the target it is scheduled for
  std::uint32_t uses = 0;  ///< calls in the module; weight of a tuning task
};

struct SymbolInfo {
  std::string name;
  std::int64_t min = 0;
  std::optional<std::int64_t> max;
};

class Module {
 public:
  explicit Module(std::shared_ptr<const OpTable> ops)
      : ops_(std::move(ops)), arena_(std::make_unique<std::deque<Node>>()) {}
  Module(Module&&) = default;
  Module& operator=(Module&&) = default;

  std::string name;
  std::vector<SymbolInfo> symbols;
  std::vector<Function> functions;  ///< the entry is the function called `main`
  std::vector<ComputeFunction> computes;
  std::vector<KernelFunction> kernels;
  Attrs attrs;
  std::shared_ptr<const StoragePlan> plan;  ///< set by the step `plan`

  const OpTable& ops() const { return *ops_; }
  std::shared_ptr<const OpTable> ops_ptr() const { return ops_; }

  /// The only way to make a node. It never changes afterwards.
  const Node* make(Node n) { return &arena_->emplace_back(std::move(n)); }
  std::size_t arena_size() const { return arena_->size(); }
  /// When half of the arena or more is dead: copies what is reachable into a fresh one and frees
  /// the rest. Value ids survive; pointers do not.
  void compact();
  /// A deep copy; pointers differ, ids do not.
  Module clone() const;

  Function* function(std::string_view name);
  const Function* function(std::string_view name) const;
  const ComputeFunction* compute(std::string_view name) const;
  const KernelFunction* kernel(std::string_view symbol) const;
  const Function* main() const { return function("main"); }

 private:
  std::shared_ptr<const OpTable> ops_;
  std::unique_ptr<std::deque<Node>> arena_;
};

inline const TensorType& Value::type() const { return node->results[index].type; }
inline ValueId Value::id() const { return node->results[index].id; }
inline const std::string& Value::name() const { return node->results[index].name; }

/// Structural equality of modules: names, ids, types, attributes, order, constants by hash.
/// Locations are not compared. On a difference, `why` (when given) names the first one.
bool equal(const Module& a, const Module& b, std::string* why = nullptr);

/// All laws of the IR; every breach is reported (cap 20). Cost O(nodes).
Status verify(const Module& m);

}  // namespace tenon

#endif
