// Formulas over several nodes, for ONNX ops that Tenon says with several of its own.
#ifndef TENON_PLUGINS_FRONTENDS_ONNX_STEPS_H
#define TENON_PLUGINS_FRONTENDS_ONNX_STEPS_H

#include <limits>

#include "plugins/frontends/onnx/importer.h"

namespace tenon::onnx_import {

class Steps;

/// A value in a formula; of none after a refusal.
struct Term {
  Steps* s = nullptr;
  Value v;
  DType dtype() const { return v ? v.type().dtype : DType::f32; }
};
/// A number takes the element type of what it meets.
struct Operand {
  Operand(Term t) : term(t) {}      // NOLINT: implicit on purpose
  Operand(double k) : number(k) {}  // NOLINT
  Operand(int k) : number(k) {}     // NOLINT
  Term term;
  double number = 0;
};

/// Nodes in a row. The first refusal sticks: later steps give no value, done() reports it.
class Steps {
 public:
  explicit Steps(NodeImport& n) : n_(n) {}
  Term in(std::size_t i) { return {this, n_.in(i)}; }
  Term of(Value v) { return {this, v}; }
  Term operator()(std::string_view op, std::vector<Term> operands, Attrs attrs = {});
  Term binary(std::string_view op, Operand a, Operand b);
  Term where(Term condition, Operand a, Operand b);
  Term number(DType t, double v);
  Term reshape(Term x, Shape shape) {
    return (*this)("reshape", {x}, {{"shape", std::move(shape)}});
  }
  Term cast(Term x, DType to) { return (*this)("cast", {x}, {{"to", to}}); }
  Term transpose(Term x, std::vector<std::int64_t> perm) {
    return (*this)("transpose", {x}, {{"perm", std::move(perm)}});
  }
  /// [start, start + size) of an axis.
  Term slice(Term x, std::int64_t axis, std::int64_t start, std::int64_t size);
  void refuse(Diag d) {
    if (errors_.empty()) errors_.push_back(std::move(d));
  }
  Outputs done(std::vector<Term> results) const;

 private:
  NodeImport& n_;
  Diags errors_;
};

inline Term operator+(Term a, Operand b) { return a.s->binary("add", a, b); }
inline Term operator-(Term a, Operand b) { return a.s->binary("sub", a, b); }
inline Term operator*(Term a, Operand b) { return a.s->binary("mul", a, b); }
inline Term operator/(Term a, Operand b) { return a.s->binary("div", a, b); }
inline Term operator+(double a, Term b) { return b.s->binary("add", a, b); }
inline Term operator-(double a, Term b) { return b.s->binary("sub", a, b); }
inline Term operator*(double a, Term b) { return b.s->binary("mul", a, b); }
inline Term operator/(double a, Term b) { return b.s->binary("div", a, b); }
inline Term operator<(Term a, Operand b) { return a.s->binary("less", a, b); }
inline Term operator>(Term a, Operand b) { return a.s->binary("greater", a, b); }
inline Term operator>=(Term a, Operand b) { return a.s->binary("greater_equal", a, b); }
inline Term equal(Term a, Operand b) { return a.s->binary("equal", a, b); }
inline Term operator-(Term a) { return (*a.s)("neg", {a}); }
inline Term operator!(Term a) { return (*a.s)("logical_not", {a}); }
inline Term operator&&(Term a, Term b) { return (*a.s)("logical_and", {a, b}); }
inline Term operator||(Term a, Term b) { return (*a.s)("logical_or", {a, b}); }
inline Term abs(Term a) { return (*a.s)("abs", {a}); }
inline Term exp(Term a) { return (*a.s)("exp", {a}); }
inline Term log(Term a) { return (*a.s)("log", {a}); }
inline Term sqrt(Term a) { return (*a.s)("sqrt", {a}); }
inline Term tanh(Term a) { return (*a.s)("tanh", {a}); }
inline Term max(Term a, Operand b) { return a.s->binary("max", a, b); }
inline Term min(Term a, Operand b) { return a.s->binary("min", a, b); }
inline Term where(Term c, Operand a, Operand b) { return c.s->where(c, a, b); }
inline Term clip(Term a, double low, double high) {
  return (*a.s)("clip", {a}, {{"min", low}, {"max", high}});
}

}  // namespace tenon::onnx_import

#endif
