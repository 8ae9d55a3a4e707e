// The evaluator: what every op, compute function and graph means, slowly and obviously. It folds
// constants and is the judge of every back end. Straight-line instructions over blocks of elements;
// no JIT.
#ifndef TENON_EVAL_H
#define TENON_EVAL_H

#include <cstddef>
#include <functional>
#include <span>
#include <vector>

#include "tenon/ir.h"

namespace tenon {

/// Tensor data with its type; static. bytes.size() == byte_size(type).
struct Tensor {
  TensorType type;
  std::vector<std::byte> bytes;
  template <class T>
  std::span<const T> as() const {
    return {reinterpret_cast<const T*>(bytes.data()), bytes.size() / sizeof(T)};
  }
  template <class T>
  std::span<T> as() {
    return {reinterpret_cast<T*>(bytes.data()), bytes.size() / sizeof(T)};
  }
};

/// Runs a compute description. Inputs may stand at any address, outputs where their elements may.
/// `inputs[k]` and `outputs[k]` hold exactly the bytes of their types.
/// An output may be the same memory as an input only where every element is read before it is
/// written in element order.
void evaluate(const te::Compute& c, std::span<const std::byte* const> inputs,
              std::span<std::byte* const> outputs);

struct EvalOptions {
  /// Sees each value when it has been computed.
  std::function<void(Value, const Tensor&)> observe;
  /// What one node may take for its results and its intermediate stages; more is TN3124, before
  /// anything is allocated.
  std::uint64_t max_bytes = std::uint64_t{1} << 36;
  /// May share the elements of a large node; the results do not depend on it.
  unsigned threads = 1;
};
/// Runs a graph function, at any level: ops by their compute descriptions, kernels by their compute
/// functions. Memory: values are freed after their last use. Errors: input count, types, ops
/// without compute description.
Result<std::vector<Tensor>> evaluate(const Module& m, const Function& f,
                                     std::span<const Tensor> inputs,
                                     const EvalOptions& options = {});
/// One node on given operands.
Result<std::vector<Tensor>> evaluate(const Module& m, const Node& n,
                                     std::span<const Tensor> operands,
                                     const EvalOptions& options = {});
/// The same over constants, of which nothing is copied: what folding does.
Result<std::vector<Constant>> evaluate(const Module& m, const Node& n,
                                       std::span<const Constant> operands,
                                       const EvalOptions& options = {});
/// A body of computing nodes, inlined into one description: what stands between its nodes is stored
/// only where inlining keeps a stage. Its results are those of its last node, in order; `inputs` are
/// its parameters'.
Result<std::vector<Constant>> evaluate(const Module& m, const Body& body,
                                       std::span<const Constant> inputs,
                                       const EvalOptions& options = {});
/// An estimate of what evaluating a compute costs: points of its stages, reductions included.
/// Saturates.
std::uint64_t evaluation_work(const te::Compute& c);

}  // namespace tenon

#endif
