// Tensors and computes for tests: made from a seed, run, compared.
#ifndef TENON_TESTS_SUPPORT_TENSORS_H
#define TENON_TESTS_SUPPORT_TENSORS_H

#include <random>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "tenon/eval.h"
#include "tenon/op.h"

namespace tenon::test {

template <class T>
constexpr DType dtype_for() {
  if constexpr (std::is_same_v<T, float>)
    return DType::f32;
  else if constexpr (std::is_same_v<T, double>)
    return DType::f64;
  else if constexpr (std::is_same_v<T, std::int8_t>)
    return DType::i8;
  else if constexpr (std::is_same_v<T, std::int32_t>)
    return DType::i32;
  else if constexpr (std::is_same_v<T, std::int64_t>)
    return DType::i64;
  else if constexpr (std::is_same_v<T, std::uint64_t>)
    return DType::u64;
  else if constexpr (std::is_same_v<T, std::uint16_t>)
    return DType::u16;
  else
    return DType::u8;
}

template <class T>
Tensor tensor(const Shape& shape, const std::vector<T>& v, DType t = dtype_for<T>()) {
  auto bytes = std::as_bytes(std::span(v));
  return {TensorType(t, shape), {bytes.begin(), bytes.end()}};
}

/// Small integers, exact in every type: in [-4, 4], or [0, 4] for unsigned types, or 0 and 1 for
/// bool.
inline Tensor small_integers(const TensorType& type, std::mt19937& rng) {
  Tensor t{type, std::vector<std::byte>(*byte_size(type))};
  auto fill = [&](auto zero) {
    for (auto& x : t.as<decltype(zero)>()) {
      const int k = static_cast<int>(rng() % 9);
      x = static_cast<decltype(zero)>(type.dtype == DType::boolean ? k % 2
                                      : is_signed(type.dtype)      ? k - 4
                                                                   : k / 2);
    }
  };
  switch (type.dtype) {
    case DType::f32:
      fill(0.0f);
      break;
    case DType::f64:
      fill(0.0);
      break;
    case DType::i16:
      fill(std::int16_t{});
      break;
    case DType::u16:
      fill(std::uint16_t{});
      break;
    case DType::i32:
      fill(std::int32_t{});
      break;
    case DType::u32:
      fill(std::uint32_t{});
      break;
    case DType::i64:
      fill(std::int64_t{});
      break;
    case DType::u64:
      fill(std::uint64_t{});
      break;
    case DType::i8:
      fill(std::int8_t{});
      break;
    default:
      fill(std::uint8_t{});
      break;
  }
  return t;
}

inline std::vector<Tensor> run(const te::Compute& c, const std::vector<Tensor>& inputs) {
  std::vector<const std::byte*> in;
  std::vector<std::byte*> out;
  std::vector<Tensor> results;
  for (const Tensor& t : inputs) in.push_back(t.bytes.data());
  for (std::uint32_t k = 0; k < c.outputs.size(); ++k)
    results.push_back({c.output_type(k), std::vector<std::byte>(*byte_size(c.output_type(k)))});
  for (Tensor& t : results) out.push_back(t.bytes.data());
  evaluate(c, in, out);
  return results;
}

/// Result types of an op on operands of the given types.
inline Result<std::vector<TensorType>> types_of(std::string_view op,
                                                const std::vector<TensorType>& operands,
                                                const Attrs& attrs = {}) {
  static const std::shared_ptr<const OpTable> ops = builtin_ops();
  const OpDef& def = (*ops)[ops->at(op)];
  auto all = complete_attrs(def, attrs, {});
  if (!all) return all.errors();
  return def.infer(OpContext{nullptr, operands, &*all, {}, {}, def.name});
}

/// The compute description of an op.
inline Result<te::Compute> compute_for(std::string_view op, const std::vector<TensorType>& operands,
                                       const Attrs& attrs = {}) {
  static const std::shared_ptr<const OpTable> ops = builtin_ops();
  const OpDef& def = (*ops)[ops->at(op)];
  auto all = complete_attrs(def, attrs, {});
  if (!all) return all.errors();
  te::Builder b(operands);
  if (Status s = def.compute(OpContext{nullptr, operands, &*all, {}, {}, def.name}, b); !s)
    return s.errors();
  return b.take();
}

/// Runs an op: checks that its compute obeys the laws and gives the types of its type rule.
inline std::vector<Tensor> apply(std::string_view op, const std::vector<Tensor>& operands,
                                 const Attrs& attrs = {}) {
  std::vector<TensorType> in;
  for (const Tensor& t : operands) in.push_back(t.type);
  auto types = types_of(op, in, attrs);
  if (!types) throw std::runtime_error(types.errors()[0].what);
  auto c = compute_for(op, in, attrs);
  if (!c) throw std::runtime_error(c.errors()[0].what);
  if (std::string why = te::check(*c); !why.empty())
    throw std::runtime_error(std::string(op) + ": " + why);
  for (std::uint32_t k = 0; k < types->size(); ++k)
    if (!(c->output_type(k) == (*types)[k]))
      throw std::runtime_error(std::string(op) + " computes " + to_string(c->output_type(k)) +
                               ", its rule says " + to_string((*types)[k]));
  return run(*c, operands);
}

}  // namespace tenon::test

#endif
