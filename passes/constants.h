// What rules ask of constants.
#ifndef TENON_PASSES_CONSTANTS_H
#define TENON_PASSES_CONSTANTS_H

#include <algorithm>
#include <cstring>
#include <optional>
#include <unordered_set>

#include "tenon/op.h"
#include "tenon/rewrite.h"

namespace tenon::passes {

/// Whether there are elements and all are `x`. Of f32, f64, i32 and i64.
inline bool all_elements(const Constant& c, double x) {
  if (!c) return false;
  const auto each = [&](auto zero) {
    using T = decltype(zero);
    for (std::size_t i = 0; i + sizeof(T) <= c->bytes.size(); i += sizeof(T)) {
      T v;
      std::memcpy(&v, c->bytes.data() + i, sizeof(T));
      if (v != static_cast<T>(x)) return false;
    }
    return !c->bytes.empty();
  };
  switch (c->type.dtype) {
    case DType::f32:
      return each(float{});
    case DType::f64:
      return each(double{});
    case DType::i32:
      return each(std::int32_t{});
    case DType::i64:
      return each(std::int64_t{});
    default:
      return false;
  }
}

/// The number that all elements of an f32 or f64 constant are.
inline std::optional<double> number_of(Value v) {
  const Constant c = constant_of(v);
  if (!c || c->bytes.empty() || !is_float(c->type.dtype)) return std::nullopt;
  double x = 0;
  if (c->type.dtype == DType::f64) {
    std::memcpy(&x, c->bytes.data(), sizeof x);
  } else if (c->type.dtype == DType::f32) {
    float f = 0;
    std::memcpy(&f, c->bytes.data(), sizeof f);
    x = static_cast<double>(f);
  } else {
    return std::nullopt;
  }
  return all_elements(c, x) ? std::optional(x) : std::nullopt;
}

/// Values of `f` that depend on constants alone: what fold-constants can compute.
inline std::unordered_set<ValueId> constants_of(const Module& m, const Function& f) {
  std::unordered_set<ValueId> known;
  for_each_node(f, [&](const Node& n) {
    const bool computed =
        m.ops()[n.op].compute && !m.ops()[n.op].effect &&
        std::ranges::all_of(n.operands, [&](Value v) { return known.contains(v.id()); });
    if (n.op == node::constant || computed)
      for (const NodeResult& r : n.results) known.insert(r.id);
  });
  return known;
}

}  // namespace tenon::passes

#endif
