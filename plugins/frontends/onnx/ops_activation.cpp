// Functions of one element that Tenon says with several ops.
#include <fmt/format.h>

#include <array>
#include <cmath>

#include "plugins/frontends/onnx/model_file.h"
#include "plugins/frontends/onnx/steps.h"

namespace tenon::onnx_import {
namespace {

// log(1 + x), without what the sum loses of a small x.
Term log1p(Term x) {
  const Term w = x + 1.0;
  return where(equal(w, 1.0), x, log(w) * x / (w - 1.0));
}
// e^x - 1, likewise.
Term expm1(Term x) {
  const Term e = exp(x), less = e - 1.0;
  return where(equal(e, 1.0), x, where(equal(less, -1.0), less, less * x / log(e)));
}
Term sign_of(Term magnitude, Term x) { return where(x < 0.0, -magnitude, magnitude); }
Term softplus_of(Term x) { return max(x, 0.0) + log1p(exp(-abs(x))); }

/// Of x >= 0: three ranges, with a polynomial around 0 and tan(pi / 4).
Term arc_tangent(Term x) {
  const Term high = x > 2.414213562373095, middle = x > 0.4142135623730950;
  const Term zero = x.s->number(x.dtype(), 0);
  const Term offset = where(high, zero + M_PI_2, where(middle, zero + M_PI_4, zero));
  const Term t = where(high, -1.0 / x, where(middle, (x - 1.0) / (x + 1.0), x));
  const Term z = t * t;
  const Term p =
      ((8.05374449538e-2 * z - 1.38776856032e-1) * z + 1.99777106478e-1) * z - 3.33329491539e-1;
  return offset + (p * z * t + t);
}

template <Term (*f)(NodeImport&, Term)>
Outputs formula(NodeImport& n) {
  Steps step(n);
  return step.done({f(n, step.in(0))});
}

Term elu(NodeImport& n, Term x) {
  return where(x < 0.0, n.real("alpha", 1) * (exp(min(x, 0.0)) - 1.0), x);
}
Term selu(NodeImport& n, Term x) {
  const double alpha = n.real("alpha", 1.67326319217681884765625);
  return n.real("gamma", 1.05070102214813232421875) *
         where(x < 0.0, alpha * (exp(min(x, 0.0)) - 1.0), x);
}
Term celu(NodeImport& n, Term x) {
  const double alpha = n.real("alpha", 1);
  return max(x, 0.0) + min(alpha * (exp(x / alpha) - 1.0), 0.0);
}
Term softplus(NodeImport&, Term x) { return softplus_of(x); }
Term softsign(NodeImport&, Term x) { return x / (abs(x) + 1.0); }
Term mish(NodeImport&, Term x) { return x * tanh(softplus_of(x)); }
Term hard_swish(NodeImport&, Term x) { return (*x.s)("hard_swish", {x}); }
Term gelu(NodeImport& n, Term x) {
  if (n.text("approximate", "none") == "tanh")
    return 0.5 * x * (tanh((x + 0.044715 * x * x * x) * std::sqrt(M_2_PI)) + 1.0);
  return (*x.s)("gelu", {x});
}
Term thresholded_relu(NodeImport& n, Term x) { return where(x > n.real("alpha", 1), x, 0.0); }
Term shrink(NodeImport& n, Term x) {
  const double bias = n.real("bias", 0), lambda = n.real("lambd", 0.5);
  return where(x < -lambda, x + bias, where(x > lambda, x - bias, 0.0));
}
Term sign(NodeImport&, Term x) {
  const Term one = (*x.s).number(x.dtype(), 1);
  return where(x > 0.0, one, where(x < 0.0, -one, 0.0));
}
Term tangent(NodeImport&, Term x) { return (*x.s)("sin", {x}) / (*x.s)("cos", {x}); }
Term sinh(NodeImport&, Term x) {
  const Term e = expm1(x);
  return where(abs(x) < 1.0, (e + e / (e + 1.0)) * 0.5, exp(x) * 0.5 - exp(-x) * 0.5);
}
Term cosh(NodeImport&, Term x) { return exp(x) * 0.5 + exp(-x) * 0.5; }
Term asinh(NodeImport&, Term x) {
  const Term a = abs(x), square = a * a;
  return sign_of(log1p(a + square / (sqrt(square + 1.0) + 1.0)), x);
}
Term acosh(NodeImport&, Term x) { return log(x + sqrt((x - 1.0) * (x + 1.0))); }
Term atanh(NodeImport&, Term x) {
  const Term a = abs(x);
  return sign_of(log1p((a + a) / (1.0 - a)) * 0.5, x);
}
Term atan(NodeImport&, Term x) { return sign_of(arc_tangent(abs(x)), x); }
Term asin(NodeImport&, Term x) {
  return sign_of(arc_tangent(abs(x) / sqrt((1.0 - x) * (x + 1.0))), x);
}
Term acos(NodeImport&, Term x) { return arc_tangent(sqrt((1.0 - x) / (x + 1.0))) * 2.0; }
Term is_nan(NodeImport&, Term x) { return !equal(x, x); }
Term is_inf(NodeImport& n, Term x) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  const bool up = n.integer("detect_positive", 1) != 0, down = n.integer("detect_negative", 1) != 0;
  if (up && down) return equal(abs(x), infinity);
  return up ? equal(x, infinity) : down ? equal(x, -infinity) : x < -infinity;
}

Outputs prelu(NodeImport& n) {
  Steps step(n);
  const Term x = step.in(0);
  return step.done({where(x < 0.0, x * step.in(1), x)});
}

Outputs exclusive_or(NodeImport& n) {
  Steps step(n);
  const Term a = step.in(0), b = step.in(1);
  return step.done({(a || b) && !(a && b)});
}

// Integers are cut towards zero, Tenon's division rounds down.
Outputs div(NodeImport& n) {
  Steps step(n);
  const Term a = step.in(0), b = step.in(1);
  if (is_float(a.dtype()) || !is_signed(a.dtype())) return step.done({a / b});
  const Term q = abs(a) / abs(b);
  return step.done({where(equal(a < 0, b < 0), q, -q)});
}

// The sign of the divisor, or with `fmod` of the dividend.
Outputs mod(NodeImport& n) {
  Steps step(n);
  const Term a = step.in(0), b = step.in(1);
  if (n.integer("fmod", 0) == 0) return step.done({step.binary("mod", a, b)});
  if (!is_float(a.dtype()) && !is_signed(a.dtype())) return step.done({step.binary("mod", a, b)});
  return step.done({sign_of(step.binary("mod", abs(a), abs(b)), a)});
}

// The result has the type of the base; an integer base with a real exponent is computed in its
// type.
Outputs power(NodeImport& n) {
  Steps step(n);
  const Term a = step.in(0), b = step.in(1);
  if (a.dtype() == b.dtype()) return step.done({step.binary("pow", a, b)});
  if (is_float(a.dtype()) || !is_float(b.dtype()))
    return step.done({step.binary("pow", a, step.cast(b, a.dtype()))});
  return step.done({step.cast(step.binary("pow", step.cast(a, b.dtype()), b), a.dtype())});
}

// Bits that leave on the left are gone; a shift by all bits or more gives 0, as division by a power
// of two that wrapped to 0 does.
Outputs bit_shift(NodeImport& n) {
  Steps step(n);
  const Term a = step.in(0), power = step.binary("pow", step.number(a.dtype(), 2), step.in(1));
  const std::string direction = n.text("direction", "");
  if (direction != "LEFT" && direction != "RIGHT")
    return n.fail(fmt::format("direction '{}' is not known", direction));
  return step.done({direction == "LEFT" ? a * power : a / power});
}

Outputs mean(NodeImport& n) {
  Steps step(n);
  Term sum = step.in(0);
  for (std::size_t i = 1; i < n.n_inputs(); ++i) sum = sum + step.in(i);
  return step.done({sum / static_cast<double>(n.n_inputs())});
}

Outputs cast_like(NodeImport& n) {
  Steps step(n);
  return step.done({step.cast(step.in(0), n.in(1).type().dtype)});
}

constexpr std::size_t any = SIZE_MAX;
constexpr std::array table{
    OpRow{"Elu", 1, 1, formula<elu>},
    OpRow{"Selu", 1, 1, formula<selu>},
    OpRow{"Celu", 1, 1, formula<celu>},
    OpRow{"Softplus", 1, 1, formula<softplus>},
    OpRow{"Softsign", 1, 1, formula<softsign>},
    OpRow{"Mish", 1, 1, formula<mish>},
    OpRow{"HardSwish", 1, 1, formula<hard_swish>},
    OpRow{"Gelu", 1, 1, formula<gelu>},
    OpRow{"ThresholdedRelu", 1, 1, formula<thresholded_relu>},
    OpRow{"Shrink", 1, 1, formula<shrink>},
    OpRow{"Sign", 1, 1, formula<sign>},
    OpRow{"Tan", 1, 1, formula<tangent>},
    OpRow{"Sinh", 1, 1, formula<sinh>},
    OpRow{"Cosh", 1, 1, formula<cosh>},
    OpRow{"Asinh", 1, 1, formula<asinh>},
    OpRow{"Acosh", 1, 1, formula<acosh>},
    OpRow{"Atanh", 1, 1, formula<atanh>},
    OpRow{"Atan", 1, 1, formula<atan>},
    OpRow{"Asin", 1, 1, formula<asin>},
    OpRow{"Acos", 1, 1, formula<acos>},
    OpRow{"IsNaN", 1, 1, formula<is_nan>},
    OpRow{"IsInf", 1, 1, formula<is_inf>},
    OpRow{"PRelu", 2, 2, prelu},
    OpRow{"Xor", 2, 2, exclusive_or},
    OpRow{"Div", 2, 2, div},
    OpRow{"Mod", 2, 2, mod},
    OpRow{"Pow", 2, 2, power},
    OpRow{"BitShift", 2, 2, bit_shift},
    OpRow{"Mean", 1, any, mean},
    OpRow{"CastLike", 2, 2, cast_like},
};

}  // namespace

std::span<const OpRow> activation_rows() { return table; }

}  // namespace tenon::onnx_import
