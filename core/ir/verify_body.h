// The part of the verifier that walks one function: laws V4 to V18.
#ifndef TENON_CORE_IR_VERIFY_BODY_H
#define TENON_CORE_IR_VERIFY_BODY_H

#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/ir/breaches.h"
#include "tenon/ir.h"
#include "tenon/op.h"

namespace tenon {

/// By name, for lookups in O(1).
struct ModuleIndex {
  std::unordered_map<std::string_view, const Function*> functions;
  std::unordered_map<std::string_view, const ComputeFunction*> computes;
  std::unordered_map<std::string_view, const KernelFunction*> kernels;
};

/// V3 for one type, or "".
std::string breach_of_type(const Module& m, const TensorType& t);
/// `%3 "conv1.out" = conv2d`
std::string describe(const Module& m, const Node& n);
std::string text(const Module& m, const TensorType& t);

/// Laws of a node alone: V8 (kind), V9, V10, V11, V13 to V18. All operands are values.
void verify_node(const Module& m, const ModuleIndex& index, const Node& n, Breaches& out);
/// Laws of a whole function.
void verify_function(const Module& m, const ModuleIndex& index, const Function& f, Breaches& out);
/// The part of V15 about recursion. Cost O(functions + nodes).
void verify_calls(const Module& m, const ModuleIndex& index, Breaches& out);

}  // namespace tenon

#endif
