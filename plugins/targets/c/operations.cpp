#include "operations.h"

#include <fmt/format.h>

#include <cmath>

namespace tenon::c_target {
namespace {

bool is_half(DType t) { return t == DType::f16 || t == DType::bf16; }

std::string integer_text(DType t, std::int64_t i) {
  const unsigned w = bits(t);
  const auto raw = static_cast<std::uint64_t>(i) << (64 - w) >> (64 - w);
  if (!is_signed(t)) return w == 64 ? fmt::format("UINT64_C({})", raw) : fmt::format("{}u", raw);
  const std::int64_t v =
      static_cast<std::int64_t>(static_cast<std::uint64_t>(i) << (64 - w)) >> (64 - w);
  if (w >= 32 && v == (w == 64 ? INT64_MIN : INT32_MIN)) return fmt::format("INT{}_MIN", w);
  const std::string digits =
      w == 64 ? fmt::format("INT64_C({})", v < 0 ? -v : v) : fmt::format("{}", v < 0 ? -v : v);
  return v < 0 ? fmt::format("(-{})", digits) : digits;
}

/// Decimal where it is short and exact, else hexadecimal.
std::string float_text(double f, const char* suffix) {
  const bool short_integer = f == std::floor(f) && std::fabs(f) < 1e6;
  const std::string text =
      short_integer ? fmt::format("{:.1f}{}", f, suffix) : fmt::format("{:a}{}", f, suffix);
  return std::signbit(f) ? "(" + text + ")" : text;
}

}  // namespace

std::string_view infix(ScalarOp op) {
  switch (op) {
    case ScalarOp::add:
      return "+";
    case ScalarOp::sub:
      return "-";
    case ScalarOp::mul:
      return "*";
    case ScalarOp::div:
      return "/";
    case ScalarOp::mod:
      return "%";
    case ScalarOp::eq:
      return "==";
    case ScalarOp::ne:
      return "!=";
    case ScalarOp::lt:
      return "<";
    case ScalarOp::le:
      return "<=";
    case ScalarOp::gt:
      return ">";
    case ScalarOp::ge:
      return ">=";
    case ScalarOp::logical_and:
      return "&&";
    case ScalarOp::logical_or:
      return "||";
    default:
      return "";
  }
}

std::string bare(std::string text) {
  if (text.empty() || text.front() != '(') return text;
  int depth = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    depth += text[i] == '(' ? 1 : text[i] == ')' ? -1 : 0;
    if (depth == 0) return i + 1 == text.size() ? text.substr(1, i - 1) : text;
  }
  return text;
}

std::string Operations::call(const std::string& function, Texts a) const {
  std::string out = function + "(";
  for (std::size_t i = 0; i < a.size(); ++i) out += (i ? ", " : "") + bare(a[i]);
  return out + ")";
}

std::string Operations::constant(DType t, double f, std::int64_t i) {
  if (t == DType::boolean) return i != 0 ? "true" : "false";
  if (!is_float(t)) return integer_text(t, i);
  if (is_half(t)) return h_.narrow(t) + "(" + constant(DType::f32, f, 0) + ")";
  if (t == DType::f32) f = static_cast<float>(f);
  if (std::isfinite(f)) return float_text(f, t == DType::f32 ? "f" : "");
  const bool single = t == DType::f32;
  const unsigned top = std::isnan(f) ? (single ? 0x7fc : 0x7ff8) : (single ? 0x7f8 : 0x7ff0);
  const unsigned sign = std::signbit(f) ? (single ? 0x800 : 0x8000) : 0;
  return single ? fmt::format("{}(0x{:03x}00000u)", h_.from_bits(t), top | sign)
                : fmt::format("{}(UINT64_C(0x{:04x}000000000000))", h_.from_bits(t), top | sign);
}

std::string Operations::print(ScalarOp op, DType from, DType to, Texts a) {
  if (op == ScalarOp::cast) return cast(from, to, a[0]);
  if (op == ScalarOp::bitcast) return bitcast(from, to, a[0]);
  if (op == ScalarOp::select) return fmt::format("({} ? {} : {})", a[0], a[1], a[2]);
  if (op == ScalarOp::logical_not) return fmt::format("(!{})", a[0]);
  if (is_half(from)) {
    std::vector<std::string> wide;
    for (const std::string& x : a) wide.push_back(h_.widen(from) + "(" + bare(x) + ")");
    const std::string r = print(op, DType::f32, is_float(to) ? DType::f32 : to, wide);
    return is_float(to) ? h_.narrow(from) + "(" + bare(r) + ")" : r;
  }
  if (is_float(from)) return floats(op, from, a);
  if (op == ScalarOp::floor || op == ScalarOp::ceil || op == ScalarOp::round_even) return a[0];
  // Unsigned ones are compared by a function: `x >= 0` in the open is what compilers warn of.
  const bool open = op == ScalarOp::eq || op == ScalarOp::ne || from == DType::boolean ||
                    (is_comparison(op) && is_signed(from));
  if (open) return fmt::format("({} {} {})", a[0], infix(op), a[1]);
  return call(h_.operation(op, from), a);
}

std::string Operations::floats(ScalarOp op, DType t, Texts a) {
  if (op == ScalarOp::neg) return fmt::format("(-{})", a[0]);
  const std::string_view sign = infix(op);
  if (sign.empty() || op == ScalarOp::mod) return call(h_.operation(op, t), a);
  return fmt::format("({} {} {})", a[0], sign, a[1]);
}

std::string Operations::cast(DType from, DType to, const std::string& a) {
  if (from == to) return a;
  if (is_half(from)) return cast(DType::f32, to, h_.widen(from) + "(" + bare(a) + ")");
  if (is_half(to)) return h_.narrow(to) + "(" + bare(cast(from, DType::f32, a)) + ")";
  if (to == DType::boolean)
    return fmt::format("({} != {})", a,
                       !is_float(from)      ? "0"
                       : from == DType::f32 ? "0.0f"
                                            : "0.0");
  if (is_float(from) && !is_float(to)) return h_.saturate(from, to) + "(" + bare(a) + ")";
  return fmt::format("(({}){})", c_type(to), a);
}

std::string Operations::bitcast(DType from, DType to, const std::string& a) {
  if (from == to) return a;
  std::string raw = a;
  if (is_float(from) && !is_half(from)) raw = h_.to_bits(from) + "(" + bare(a) + ")";
  if (is_half(to)) return fmt::format("((uint16_t){})", raw);
  if (is_float(to))
    return fmt::format("{}(({}){})", h_.from_bits(to), bits(to) == 64 ? "uint64_t" : "uint32_t",
                       raw);
  return fmt::format("(({}){})", c_type(to), raw);
}

}  // namespace tenon::c_target
