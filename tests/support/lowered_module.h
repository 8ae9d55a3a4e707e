// Lowered modules written by hand: kernels with the buffers and facts that a test names. Every
// kernel computes
//   result_k[i] = (k + 1) + sum over operands j of (j + 1) * operand_j[i mod its elements]
// so that each result depends on all operands, and a byte that is wrong anywhere changes the
// outcome.
#ifndef TENON_TESTS_SUPPORT_LOWERED_MODULE_H
#define TENON_TESTS_SUPPORT_LOWERED_MODULE_H

#include <fmt/format.h>

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "tenon/ir.h"
#include "tenon/op.h"
#include "tenon/te.h"

namespace tenon::test {

inline TensorType i32(std::int64_t n) { return {DType::i32, ::tenon::Shape{n}}; }

struct KernelSpec {
  std::vector<std::pair<std::uint32_t, std::uint32_t>> inplace;  ///< (operand, result)
  std::vector<std::uint64_t> shared;  ///< bytes of each shared scratch buffer
  std::uint64_t worker = 0;
  std::uint64_t align = 4;
  std::string target = "cpu";
};

class LoweredModule {
 public:
  using Arm = std::function<std::vector<Value>(LoweredModule&)>;
  using LoopBody = std::function<std::vector<Value>(LoweredModule&, const std::vector<Value>&)>;

  explicit LoweredModule(const std::vector<std::pair<std::string, TensorType>>& inputs)
      : m_(builtin_ops()) {
    m_.name = "hand";
    m_.functions.push_back({.name = "main"});
    Node entry{.op = node::param};
    for (const auto& [name, type] : inputs) entry.results.push_back({type, f().next_id++, name});
    f().body.entry = m_.make(std::move(entry));
  }

  Module& module() { return m_; }
  Value in(std::uint32_t i) { return f().param(i); }

  std::vector<Value> calls(const std::string& name, const std::vector<Value>& operands,
                           const std::vector<TensorType>& types, const KernelSpec& spec = {}) {
    add_kernel(name, operands, types, spec);
    Node n{.op = node::call_kernel, .operands = operands, .attrs = {{"callee", "k_" + name}}};
    for (std::size_t k = 0; k < types.size(); ++k) {
      n.results.push_back(
          {types[k], f().next_id++, types.size() == 1 ? name : fmt::format("{}.{}", name, k)});
    }
    return push(std::move(n));
  }
  Value call(const std::string& name, const std::vector<Value>& operands, const TensorType& type,
             const KernelSpec& spec = {}) {
    return calls(name, operands, {type}, spec)[0];
  }
  Value view(const std::string& name, Value v, const TensorType& type, std::int64_t offset = 0) {
    return one({.op = node::view, .operands = {v}, .attrs = {{"offset", offset}}}, type, name);
  }
  Value join(const std::string& name, const std::vector<Value>& parts, const TensorType& type) {
    return one({.op = node::join, .operands = parts}, type, name);
  }
  Value copy(const std::string& name, Value v) {
    return one({.op = node::copy, .operands = {v}}, v.type(), name);
  }
  Value debug(const std::string& name, Value v) {
    return one({.op = node::debug, .operands = {v}, .attrs = {{"label", name}}}, v.type(), name);
  }
  Value constant(const std::string& name, const std::vector<std::int32_t>& data) {
    const TensorType type = i32(static_cast<std::int64_t>(data.size()));
    Constant c = make_constant<std::int32_t>(type, data);
    return one({.op = node::constant, .attrs = {{"value", c}}}, type, name);
  }
  std::vector<Value> branch(const std::string& name, Value condition,
                            const std::vector<TensorType>& types, const Arm& then_arm,
                            const Arm& else_arm) {
    Node n{.op = node::branch, .operands = {condition}};
    n.regions.push_back(arm(then_arm));
    n.regions.push_back(arm(else_arm));
    for (std::size_t k = 0; k < types.size(); ++k) {
      n.results.push_back(
          {types[k], f().next_id++, types.size() == 1 ? name : fmt::format("{}.{}", name, k)});
    }
    return push(std::move(n));
  }
  /// `fill` gets the parameters of the body: the number of the iteration, then the carried values.
  std::vector<Value> loop(const std::string& name, Value count, const std::vector<Value>& initial,
                          const LoopBody& fill) {
    Node n{.op = node::loop, .operands = {count}};
    Node entry{.op = node::param,
               .results = {{{DType::i64, ::tenon::Shape{}}, f().next_id++, name + ".i"}}};
    for (std::size_t k = 0; k < initial.size(); ++k) {
      n.operands.push_back(initial[k]);
      entry.results.push_back({initial[k].type(), f().next_id++, fmt::format("{}.in{}", name, k)});
      n.results.push_back({initial[k].type(), f().next_id++,
                           initial.size() == 1 ? name : fmt::format("{}.{}", name, k)});
    }
    std::vector<const Node*> outer = std::exchange(nodes_, {});
    Body b{.entry = m_.make(std::move(entry))};
    std::vector<Value> params;
    for (std::uint32_t k = 0; k < b.entry->results.size(); ++k) params.push_back({b.entry, k});
    b.results = fill(*this, params);
    b.nodes = std::exchange(nodes_, std::move(outer));
    n.regions.push_back(std::move(b));
    return push(std::move(n));
  }
  Value count(std::int64_t n) {
    const TensorType type{DType::i64, ::tenon::Shape{}};
    Constant c = make_constant<std::int64_t>(type, std::span(&n, 1));
    return one({.op = node::constant, .attrs = {{"value", c}}}, type, "");
  }
  Module finish(const std::vector<Value>& results) {
    f().body.nodes = std::move(nodes_);
    f().body.results = results;
    for (std::size_t j = 0; j < results.size(); ++j)
      f().result_names.push_back(fmt::format("out{}", j));
    return std::move(m_);
  }

