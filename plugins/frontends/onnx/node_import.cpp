// What the functions of a row see of their node: inputs, attributes, constants, refusals.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "plugins/frontends/onnx/importer.h"
#include "tenon/eval.h"

namespace tenon::onnx_import {
namespace {

constexpr std::uint64_t small_elements =
    4096;  // results up to this size are folded at once: shapes, axes, indices

template <class Out>
std::optional<std::vector<Out>> elements_as(const Constant& c) {
  if (!c) return std::nullopt;
  std::vector<Out> out;
  const auto each = [&](auto zero) {
    using T = decltype(zero);
    for (std::size_t i = 0; i + sizeof(T) <= c->bytes.size(); i += sizeof(T)) {
      T v;
      std::memcpy(&v, c->bytes.data() + i, sizeof(T));
      out.push_back(static_cast<Out>(v));
    }
  };
  switch (c->type.dtype) {
    case DType::f32:
      each(float{});
      break;
    case DType::f64:
      each(double{});
      break;
    case DType::i64:
      each(std::int64_t{});
      break;
    case DType::i32:
      each(std::int32_t{});
      break;
    case DType::i8:
      each(std::int8_t{});
      break;
    case DType::u8:
    case DType::boolean:
      each(std::uint8_t{});
      break;
    default:
      return std::nullopt;
  }
  return out;
}

}  // namespace

const onnx::AttributeProto* NodeImport::attr(std::string_view name) const {
  for (const auto& a : node_.attribute())
    if (a.name() == name) return &a;
  return nullptr;
}
std::int64_t NodeImport::integer(std::string_view name, std::int64_t dflt) const {
  const auto* a = attr(name);
  return a ? a->i() : dflt;
}
double NodeImport::real(std::string_view name, double dflt) const {
  const auto* a = attr(name);
  return a ? static_cast<double>(a->f()) : dflt;
}
std::string NodeImport::text(std::string_view name, std::string dflt) const {
  const auto* a = attr(name);
  return a ? a->s() : dflt;
}
std::optional<std::vector<std::int64_t>> NodeImport::ints(std::string_view name) const {
  const auto* a = attr(name);
  if (!a) return std::nullopt;
  return std::vector<std::int64_t>(a->ints().begin(), a->ints().end());
}

std::optional<std::vector<std::int64_t>> NodeImport::const_ints(std::size_t i) const {
  return ints_of(constant_of(in(i)));
}
std::optional<std::vector<double>> NodeImport::const_reals(std::size_t i) const {
  return reals_of(constant_of(in(i)));
}
std::optional<std::vector<double>> reals_of(const Constant& c) { return elements_as<double>(c); }
std::optional<std::vector<std::int64_t>> ints_of(const Constant& c) {
  return elements_as<std::int64_t>(c);
}

Diag NodeImport::fail(std::string what, std::string fix) const {
  const std::string name = !node_.name().empty() ? node_.name()
                           : node_.output_size() ? node_.output(0)
                                                 : "";
  return Diag{
      .code = 7020,
      .loc = loc,
      .what = fmt::format("node '{}' ({}, opset {}): {}", name, node_.op_type(), opset, what),
      .fix = fix.empty() ? "check the model with onnx.checker; what is valid, and not supported "
                           "here, has to be exported another way"
                         : std::move(fix)};
}

Result<Value> NodeImport::op(std::string_view name, std::vector<Value> operands, Attrs attrs) {
  auto id = b.module().ops().find(name);
  if (!id)
    return fail(fmt::format("needs op '{}', which this session does not have", name),
                "load the plugin that brings it");
  auto made = b.add(*id, operands, std::move(attrs), loc);
  if (!made) return fail(made.errors()[0].what, made.errors()[0].fix);
  const Value v = (*made)[0];
  const std::uint64_t count = elements(v.type()).value_or(UINT64_MAX);
  // Weights of eight bits stay what they are: passes may compute with the bytes.
  const bool quantised =
      name == "cast" && count > 1 && !operands.empty() && bits(operands[0].type().dtype) == 8;
  if (count > small_elements || quantised ||
      !std::ranges::all_of(operands, [](Value x) { return constant_of(x) != nullptr; }))
    return v;
  std::vector<Constant> data;
  for (Value x : operands) data.push_back(constant_of(x));
  auto result = evaluate(b.module(), *v.node, data);
  if (!result) return v;
  return b.constant(std::move((*result)[0]), loc);
}

Value NodeImport::constant_ints(const std::vector<std::int64_t>& v, bool scalar) {
  const Shape shape = scalar ? Shape{} : Shape{static_cast<std::int64_t>(v.size())};
  return b.constant(make_constant(TensorType(DType::i64, shape), std::span<const std::int64_t>(v)),
                    loc);
}

Value NodeImport::constant_real(DType t, double v) {
  if (t == DType::f64)
    return b.constant(make_constant(TensorType(t, Shape{}), std::span<const double>(&v, 1)), loc);
  const float f = static_cast<float>(v);
  return b.constant(make_constant(TensorType(DType::f32, Shape{}), std::span<const float>(&f, 1)),
                    loc);
}

std::optional<std::int64_t> axis_in(std::int64_t axis, std::int64_t rank) {
  if (axis < -rank || axis >= rank) return std::nullopt;
  return axis < 0 ? axis + rank : axis;
}

}  // namespace tenon::onnx_import
