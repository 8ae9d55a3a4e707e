#include "core/te/fold.h"

namespace tenon::te {

namespace {

using I = std::int64_t;
using U = std::uint64_t;

I floor_div(I a, I b) {
  if (b == 0) return 0;
  if (b == -1) return static_cast<I>(U{0} - static_cast<U>(a));
  I q = a / b;
  return q - ((a % b != 0) && ((a % b < 0) != (b < 0)) ? 1 : 0);
}

I floor_mod(I a, I b) {
  if (b == 0 || b == -1) return 0;
  I r = a % b;
  return r != 0 && ((r < 0) != (b < 0)) ? r + b : r;
}

/// Division, order and shifts of u64 differ from those of the i64 with the same bits.
bool less(DType t, I a, I b) {
  return t == DType::u64 ? static_cast<U>(a) < static_cast<U>(b) : a < b;
}

std::optional<I> fold_arith(ScalarOp op, DType t, I a, I b) {
  bool wide = t == DType::u64;
  U ua = static_cast<U>(a), ub = static_cast<U>(b);
  switch (op) {
    case ScalarOp::add:
      return static_cast<I>(ua + ub);
    case ScalarOp::sub:
      return static_cast<I>(ua - ub);
    case ScalarOp::mul:
      return static_cast<I>(ua * ub);
    case ScalarOp::div:
      return wide ? static_cast<I>(ub == 0 ? 0 : ua / ub) : floor_div(a, b);
    case ScalarOp::mod:
      return wide ? static_cast<I>(ub == 0 ? 0 : ua % ub) : floor_mod(a, b);
    case ScalarOp::min:
      return less(t, a, b) ? a : b;
    case ScalarOp::max:
      return less(t, b, a) ? a : b;
    case ScalarOp::bit_and:
      return a & b;
    case ScalarOp::bit_or:
      return a | b;
    case ScalarOp::bit_xor:
      return a ^ b;
    default:
      return std::nullopt;
  }
}

std::optional<I> fold_logic(ScalarOp op, DType t, I a, I b) {
  switch (op) {
    case ScalarOp::eq:
      return a == b;
    case ScalarOp::ne:
      return a != b;
    case ScalarOp::lt:
      return less(t, a, b);
    case ScalarOp::le:
      return !less(t, b, a);
    case ScalarOp::gt:
      return less(t, b, a);
    case ScalarOp::ge:
      return !less(t, a, b);
    case ScalarOp::logical_and:
      return a && b;
    case ScalarOp::logical_or:
      return a || b;
    default:
      return std::nullopt;
  }
}

}  // namespace

std::int64_t wrap(DType t, std::int64_t v) {
  if (t == DType::boolean) return v != 0;
  unsigned n = bits(t);
  if (n == 64) return v;
  U mask = (U{1} << n) - 1, u = static_cast<U>(v) & mask;
  if (is_signed(t) && (u >> (n - 1))) u |= ~mask;
  return static_cast<I>(u);
}

std::optional<std::int64_t> fold_int(ScalarOp op, DType t, DType result,
                                     std::span<const std::int64_t> args) {
  std::optional<I> v;
  if (args.size() == 2) {
    v = fold_arith(op, t, args[0], args[1]);
    if (!v) v = fold_logic(op, t, args[0], args[1]);
  } else if (args.size() == 1) {
    if (op == ScalarOp::neg) v = static_cast<I>(U{0} - static_cast<U>(args[0]));
    if (op == ScalarOp::logical_not) v = !args[0];
    if (op == ScalarOp::cast) v = args[0];
  }
  if (v) v = wrap(result, *v);
  return v;
}

}  // namespace tenon::te
