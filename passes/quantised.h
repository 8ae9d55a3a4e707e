// Quantised values in a graph: integers of eight bits, less a zero point, perhaps times a scale.
#ifndef TENON_PASSES_QUANTISED_H
#define TENON_PASSES_QUANTISED_H

#include <algorithm>
#include <cstring>
#include <optional>

#include "tenon/op.h"
#include "tenon/rewrite.h"

namespace tenon::passes {

/// An i32 value that is `q` less `zero`: q of u8 or i8, of the same shape.
struct Centred {
  Value q;
  Value zero;              ///< i32; none where it is 0
  std::int64_t reach = 0;  ///< the largest magnitude that the difference can have
};
/// An f32 value that is a centred one times `scale`.
struct Dequantised {
  Centred of;
  Value scale;  ///< f32
};

class Quantised {
 public:
  explicit Quantised(const OpTable& ops)
      : cast_(ops.at("cast")), sub_(ops.at("sub")), mul_(ops.at("mul")) {}

  std::optional<Centred> centred(Value v) const {
    if (const auto q = narrow(v)) {
      const Range r = range_of(*q);
      return Centred{*q, {}, std::max(-r.low, r.high)};
    }
    if (v.node->op != sub_) return std::nullopt;
    const Value from = v.node->operands[0], zero = v.node->operands[1];
    const auto q = narrow(from);
    const auto s = range_of_zero(zero);
    if (!q || !s || from.type() != v.type()) return std::nullopt;
    const Range r = range_of(*q);
    return Centred{*q, zero, std::max(r.high - s->low, s->high - r.low)};
  }

  std::optional<Dequantised> dequantised(Value v) const {
    if (v.node->op != mul_ || v.type().dtype != DType::f32) return std::nullopt;
    const Value real = v.node->operands[0];
    if (real.node->op != cast_ || real.type() != v.type()) return std::nullopt;
    const auto c = centred(real.node->operands[0]);
    return c ? std::optional(Dequantised{*c, v.node->operands[1]}) : std::nullopt;
  }

  /// The one number that a zero point is, when that is known.
  std::optional<std::int64_t> number(Value zero) const {
    const auto r = elements(zero.type()) == 1 ? range_of_constant(zero) : std::nullopt;
    return r ? std::optional(r->low) : std::nullopt;
  }

 private:
  struct Range {
    std::int64_t low, high;
  };
  static Range range_of(Value v) {
    return v.type().dtype == DType::u8 ? Range{0, 255} : Range{-128, 127};
  }
  /// Of a zero point: of eight bits, widened before or after it became a constant.
  std::optional<Range> range_of_zero(Value zero) const {
    if (const auto z = narrow(zero)) return range_of(*z);
    const auto r = range_of_constant(zero);
    return r && r->low >= -128 && r->high <= 255 ? r : std::nullopt;
  }
  /// Of the elements of an i32 constant, or of one of eight bits that is widened.
  std::optional<Range> range_of_constant(Value v) const {
    const Constant c = constant_of(narrow(v).value_or(v));
    if (!c || c->bytes.empty()) return std::nullopt;
    const auto of = [&](auto zero) {
      using T = decltype(zero);
      Range r{INT64_MAX, INT64_MIN};
      for (std::size_t at = 0; at + sizeof(T) <= c->bytes.size(); at += sizeof(T)) {
        T x;
        std::memcpy(&x, c->bytes.data() + at, sizeof(T));
        r = {std::min<std::int64_t>(r.low, x), std::max<std::int64_t>(r.high, x)};
      }
      return std::optional(r);
    };
    if (c->type.dtype == DType::u8) return of(std::uint8_t{});
    if (c->type.dtype == DType::i8) return of(std::int8_t{});
    if (c->type.dtype == DType::i32) return of(std::int32_t{});
    return std::nullopt;
  }
  /// What the i32 value `v` is a cast of, when that has eight bits.
  std::optional<Value> narrow(Value v) const {
    if (v.node->op != cast_ || v.type().dtype != DType::i32) return std::nullopt;
    const Value from = v.node->operands[0];
    const DType t = from.type().dtype;
    return t == DType::u8 || t == DType::i8 ? std::optional(from) : std::nullopt;
  }

  OpId cast_, sub_, mul_;
};

}  // namespace tenon::passes

#endif
