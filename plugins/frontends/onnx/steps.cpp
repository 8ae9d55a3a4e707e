#include "plugins/frontends/onnx/steps.h"

namespace tenon::onnx_import {

Term Steps::operator()(std::string_view op, std::vector<Term> operands, Attrs attrs) {
  if (!errors_.empty()) return {this, {}};
  std::vector<Value> values;
  for (const Term& t : operands) values.push_back(t.v);
  auto v = n_.op(op, std::move(values), std::move(attrs));
  if (v) return {this, *v};
  errors_ = v.errors();
  return {this, {}};
}

Term Steps::number(DType t, double v) {
  const Term k{this, n_.constant_real(t == DType::f64 ? t : DType::f32, v)};
  return k.dtype() == t ? k : cast(k, t);
}

Term Steps::binary(std::string_view op, Operand a, Operand b) {
  if (!errors_.empty()) return {this, {}};
  if (!a.term.v) a = number(b.term.dtype(), a.number);
  if (!b.term.v) b = number(a.term.dtype(), b.number);
  return (*this)(op, {a.term, b.term});
}

Term Steps::where(Term condition, Operand a, Operand b) {
  if (!errors_.empty()) return {this, {}};
  if (!a.term.v) a = number(b.term.dtype(), a.number);
  if (!b.term.v) b = number(a.term.dtype(), b.number);
  return (*this)("where", {condition, a.term, b.term});
}

Term Steps::slice(Term x, std::int64_t axis, std::int64_t start, std::int64_t size) {
  if (!x.v) return x;
  Shape starts(x.v.type().rank(), 0), sizes = x.v.type().shape(), steps(starts.size(), 1);
  starts[static_cast<std::size_t>(axis)] = start;
  sizes[static_cast<std::size_t>(axis)] = size;
  return (*this)("slice", {x}, {{"starts", starts}, {"sizes", sizes}, {"steps", steps}});
}

Outputs Steps::done(std::vector<Term> results) const {
  if (!errors_.empty()) return errors_;
  std::vector<Value> values;
  for (const Term& t : results) values.push_back(t.v);
  return values;
}

}  // namespace tenon::onnx_import
