// Transcendental functions as polynomials. In f32; f16 and bf16 go through f32; f64 is refused
// (supported()).
//
// Largest errors: the table in README.md. sin, cos and pow are computed in f64. Infinities, NaN,
// zeros and overflow come out as in C's libm. In `min` and `max` the second operand wins for NaN
// (scalar.h), so bounds stand first where a NaN has to pass.
#include "math.h"

#include <cmath>
#include <limits>

#include "tenon/diag.h"

namespace tenon::te_lowering {

namespace {

constexpr double inf = std::numeric_limits<double>::infinity();
constexpr double nan = std::numeric_limits<double>::quiet_NaN();

/// Arithmetic in one float type; operands are expressions.
class Math {
 public:
  Math(Code& code, DType t) : code_(code), t_(t) {}

  ExprId k(double v) { return code_.imm_float(t_, v); }
  ExprId op(ScalarOp o, ExprId a) { return code_.scalar(o, t_, {a}); }
  ExprId op(ScalarOp o, ExprId a, ExprId b) { return code_.scalar(o, t_, {a, b}); }
  ExprId add(ExprId a, ExprId b) { return op(ScalarOp::add, a, b); }
  ExprId sub(ExprId a, ExprId b) { return op(ScalarOp::sub, a, b); }
  ExprId mul(ExprId a, ExprId b) { return op(ScalarOp::mul, a, b); }
  ExprId div(ExprId a, ExprId b) { return op(ScalarOp::div, a, b); }
  ExprId fma(ExprId a, ExprId b, ExprId c) { return code_.scalar(ScalarOp::fma, t_, {a, b, c}); }
  ExprId abs(ExprId a) { return op(ScalarOp::abs, a); }
  ExprId neg(ExprId a) { return op(ScalarOp::neg, a); }
  ExprId test(ScalarOp o, ExprId a, ExprId b) { return code_.scalar(o, DType::boolean, {a, b}); }
  ExprId both(ExprId a, ExprId b) { return test(ScalarOp::logical_and, a, b); }
  ExprId either(ExprId a, ExprId b) { return test(ScalarOp::logical_or, a, b); }
  ExprId is_nan(ExprId a) { return code_.scalar(ScalarOp::is_nan, DType::boolean, {a}); }
  ExprId negate(ExprId a) { return code_.scalar(ScalarOp::logical_not, DType::boolean, {a}); }
  ExprId pick(ExprId c, ExprId a, ExprId b) {
    return code_.scalar(ScalarOp::select, code_.type(a).dtype, {c, a, b});
  }
  ExprId to(DType t, ExprId a) { return code_.scalar(ScalarOp::cast, t, {a}); }
  ExprId bits(DType t, ExprId a) { return code_.scalar(ScalarOp::bitcast, t, {a}); }
  ExprId integer(ScalarOp o, DType t, ExprId a, std::int64_t b) {
    return code_.scalar(o, t, {a, code_.imm_int(t, b)});
  }
  /// c[0] x^n + c[1] x^(n-1) + ...
  ExprId poly(ExprId x, std::initializer_list<double> c) {
    ExprId r = tir::none;
    for (double v : c) r = r == tir::none ? k(v) : fma(r, x, k(v));
    return r;
  }
  /// `a` with the sign of `s` (both f32), a >= 0.
  ExprId signed_as(ExprId a, ExprId s) {
    const ExprId sign = integer(ScalarOp::bit_and, DType::i32, bits(DType::i32, s), INT32_MIN);
    return bits(DType::f32,
                code_.scalar(ScalarOp::bit_or, DType::i32, {bits(DType::i32, a), sign}));
  }

  ExprId exp(ExprId x);
  ExprId log(ExprId x);
  ExprId tanh(ExprId x);
  ExprId sigmoid(ExprId x);
  ExprId erf(ExprId x);
  ExprId circular(ExprId x, int quarter);
  ExprId pow(ExprId x, ExprId y);
  ExprId mod(ExprId x, ExprId y);

