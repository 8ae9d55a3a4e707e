#include "helpers.h"

#include <fmt/format.h>

#include "tenon/diag.h"
#include "texts.h"

namespace tenon::c_target {
namespace {

/// The unsigned type in which integers of this width are computed: C promotes smaller ones to int,
/// which must not overflow.
std::string_view unsigned_type(DType t) { return bits(t) == 64 ? "uint64_t" : "uint32_t"; }

std::string limit(DType t, const char* end) {
  return fmt::format("{}INT{}_{}", is_signed(t) ? "" : "U", bits(t), end);
}

std::string power_of_two(DType from, unsigned n) {
  return fmt::format("0x1p+{}{}", n, from == DType::f32 ? "f" : "");
}

std::string suffix(DType t) { return t == DType::f32 ? "f" : ""; }

std::string replaced(std::string text, std::string_view what, std::string_view by) {
  for (std::size_t at = text.find(what); at != text.npos; at = text.find(what, at + by.size()))
    text.replace(at, what.size(), by);
  return text;
}

}  // namespace

std::string_view prelude() { return prelude_text; }

std::string_view c_type(DType t) {
  switch (t) {
    case DType::f32:
      return "float";
    case DType::f64:
      return "double";
    case DType::f16:
    case DType::bf16:
    case DType::u16:
      return "uint16_t";
    case DType::i8:
      return "int8_t";
    case DType::i16:
      return "int16_t";
    case DType::i32:
      return "int32_t";
    case DType::i64:
      return "int64_t";
    case DType::u8:
      return "uint8_t";
    case DType::u32:
      return "uint32_t";
    case DType::u64:
      return "uint64_t";
    case DType::boolean:
      return "bool";
    default:
      TENON_BUG("a type that refuse() should have refused");
  }
}

std::string memory_type(DType t) { return fmt::format("tnc_{}", name(t)); }

std::string Helpers::add(std::string name, std::string body) {
  if (!done_.try_emplace(name, true).second) return name;
  text_ += '\n' + replaced(std::move(body), "$", name);
  return name;
}

std::string Helpers::from_bits(DType t) {
  return add(fmt::format("tnc_{}_of_bits", name(t)),
             fmt::format("TNC_INLINE {0} $({1} u) {{\n  union {{\n    {1} u;\n    {0} f;\n  }} "
                         "x;\n  x.u = u;\n  return x.f;\n}}\n",
                         c_type(t), unsigned_type(t)));
}

std::string Helpers::to_bits(DType t) {
  return add(fmt::format("tnc_bits_of_{}", name(t)),
             fmt::format("TNC_INLINE {1} $({0} f) {{\n  union {{\n    {1} u;\n    {0} f;\n  }} "
                         "x;\n  x.f = f;\n  return x.u;\n}}\n",
                         c_type(t), unsigned_type(t)));
}

std::string Helpers::widen(DType from) {
  const std::string text(from == DType::f16 ? f16_to_f32_text : bf16_to_f32_text);
  const std::string of = from_bits(DType::f32), to = from == DType::f16 ? to_bits(DType::f32) : "";
  return add(fmt::format("tnc_{}_to_f32", name(from)),
             replaced(replaced(text, "FROM", of), "TO", to));
}

std::string Helpers::narrow(DType t) {
  const std::string text(t == DType::f16 ? f32_to_f16_text : f32_to_bf16_text);
  const std::string to = to_bits(DType::f32), of = t == DType::f16 ? from_bits(DType::f32) : "";
  return add(fmt::format("tnc_f32_to_{}", name(t)), replaced(replaced(text, "FROM", of), "TO", to));
}

std::string Helpers::saturate(DType from, DType to) {
  const unsigned w = bits(to) - (is_signed(to) ? 1 : 0);
  const std::string low = is_signed(to)          ? "-" + power_of_two(from, w)
                          : suffix(from).empty() ? "0.0"
                                                 : "0.0f";
  return add(
      fmt::format("tnc_{}_to_{}", name(from), name(to)),
      fmt::format(
          "TNC_INLINE {1} $({0} a) {{\n  if (a != a) return 0;\n  if (a <= {2}) return {3};\n"
          "  if (a >= {4}) return {5};\n  return ({1})a;\n}}\n",
          c_type(from), c_type(to), low, is_signed(to) ? limit(to, "MIN") : "0",
          power_of_two(from, w), limit(to, "MAX")));
}

std::string Helpers::operation(ScalarOp op, DType t) {
  const std::string body = is_float(t) ? float_body(op, t) : integer_body(op, t);
  static constexpr std::string_view parameters[] = {"{0} a", "{0} a, {0} b", "{0} a, {0} b, {0} c"};
  const std::string_view result = is_comparison(op) || op == ScalarOp::is_nan ? "bool" : c_type(t);
  const std::string list = fmt::format(fmt::runtime(parameters[arity(op) - 1]), c_type(t));
  return add(fmt::format("tnc_{}_{}", name(op), name(t)),
             fmt::format("TNC_INLINE {} $({}) {{\n{}}}\n", result, list, body));
}

// T: the type; U: the unsigned type in which it is computed; W: its bits.
std::string Helpers::integer_body(ScalarOp op, DType t) const {
  struct Row {
    ScalarOp op;
    const char *of_signed, *of_unsigned;
  };
  static constexpr const char* same = nullptr;
  static constexpr Row rows[] = {
      {ScalarOp::neg, "  return (T)(0u - (U)a);\n", same},
      {ScalarOp::abs, "  return a < 0 ? (T)(0u - (U)a) : a;\n", "  return a;\n"},
      {ScalarOp::bit_not, "  return (T)(~(U)a);\n", same},
      {ScalarOp::add, "  return (T)((U)a + (U)b);\n", same},
      {ScalarOp::sub, "  return (T)((U)a - (U)b);\n", same},
      {ScalarOp::mul, "  return (T)((U)a * (U)b);\n", same},
      {ScalarOp::fma, "  return (T)((U)a * (U)b + (U)c);\n", same},
      {ScalarOp::min, "  return a < b ? a : b;\n", same},
      {ScalarOp::max, "  return a > b ? a : b;\n", same},
      {ScalarOp::bit_and, "  return (T)((U)a & (U)b);\n", same},
      {ScalarOp::bit_or, "  return (T)((U)a | (U)b);\n", same},
      {ScalarOp::bit_xor, "  return (T)((U)a ^ (U)b);\n", same},
      {ScalarOp::shl, "  return (U)b >= W ? 0 : (T)((U)a << (U)b);\n", same},
      {ScalarOp::shr, "  return (T)(a >> ((U)b >= W ? W - 1u : (U)b));\n",
       "  return (U)b >= W ? 0 : (T)((U)a >> (U)b);\n"},
      {ScalarOp::div,
       "  if (b == 0) return 0;\n  if (b == -1) return (T)(0u - (U)a);\n"
       "  return (T)(a / b - (a % b != 0 && (a < 0) != (b < 0)));\n",
       "  return b == 0 ? 0 : (T)(a / b);\n"},
      {ScalarOp::mod,
       "  if (b == 0 || b == -1) return 0;\n  const T r = (T)(a % b);\n"
       "  return (T)(r != 0 && (r < 0) != (b < 0) ? r + b : r);\n",
       "  return b == 0 ? 0 : (T)(a % b);\n"},
      {ScalarOp::lt, "  return a < b;\n", same},
      {ScalarOp::le, "  return a <= b;\n", same},
      {ScalarOp::gt, "  return a > b;\n", same},
      {ScalarOp::ge, "  return a >= b;\n", same}};
  for (const Row& row : rows) {
    if (row.op != op) continue;
    std::string body = is_signed(t) || row.of_unsigned == same ? row.of_signed : row.of_unsigned;
    body = replaced(std::move(body), "(T)", fmt::format("({})", c_type(t)));
    body = replaced(std::move(body), "const T", fmt::format("const {}", c_type(t)));
    body = replaced(std::move(body), "(U)", fmt::format("({})", unsigned_type(t)));
    return replaced(std::move(body), "W", fmt::format("{}u", bits(t)));
  }
  TENON_BUG("an operation that refuse() should have refused");
}

std::string Helpers::float_body(ScalarOp op, DType t) {
  switch (op) {
    case ScalarOp::abs: {
      const std::string to = to_bits(t), of = from_bits(t);
      return fmt::format("  return {}({}(a) & {});\n", of, to,
                         t == DType::f32 ? "0x7fffffffu" : "UINT64_C(0x7fffffffffffffff)");
    }
    case ScalarOp::is_nan:
      return "  return a != a;\n";
    case ScalarOp::min:
      return "  return a < b ? a : b;\n";
    case ScalarOp::max:
      return "  return a > b ? a : b;\n";
    case ScalarOp::ldexp:  // exact in double; the conversion is the only rounding
      return fmt::format(
          "  if (b != b) return b;\n  if (b > 0x1.fffffep+127f) return a != a ? b : a * b;\n"
          "  if (b < -0x1.fffffep+127f) return a != a ? 0.0f : a * 0.0f;\n"
          "  const float m = b < -600.0f ? -600.0f : b > 600.0f ? 600.0f : b;\n"
          "  const int32_t whole = (int32_t)m, n = whole - ((float)whole > m);\n"
          "  return (float)((double)a * {}((uint64_t)(n + 1023) << 52));\n",
          from_bits(DType::f64));
    case ScalarOp::floor:
    case ScalarOp::ceil:
    case ScalarOp::round_even:
      return rounding_body(op, t);
    case ScalarOp::sqrt:
      return root_body(t);
    case ScalarOp::fma:
      return fma_body(t);
    default:
      TENON_BUG("an operation that refuse() should have refused");
  }
}

// Adding and taking away 2^23 (2^52) with the operand's sign rounds to even; floor and ceil correct
// that by one; the sign is the operand's, so that -0 stays.
std::string Helpers::rounding_body(ScalarOp op, DType t) {
  const std::string to = to_bits(t), of = from_bits(t), f = suffix(t);
  const std::string_view type = c_type(t);
  const std::string sign = t == DType::f32 ? "0x80000000u" : "UINT64_C(0x8000000000000000)";
  std::string body =
      fmt::format("  const {0} sign = {1}(a) & {2};\n  const {3} big = {4}(sign | {1}({5}));\n",
                  unsigned_type(t), to, sign, type, of, t == DType::f32 ? "0x1p+23f" : "0x1p+52");
  body += fmt::format("  if (!(sign ? a > big : a < big)) return a;\n  {} r = (a + big) - big;\n",
                      type);
  if (op == ScalarOp::floor) body += fmt::format("  if (r > a) r -= 1.0{};\n", f);
  if (op == ScalarOp::ceil) body += fmt::format("  if (r < a) r += 1.0{};\n", f);
  return body + fmt::format("  return {0}(({1}(r) & ~{2}) | sign);\n", of, to, sign);
}

// The instruction where there is one: the library function would set errno. Else digit by digit, 28
// (57) bits with the last one saying "there was more", so that the conversion is the only rounding.
std::string Helpers::root_body(DType t) {
  const bool single = t == DType::f32;
  const std::string to = to_bits(t), of = from_bits(t),
                    root = add("tnc_root", std::string(root_text));
  std::string body = fmt::format(
      "#if defined(__GNUC__) && !defined(TENON_PORTABLE) && defined(__x86_64__)\n"
      "  {0} r;\n  __asm__(\"{1} %1, %0\" : \"=x\"(r) : \"x\"(a));\n  return r;\n"
      "#elif defined(__GNUC__) && !defined(TENON_PORTABLE) && defined(__ARM_FP) && (__ARM_FP & "
      "{2})\n"
      "  {0} r;\n  __asm__(\"{3}\" : \"={4}\"(r) : \"{4}\"(a));\n  return r;\n#else\n",
      c_type(t), single ? "sqrtss" : "sqrtsd", single ? 4 : 8,
      single ? "vsqrt.f32 %0, %1" : "vsqrt.f64 %P0, %P1", single ? "t" : "w");
  const int mantissa = single ? 23 : 52, top = single ? 255 : 2047, bias = single ? 127 : 1023,
            extra = single ? 14 : 29;
  const std::string u(unsigned_type(t)), one = single ? "1u" : "UINT64_C(1)";
  body += fmt::format(
      "  const {0} raw = {1}(a);\n  uint64_t m = raw & (({2} << {3}) - 1u), rest;\n  int e = "
      "(int)((raw >> {3}) & {4}u);\n"
      "  if ((e == 0 && m == 0) || a != a) return a;\n  if (raw >> {5}) return {6}(({0}){4}u << "
      "{3} | ({2} << {7}));\n"
      "  if (e == {4}) return a;\n  if (e == 0)\n    for (e = 1; !(m >> {3}); e--) m <<= 1;\n  m "
      "|= (uint64_t)1 << {3};\n"
      "  e -= {8};\n  if (e & 1) {{\n    m <<= 1;\n    e--;\n  }}\n",
      u, to, one, mantissa, top, bits(t) - 1, of, mantissa - 1, bias + mantissa);
  body += fmt::format(
      "  uint64_t q = {0}(m, {1}, &rest);\n  q = q << 1 | (rest != 0);\n"
      "  return ({2})q * {3}(({4})(e / 2 - {5} + {6}) << {7});\n#endif\n",
      root, extra, c_type(t), of, u, extra + 1, bias, mantissa);
  return body;
}

std::string Helpers::fma_body(DType t) {
  const std::string to = to_bits(DType::f64), of = from_bits(DType::f64);
  if (t == DType::f64) {
    const std::string split = add("tnc_split", replaced(std::string(split_text), "TO", to));
    const std::string shift = add("tnc_shift", std::string(shift_text));
    const std::string soft =
        replaced(replaced(std::string(fma_f64_text), "SPLIT", split), "SHIFT", shift);
    return "#if !defined(TENON_PORTABLE) && (defined(__FMA__) || defined(__aarch64__) || \\\n"
           "    (defined(__ARM_FEATURE_FMA) && defined(__ARM_FP) && (__ARM_FP & 8)))\n"
           "  return __builtin_fma(a, b, c);\n#else\n" +
           replaced(replaced(soft, "TO", to), "OF", of);
  }
  // a * b is exact in double. Its sum with c is rounded to odd (the last bit says "there was
  // more"), so that the rounding to float is the only one.
  return fmt::format(
      "#if !defined(TENON_PORTABLE) && (defined(__FMA__) || defined(__aarch64__) || "
      "defined(__ARM_FEATURE_FMA))\n"
      "  return __builtin_fmaf(a, b, c);\n#else\n"
      "  const double p = (double)a * (double)b, q = (double)c, s = p + q, t = s - p;\n"
      "  const double more = (p - (s - t)) + (q - t);\n  uint64_t u = {0}(s);\n"
      "  if ((more < 0.0 || more > 0.0) && !(u & 1u)) u = (more > 0.0) == (s > 0.0) ? u + 1u : u - "
      "1u;\n"
      "  return (float){1}(u);\n#endif\n",
      to, of);
}

}  // namespace tenon::c_target
