#include <limits>

#include "core/ops/support/common.h"

namespace tenon::ops {

namespace {

/// A bound as a value of type `t`, saturated for integers.
E bound(E x, double v) {
  const DType t = x.dtype();
  if (is_float(t)) return x.b->imm(t, v);
  const unsigned n = bits(t) - (is_signed(t) ? 1 : 0);
  const double high =
      n >= 63 ? 9223372036854774784.0 : static_cast<double>((std::int64_t{1} << n) - 1);
  const double low =
      is_signed(t) ? (n >= 63 ? -9223372036854775808.0 : -static_cast<double>(std::int64_t{1} << n))
                   : 0;
  return x.b->imm_int(t, static_cast<std::int64_t>(v > high ? high : v < low ? low : v));
}

/// A bound that is infinite does nothing. The operand comes second, so that a NaN stays a NaN.
E clipped(const OpContext& c, E x) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  const double low = c.real("min"), high = c.real("max");
  if (low != -infinity) x = te::max(bound(x, low), x);
  if (high != infinity) x = te::min(bound(x, high), x);
  return x;
}

Result<Types> clip_type(const OpContext& c) {
  if (c.real("min") != c.real("min") || c.real("max") != c.real("max"))
    return c.error("a bound is NaN");
  return infer_same(c, number);
}

}  // namespace

OpDef clip() {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  OpDef d = unary_op("clip", "Clamps: out[i] = min(max, max(min, x[i])); NaN stays NaN.", clip_type,
                     elementwise<clipped>);
  d.attrs = {{"min", AttrKind::real, "lower bound", -infinity},
             {"max", AttrKind::real, "upper bound", infinity}};
  return d;
}

}  // namespace tenon::ops