  // Within the wider bounds of the table, on part of the domain.
  ExprId fast_exp(ExprId x);
  ExprId fast_sigmoid(ExprId x);
  ExprId fast_tanh(ExprId x);
  ExprId fast_erf(ExprId x);
  ExprId fast_circular(ExprId x, int quarter);

 private:
  struct Reduced {
    ExprId p, n, bits;
  };
  Reduced reduced_exp(ExprId x, std::initializer_list<double> c);
  ExprId two_to(ExprId n, ExprId bias);
  ExprId scaled(const Reduced& e);
  ExprId exp_near(ExprId x);
  /// x, or the nearer end of [-most, most]; NaN stays.
  ExprId clamped(ExprId x, double most) {
    return op(ScalarOp::max, k(-most), op(ScalarOp::min, k(most), x));
  }

  Code& code_;
  DType t_;
};

/// Where the result is 0 whatever the rounding, e^0 is computed and dropped: products that
/// underflow take hundreds of cycles, and masked elements of a softmax are of that kind.
ExprId Math::exp(ExprId x) {
  const ExprId stays = negate(test(ScalarOp::lt, x, k(-104)));  // NaN does
  return pick(stays, exp_near(pick(stays, op(ScalarOp::min, k(89), x), k(0))), k(0));
}

/// e^r for |r| <= ln 2 / 2; the shorter one is 1e-7 off.
constexpr std::initializer_list<double> exp_terms = {
    1.38145406e-3, 8.36874545e-3, 4.16683890e-2, 1.66665211e-1, 4.99999940e-1, 1.0, 1.0};
constexpr std::initializer_list<double> few_exp_terms = {
    8.312501013e-3, 4.189033061e-2, 1.666711569e-1, 4.999923110e-1, 1.0, 1.0};

/// x = n ln 2 + r with a whole n and |r| <= ln 2 / 2, as e^r and n. The integers `bits` have n in
/// their low bits: a magic number was added, whose bits a shift by 23 drops.
Math::Reduced Math::reduced_exp(ExprId x, std::initializer_list<double> c) {
  const ExprId magic = k(12582912.0);  // 1.5 * 2^23
  const ExprId shifted = fma(x, k(1.44269504088896341), magic);
  const ExprId n = sub(shifted, magic);
  ExprId r = fma(n, k(-0.693359375), x);
  r = fma(n, k(2.12194440e-4), r);
  return {poly(r, c), n, bits(DType::i32, shifted)};
}

/// 2^(n + bias - 127), bias an i32 whose low bits are zero.
ExprId Math::two_to(ExprId n, ExprId bias) {
  return bits(DType::f32, code_.scalar(ScalarOp::add, DType::i32,
                                       {integer(ScalarOp::shl, DType::i32, n, 23), bias}));
}

/// The power that was reduced, for -126 <= n <= 127.
ExprId Math::scaled(const Reduced& e) {
  if (code_.has_ldexp()) return op(ScalarOp::ldexp, e.p, e.n);
  return mul(e.p, two_to(e.bits, code_.imm_int(DType::i32, 127 << 23)));
}

/// e^x for -104 <= x <= 89. Without an instruction that scales, the power of two is applied in two
/// steps, so that results overflow, and denormal ones round, once and in the last step.
ExprId Math::exp_near(ExprId x) {
  const Reduced e = reduced_exp(x, exp_terms);
  if (code_.has_ldexp()) return op(ScalarOp::ldexp, e.p, e.n);
  const ExprId small = test(ScalarOp::lt, x, k(-80));  // 2^(n + 64) * 2^-64, else 2^(n - 1) * 2
  const ExprId bias = pick(small, code_.imm_int(DType::i32, (127 + 64) << 23),
                           code_.imm_int(DType::i32, 126 << 23));
  return mul(mul(e.p, two_to(e.bits, bias)), pick(small, k(0x1p-64), k(2)));
}

ExprId Math::log(ExprId x0) {
  const ExprId tiny = test(ScalarOp::lt, x0, k(1.17549435e-38));
  const ExprId x = pick(tiny, mul(x0, k(8388608.0)), x0);
  const ExprId raw = bits(DType::i32, x);
  // Exponent and mantissa so that the mantissa lies in [sqrt(1/2), sqrt(2)).
  const ExprId shifted = integer(ScalarOp::sub, DType::i32, raw, 0x3f3504f3);
  const ExprId e = integer(ScalarOp::shr, DType::i32, shifted, 23);
  const ExprId m = bits(DType::f32, code_.scalar(ScalarOp::sub, DType::i32,
                                                 {raw, integer(ScalarOp::shl, DType::i32, e, 23)}));
  const ExprId n = sub(to(DType::f32, e), pick(tiny, k(23), k(0)));
  const ExprId f = sub(m, k(1)), z = mul(f, f);
  ExprId y = poly(
      f, {7.0376836292e-2, -1.1514610310e-1, 1.1676998740e-1, -1.2420140846e-1, 1.4249322787e-1,
          -1.6668057665e-1, 2.0000714765e-1, -2.4999993993e-1, 3.3333331174e-1});
  y = mul(mul(y, f), z);
  y = fma(n, k(-2.12194440e-4), y);
  y = fma(z, k(-0.5), y);
  ExprId r = fma(n, k(0.693359375), add(f, y));
  r = pick(test(ScalarOp::eq, x0, k(inf)), x0, r);
  r = pick(test(ScalarOp::ge, x0, k(0)), r, k(nan));
  return pick(test(ScalarOp::eq, x0, k(0)), k(-inf), r);
}

ExprId Math::tanh(ExprId x) {
  const ExprId a = abs(x), z = mul(x, x);
  const Reduced e = reduced_exp(op(ScalarOp::min, k(20), add(a, a)), exp_terms);  // from 18.1 on, 1
  const ExprId power = scaled(e);
  const ExprId large = sub(k(1), div(k(2), add(power, k(1))));
  ExprId small = poly(z, {-5.70498872745e-3, 2.06390887954e-2, -5.37397155531e-2, 1.33314422036e-1,
                          -3.33332819422e-1});
  small = fma(mul(small, z), a, a);
  return signed_as(pick(test(ScalarOp::lt, a, k(0.625)), small, large), x);
}

ExprId Math::sigmoid(ExprId x) {
  const ExprId e = exp(neg(abs(x)));
  return div(pick(test(ScalarOp::lt, x, k(0)), e, k(1)), add(e, k(1)));
}

/// Two polynomials: around 0, and around the middle of what is left; at 3.92 the result is 1.
ExprId Math::erf(ExprId x) {
  const ExprId t = op(ScalarOp::min, k(3.92), abs(x)), s = mul(x, x), u = sub(t, k(2.46));
  const ExprId near = poly(s, {7.889119297e-05, -8.020841051e-04, 5.189535208e-03, -2.685444430e-02,
                               1.128360033e-01, -3.761262596e-01, 1.283791661e-01});
  const ExprId far = poly(
      u, {-9.124727512e-06, 2.542049697e-05, 5.166672054e-05, -3.016753762e-04, 3.911312670e-04,
          4.621665285e-04, -2.963509178e-03, 6.797655020e-03, -9.904826991e-03, 9.832995012e-03,
          -6.535763387e-03, 2.656193450e-03, 9.994966984e-01});
  return pick(test(ScalarOp::lt, t, k(1)), fma(near, x, x), signed_as(far, x));
}

/// sin (quarter 0) or cos (quarter 1) of an f32, in f64. x * 2/pi is computed modulo 4 for every
/// magnitude: 2/pi stands in four pieces whose products with x are exact, shifted by as many bits
/// as the exponent of x makes irrelevant.
ExprId Math::circular(ExprId x32, int quarter) {
  Math d(code_, DType::f64);
  const ExprId x = to(DType::f64, x32), a = d.abs(x);
  struct Row {
    double limit, scale, piece[4];
  };
  static constexpr Row rows[] = {
      {0,
       1,
       {0x1.45f306c000000p-1, 0x1.c9c882a000000p-29, 0x1.4fe13a8000000p-59, 0x1.f47d4d3000000p-86}},
      {0x1p50,
       0x1p-26,
       {0x1.b939104000000p+0, 0x1.4a7f09d000000p-28, 0x1.7d1f534000000p-58, 0x1.bb81b6c000000p-87}},
      {0x1p76,
       0x1p-52,
       {0x1.529fc26000000p+0, 0x1.57d1f53000000p-28, 0x1.377036c000000p-58, 0x1.8a5664f000000p-86}},
      {0x1p102,
       0x1p-78,
       {0x1.d5f47d4000000p+0, 0x1.a6ee06c000000p-29, 0x1.b14acc9000000p-57,
        0x1.c439041000000p-86}}};
  ExprId scale = d.k(rows[0].scale), piece[4];
  for (int i = 0; i < 4; ++i) piece[i] = d.k(rows[0].piece[i]);
  for (int row = 1; row < 4; ++row) {
    const ExprId here = test(ScalarOp::ge, a, d.k(rows[row].limit));
    scale = d.pick(here, d.k(rows[row].scale), scale);
    for (int i = 0; i < 4; ++i) piece[i] = d.pick(here, d.k(rows[row].piece[i]), piece[i]);
  }
  const ExprId y = d.mul(a, scale);  // of |x|: small results keep their precision modulo 4
  const auto modulo4 = [&](ExprId v) {
    return d.fma(d.op(ScalarOp::floor, d.mul(v, d.k(0.25))), d.k(-4), v);
  };
  const ExprId q0 = modulo4(d.mul(y, piece[0])), q1 = modulo4(d.mul(y, piece[1]));
  const ExprId n = d.op(ScalarOp::round_even, d.add(q0, q1));
  ExprId f = d.add(d.sub(q0, n), q1);
  f = d.add(f, d.add(d.mul(y, piece[2]), d.mul(y, piece[3])));
  const ExprId r = d.mul(f, d.k(1.57079632679489661923)), z = d.mul(r, r);
  const ExprId s = d.fma(d.mul(d.poly(z, {-2.5052108385441718775e-8, 2.7557319223985890653e-6,
                                          -1.9841269841269841270e-4, 8.3333333333333333333e-3,
                                          -1.6666666666666666667e-1}),
                               z),
                         r, r);
  const ExprId c =
      d.poly(z, {2.0876756987868098979e-9, -2.7557319223985890653e-7, 2.4801587301587301587e-5,
                 -1.3888888888888888889e-3, 4.1666666666666666667e-2, -0.5, 1.0});
  const ExprId i = integer(ScalarOp::add, DType::i32, to(DType::i32, n), quarter);
  const auto bit = [&](std::int64_t b) {
    return test(ScalarOp::ne, integer(ScalarOp::bit_and, DType::i32, i, b),
                code_.imm_int(DType::i32, 0));
  };
  const ExprId odd = bit(1), negative = bit(2);
  const ExprId v = d.pick(odd, c, s);
  ExprId result = to(DType::f32, d.pick(negative, d.neg(v), v));
  if (quarter == 0) result = pick(test(ScalarOp::lt, x32, k(0)), neg(result), result);
  const ExprId finite = test(ScalarOp::lt, abs(x32), k(inf));
  const ExprId kept =
      quarter == 0 ? pick(test(ScalarOp::eq, x32, k(0)), x32, result) : result;  // sin(-0) = -0
  return pick(finite, kept, k(nan));
}

/// |x|^y = 2^(y log2 |x|) in f64; then the cases of C99.
ExprId Math::pow(ExprId x32, ExprId y32) {
  Math d(code_, DType::f64);
  const ExprId x = to(DType::f64, x32), y = to(DType::f64, y32), a = d.abs(x);
  const DType i64 = DType::i64;
  const ExprId raw = bits(i64, a);
  const ExprId e =
      integer(ScalarOp::shr, i64, integer(ScalarOp::sub, i64, raw, 0x3fe6a09e667f3bcd), 52);
  const ExprId m =
      bits(DType::f64, code_.scalar(ScalarOp::sub, i64, {raw, integer(ScalarOp::shl, i64, e, 52)}));
  const ExprId s = d.div(d.sub(m, d.k(1)), d.add(m, d.k(1))), z = d.mul(s, s);
  // log2(m) = 2/ln2 (s + s^3/3 + s^5/5 + ...)
  const ExprId series =
      d.poly(z, {1.0 / 17, 1.0 / 15, 1.0 / 13, 1.0 / 11, 1.0 / 9, 1.0 / 7, 1.0 / 5, 1.0 / 3, 1.0});
  const ExprId log2 = d.fma(d.mul(s, series), d.k(2.88539008177792681472), d.to(DType::f64, e));
  const ExprId t = d.op(ScalarOp::min, d.k(1000), d.op(ScalarOp::max, d.k(-1000), d.mul(y, log2)));
  const ExprId n = d.op(ScalarOp::round_even, t);
  const ExprId r = d.mul(d.sub(t, n), d.k(0.69314718055994530942));
  const ExprId p =
      d.poly(r, {2.7557319223985890653e-7, 2.7557319223985890653e-6, 2.4801587301587301587e-5,
                 1.9841269841269841270e-4, 1.3888888888888888889e-3, 8.3333333333333333333e-3,
                 4.1666666666666666667e-2, 1.6666666666666666667e-1, 0.5, 1.0, 1.0});
  const ExprId biased = integer(ScalarOp::add, i64, to(i64, n), 1023);
  const ExprId scale = bits(DType::f64, integer(ScalarOp::shl, i64, biased, 52));
  ExprId v = to(DType::f32, d.mul(p, scale));

  const ExprId ax = abs(x32), ay = abs(y32), zero = k(0), one = k(1);
  const ExprId grows = test(ScalarOp::gt, ax, one), up = test(ScalarOp::gt, y32, zero);
  const ExprId towards_inf = test(ScalarOp::eq, code_.scalar(ScalarOp::cast, DType::u8, {grows}),
                                  code_.scalar(ScalarOp::cast, DType::u8, {up}));
  const ExprId extreme =
      either(either(test(ScalarOp::eq, ax, k(inf)), test(ScalarOp::eq, ax, zero)),
             test(ScalarOp::eq, ay, k(inf)));
  v = pick(extreme, pick(towards_inf, k(inf), zero), v);
  const ExprId whole = test(ScalarOp::eq, op(ScalarOp::floor, y32), y32);
  const ExprId half = mul(y32, k(0.5));
  const ExprId odd = both(both(whole, test(ScalarOp::ne, op(ScalarOp::floor, half), half)),
                          test(ScalarOp::lt, ay, k(inf)));
  const ExprId sign = test(ScalarOp::lt, bits(DType::i32, x32), code_.imm_int(DType::i32, 0));
  v = pick(both(sign, odd), neg(v), v);
  const ExprId bad =
      both(both(test(ScalarOp::lt, x32, zero), negate(whole)), test(ScalarOp::lt, ax, k(inf)));
  v = pick(bad, k(nan), v);
  v = pick(either(is_nan(x32), is_nan(y32)), k(nan), v);
  v = pick(both(test(ScalarOp::eq, ax, one), test(ScalarOp::eq, ay, k(inf))), one, v);
  return pick(either(test(ScalarOp::eq, y32, zero), test(ScalarOp::eq, x32, one)), one, v);
}

/// Results stay between the least and about the largest normal number.
ExprId Math::fast_exp(ExprId x) {
  const ExprId near = op(ScalarOp::max, k(-87.33), op(ScalarOp::min, k(88.37), x));
  const Reduced e = reduced_exp(near, few_exp_terms);
  return scaled(e);
}

ExprId Math::fast_sigmoid(ExprId x) { return div(k(1), add(fast_exp(neg(x)), k(1))); }

/// Quotients of polynomials in x^2, times x.
ExprId Math::fast_tanh(ExprId x) {
  const ExprId c = clamped(x, 7.90531110763549805), z = mul(c, c);
  const ExprId p = poly(
      z, {-2.76076847742355e-16, 2.00018790482477e-13, -8.60467152213735e-11, 5.12229709037114e-08,
          1.48572235717979e-05, 6.37261928875436e-04, 4.89352455891786e-03});
  const ExprId q = poly(
      z, {1.19825839466702e-06, 1.18534705686654e-04, 2.26843463243900e-03, 4.89352518554385e-03});
  return mul(c, div(p, q));
}

ExprId Math::fast_erf(ExprId x) {
  const ExprId c = clamped(x, 4), z = mul(c, c);
  const ExprId p = poly(
      z, {-2.72614225801306e-10, 2.77068142495902e-08, -2.10102402082508e-06, -5.69250639462346e-05,
          -7.34990630326855e-04, -2.95459980854025e-03, -1.60960333262415e-02});
  const ExprId q = poly(z, {-1.45660718464996e-05, -2.13374055278905e-04, -1.68282697438203e-03,
                            -7.37332916720468e-03, -1.42647390514189e-02});
  return mul(c, div(p, q));
}

/// pi/2 in two pieces: exact enough while x * 2/pi has few digits. Where it has many, the result
/// means nothing, but lies in [-1, 1].
ExprId Math::fast_circular(ExprId x, int quarter) {
  const ExprId magic = k(12582912.0), shifted = fma(x, k(0.63661977236758134), magic);
  const ExprId n = sub(shifted, magic);
  ExprId r = fma(n, k(-1.57079637050628662), x);
  r = clamped(fma(n, k(4.37113882867379e-8), r), 0.8);
  const ExprId z = mul(r, r);
  const ExprId s =
      fma(mul(poly(z, {-1.9515295891e-4, 8.3321608736e-3, -1.6666654611e-1}), z), r, r);
  const ExprId c =
      poly(z, {2.443315711809948e-5, -1.388731625493765e-3, 4.166664568298827e-2, -0.5, 1.0});
  const ExprId i = integer(ScalarOp::add, DType::i32, bits(DType::i32, shifted), quarter);
  const auto bit = [&](std::int64_t b) {
    return test(ScalarOp::ne, integer(ScalarOp::bit_and, DType::i32, i, b),
                code_.imm_int(DType::i32, 0));
  };
  const ExprId v = pick(bit(1), c, s);
  return pick(bit(2), neg(v), v);
}

/// Remainder with the sign of y; exact. In f64 each round takes 29 bits off the quotient, which has
/// at most 277.
ExprId Math::mod(ExprId x32, ExprId y32) {
  Math d(code_, DType::f64);
  const ExprId y = d.abs(to(DType::f64, y32)), x = to(DType::f64, x32);
  ExprId r = d.abs(x);
  for (int shift = 29 * 9; shift >= 0; shift -= 29) {
    const ExprId step = d.mul(y, d.k(std::ldexp(1.0, shift)));
    const ExprId q = d.op(ScalarOp::floor, d.div(r, step));
    r = d.fma(d.neg(q), step, r);
    r = d.pick(test(ScalarOp::lt, r, d.k(0)), d.add(r, step), r);
  }
  r = d.pick(test(ScalarOp::lt, x, d.k(0)), d.neg(r), r);
  const ExprId differ = either(both(test(ScalarOp::lt, r, d.k(0)), test(ScalarOp::gt, y32, k(0))),
                               both(test(ScalarOp::gt, r, d.k(0)), test(ScalarOp::lt, y32, k(0))));
  const ExprId y_signed = to(DType::f64, y32);
  ExprId v = to(DType::f32, d.pick(differ, d.add(r, y_signed), r));
  v = pick(test(ScalarOp::eq, x32, k(0)), x32, v);  // -0 stays what it is
  // x mod inf is x or, with the other sign, that inf; x mod 0 and inf mod y are NaN.
  const ExprId y_inf = test(ScalarOp::eq, abs(y32), k(inf));
  const ExprId other_sign =
      either(both(test(ScalarOp::lt, x32, k(0)), test(ScalarOp::gt, y32, k(0))),
             both(test(ScalarOp::gt, x32, k(0)), test(ScalarOp::lt, y32, k(0))));
  v = pick(y_inf, pick(other_sign, y32, x32), v);
  const ExprId bad =
      either(either(test(ScalarOp::eq, y32, k(0)), test(ScalarOp::eq, abs(x32), k(inf))),
             either(is_nan(x32), is_nan(y32)));
  return pick(bad, k(nan), v);
}

/// Wraps; a negative exponent gives 0 unless the base is 1 or -1.
ExprId integer_pow(Code& code, DType t, ExprId x, ExprId y) {
  const auto op = [&](ScalarOp o, ExprId a, ExprId b) { return code.scalar(o, t, {a, b}); };
  const auto test = [&](ScalarOp o, ExprId a, ExprId b) {
    return code.scalar(o, DType::boolean, {a, b});
  };
  const ExprId zero = code.imm_int(t, 0), one = code.imm_int(t, 1);
  ExprId result = one, square = x;
  for (unsigned b = 0; b < bits(t) - (is_signed(t) ? 1 : 0); ++b) {
    const ExprId bit = op(ScalarOp::bit_and, op(ScalarOp::shr, y, code.imm_int(t, b)), one);
    result =
        code.scalar(ScalarOp::select, t,
                    {test(ScalarOp::ne, bit, zero), op(ScalarOp::mul, result, square), result});
    square = op(ScalarOp::mul, square, square);
  }
  if (!is_signed(t)) return result;
  const ExprId minus = code.imm_int(t, -1);
  const ExprId odd = test(ScalarOp::ne, op(ScalarOp::bit_and, y, one), zero);
  const ExprId of_minus = code.scalar(ScalarOp::select, t, {odd, minus, one});
  ExprId negative =
      code.scalar(ScalarOp::select, t, {test(ScalarOp::eq, x, minus), of_minus, zero});
  negative = code.scalar(ScalarOp::select, t, {test(ScalarOp::eq, x, one), one, negative});
  return code.scalar(ScalarOp::select, t, {test(ScalarOp::lt, y, zero), negative, result});
}

}  // namespace

bool supported(ScalarOp op, DType operand) {
  const bool expanded = is_transcendental(op) || op == ScalarOp::mod;
  return !(expanded && operand == DType::f64);
}

ExprId scalar(Code& code, ScalarOp op, DType result, const std::vector<ExprId>& args, bool fast) {
  const DType t = code.type(args[0]).dtype;
  const bool own = is_transcendental(op) || (op == ScalarOp::mod && is_float(t));
  if (!own) return code.scalar(op, result, args);
  if (!is_float(t)) return integer_pow(code, t, args[0], args[1]);
  Math m(code, DType::f32);
  const ExprId x = t == DType::f32 ? args[0] : m.to(DType::f32, args[0]);
  const ExprId y = args.size() < 2   ? tir::none
                   : t == DType::f32 ? args[1]
                                     : m.to(DType::f32, args[1]);
  ExprId r = tir::none;
  switch (op) {
    case ScalarOp::exp:
      r = fast ? m.fast_exp(x) : m.exp(x);
      break;
    case ScalarOp::log:
      r = m.log(x);
      break;
    case ScalarOp::tanh:
      r = fast ? m.fast_tanh(x) : m.tanh(x);
      break;
    case ScalarOp::erf:
      r = fast ? m.fast_erf(x) : m.erf(x);
      break;
    case ScalarOp::sigmoid:
      r = fast ? m.fast_sigmoid(x) : m.sigmoid(x);
      break;
    case ScalarOp::sin:
      r = fast ? m.fast_circular(x, 0) : m.circular(x, 0);
      break;
    case ScalarOp::cos:
      r = fast ? m.fast_circular(x, 1) : m.circular(x, 1);
      break;
    case ScalarOp::pow:
      r = m.pow(x, y);
      break;
    case ScalarOp::mod:
      r = m.mod(x, y);
      break;
    default:
      TENON_BUG("a transcendental operation without an expansion");
  }
  return t == DType::f32 ? r : m.to(t, r);
}

}  // namespace tenon::te_lowering