 private:
  Function& f() { return m_.functions[0]; }
  std::vector<Value> push(Node n) {
    const Node* p = m_.make(std::move(n));
    nodes_.push_back(p);
    std::vector<Value> out;
    for (std::uint32_t k = 0; k < p->results.size(); ++k) out.push_back({p, k});
    return out;
  }
  Value one(Node n, const TensorType& type, const std::string& name) {
    n.results.push_back({type, f().next_id++, name});
    return push(std::move(n))[0];
  }
  Body arm(const Arm& fill) {
    std::vector<const Node*> outer = std::exchange(nodes_, {});
    Body b{.entry = m_.make({.op = node::param})};
    b.results = fill(*this);
    b.nodes = std::exchange(nodes_, std::move(outer));
    return b;
  }

  void add_kernel(const std::string& name, const std::vector<Value>& operands,
                  const std::vector<TensorType>& types, const KernelSpec& spec) {
    tir::Kernel k{.symbol = "k_" + name, .worker_bytes = spec.worker};
    std::uint32_t arg = 0;
    const auto add = [&](tir::Scope scope, DType t, std::uint64_t n) {
      k.buffers.push_back({fmt::format("b{}", arg), t, n, scope, arg, 0, spec.align});
      ++arg;
    };
    for (Value v : operands) add(tir::Scope::input, v.type().dtype, *elements(v.type()));
    for (const TensorType& t : types) add(tir::Scope::output, t.dtype, *elements(t));
    for (const std::uint64_t bytes : spec.shared) add(tir::Scope::shared, DType::u8, bytes);
    const auto n_inputs = static_cast<std::uint32_t>(operands.size());
    for (auto [in, out] : spec.inplace) k.inplace.emplace_back(in, n_inputs + out);
    m_.computes.push_back({"c_" + name, mix(operands, types), {}});
    m_.kernels.push_back({std::move(k), "c_" + name, spec.target, 1});
  }

  static te::Compute mix(const std::vector<Value>& operands, const std::vector<TensorType>& types) {
    std::vector<TensorType> inputs;
    for (Value v : operands) inputs.push_back(v.type());
    te::Builder b(inputs);
    for (std::size_t k = 0; k < types.size(); ++k) {
      const DType t = types[k].dtype;
      b.output(b.stage(fmt::format("out{}", k), types[k].shape(), [&](std::span<const te::E> i) {
        te::E sum = b.imm_int(t, static_cast<std::int64_t>(k) + 1);
        for (std::size_t j = 0; j < inputs.size(); ++j) {
          const auto n = static_cast<std::int64_t>(*elements(inputs[j]));
          if (n == 0) continue;
          te::T operand = b.input(static_cast<std::uint32_t>(j));
          te::E e =
              inputs[j].rank() == 0 ? operand({}) : operand({i.empty() ? b.i64(0) : i[0] % n});
          sum = sum + b.cast(e, t) * (static_cast<std::int64_t>(j) + 1);
        }
        return sum;
      }));
    }
    return b.take();
  }

  Module m_;
  std::vector<const Node*> nodes_;
};

}  // namespace tenon::test

#endif
