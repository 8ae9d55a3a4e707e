// A tree-walking evaluator of tensor expressions, element by element in doubles and 64-bit
// integers: obvious, slow, and without a line in common with core/eval. For f32, f64, i32, i64 and
// boolean.
#ifndef TENON_TESTS_SUPPORT_TE_REFERENCE_H
#define TENON_TESTS_SUPPORT_TE_REFERENCE_H

#include <cmath>
#include <cstring>
#include <limits>
#include <stdexcept>
#include <unordered_map>
#include <vector>

#include "tenon/eval.h"
#include "tenon/te.h"

namespace tenon::test {

/// A scalar: floats in `f`, everything else in `i`.
struct Scalar {
  double f = 0;
  std::int64_t i = 0;
};

inline Scalar read_element(DType t, const std::byte* p, std::int64_t n) {
  auto get = [&](auto v) {
    std::memcpy(&v, p + static_cast<std::size_t>(n) * sizeof v, sizeof v);
    return v;
  };
  switch (t) {
    case DType::f32:
      return {get(0.0f), 0};
    case DType::f64:
      return {get(0.0), 0};
    case DType::i32:
      return {0, get(std::int32_t{})};
    case DType::i64:
      return {0, get(std::int64_t{})};
    case DType::boolean:
    case DType::u8:
      return {0, get(std::uint8_t{})};
    case DType::i8:
      return {0, get(std::int8_t{})};
    default:
      throw std::runtime_error("type not known to the reference");
  }
}

inline void write_element(DType t, std::byte* p, std::int64_t n, Scalar s) {
  auto put = [&](auto v) { std::memcpy(p + static_cast<std::size_t>(n) * sizeof v, &v, sizeof v); };
  switch (t) {
    case DType::f32:
      return put(static_cast<float>(s.f));
    case DType::f64:
      return put(s.f);
    case DType::i32:
      return put(static_cast<std::int32_t>(s.i));
    case DType::i64:
      return put(s.i);
    default:
      return put(static_cast<std::uint8_t>(s.i));
  }
}

class TreeWalker {
 public:
  TreeWalker(const te::Compute& c, std::vector<const std::byte*> inputs)
      : c_(c), data_(std::move(inputs)) {}

  std::vector<Tensor> run() {
    std::vector<std::vector<std::byte>> stages(c_.stages.size());
    for (std::uint32_t s = 0; s < c_.stages.size(); ++s) {
      stage_ = &c_.stages[s];
      stages[s].resize(*byte_size(TensorType(stage_->dtype, stage_->shape())));
      axes_.assign(stage_->axes.size() + stage_->reduce.size(), 0);
      const auto n =
          static_cast<std::int64_t>(*elements(TensorType(stage_->dtype, stage_->shape())));
      for (std::int64_t e = 0; e < n; ++e) {
        std::int64_t rest = e;
        for (std::size_t k = stage_->axes.size(); k-- > 0; rest /= stage_->axes[k].extent)
          axes_[k] = rest % stage_->axes[k].extent;
        write_element(stage_->dtype, stages[s].data(), e, value(stage_->value));
      }
      data_.push_back(stages[s].data());
    }
    std::vector<Tensor> out;
    for (std::uint32_t k = 0; k < c_.outputs.size(); ++k)
      out.push_back({c_.output_type(k), stages[c_.outputs[k]]});
    return out;
  }

 private:
  Scalar value(te::ExprId id) {
    const te::Expr& e = c_.exprs[id];
    switch (e.kind) {
      case te::Kind::imm:
        return {is_float(e.dtype) ? rounded(e.dtype, e.f) : 0, e.i};
      case te::Kind::axis:
        return {0, axes_[e.n]};
      case te::Kind::load:
        return load(e);
      case te::Kind::reduce:
        return reduce(e);
      case te::Kind::scalar:
        return scalar(e);
    }
    return {};
  }

  static double rounded(DType t, double v) { return t == DType::f32 ? static_cast<float>(v) : v; }

  Scalar load(const te::Expr& e) {
    const Shape shape = c_.shape_of(e.n);
    std::int64_t n = 0;
    for (std::size_t d = 0; d < shape.size(); ++d) {
      const std::int64_t i = value(e.args[d]).i;
      if (i < 0 || i >= shape[d]) throw std::runtime_error("load out of bounds");
      n = n * shape[d] + i;
    }
    return read_element(e.dtype, data_[e.n], n);
  }

  Scalar reduce(const te::Expr& e) {
    const double inf = std::numeric_limits<double>::infinity();
    std::int64_t low = INT64_MIN, high = INT64_MAX;
    if (e.dtype == DType::i32) low = INT32_MIN, high = INT32_MAX;
    if (e.dtype == DType::boolean) low = 0, high = 1;
    Scalar acc;
    switch (e.fold) {
      case te::Fold::sum:
        acc = {0, 0};
        break;
      case te::Fold::prod:
        acc = {1, 1};
        break;
      case te::Fold::max:
        acc = {-inf, low};
        break;
      case te::Fold::min:
        acc = {inf, high};
        break;
    }
    const std::size_t first = stage_->axes.size();
    std::int64_t points = 1;
    for (const te::Axis& a : stage_->reduce) points *= a.extent;
    for (std::int64_t p = 0; p < points; ++p) {
      std::int64_t rest = p;
      for (std::size_t k = stage_->reduce.size(); k-- > 0; rest /= stage_->reduce[k].extent)
        axes_[first + k] = rest % stage_->reduce[k].extent;
      const Scalar x = value(e.args[0]);
      constexpr ScalarOp ops[] = {ScalarOp::add, ScalarOp::mul, ScalarOp::max, ScalarOp::min};
      acc = apply(ops[static_cast<int>(e.fold)], e.dtype, e.dtype, acc, x, {});
    }
    return acc;
  }

  Scalar scalar(const te::Expr& e) {
    if (e.op == ScalarOp::select) return value(value(e.args[0]).i ? e.args[1] : e.args[2]);
    Scalar a[3];
    for (std::size_t k = 0; k < e.args.size(); ++k) a[k] = value(e.args[k]);
    return apply(e.op, c_.exprs[e.args[0]].dtype, e.dtype, a[0], a[1], a[2]);
  }

  static Scalar apply(ScalarOp op, DType t, DType result, Scalar a, Scalar b, Scalar c) {
    if (op == ScalarOp::cast) return cast(t, result, a);
    Scalar r = is_float(t) ? floats(op, t, a.f, b.f, c.f) : integers(op, a.i, b.i);
    if (is_float(result)) r.f = rounded(result, r.f);
    if (result == DType::i32) r.i = static_cast<std::int32_t>(r.i);
    return r;
  }

  static Scalar cast(DType from, DType to, Scalar a) {
    if (is_float(to)) return {rounded(to, is_float(from) ? a.f : static_cast<double>(a.i)), 0};
    if (to == DType::boolean) return {0, is_float(from) ? a.f != 0 : a.i != 0};
    if (!is_float(from)) return {0, to == DType::i32 ? static_cast<std::int32_t>(a.i) : a.i};
    const double high = to == DType::i32 ? 2147483647.0 : 9223372036854775807.0,
                 low = to == DType::i32 ? -2147483648.0 : -9223372036854775808.0;
    const std::int64_t top = to == DType::i32 ? INT32_MAX : INT64_MAX,
                       bottom = to == DType::i32 ? INT32_MIN : INT64_MIN;
    return {0, std::isnan(a.f) ? 0
               : a.f >= high   ? top
               : a.f <= low    ? bottom
                               : static_cast<std::int64_t>(a.f)};
  }

  /// f32 results are rounded by the caller: for these operations the double result rounds to the
  /// right float.
  static Scalar floats(ScalarOp op, DType t, double a, double b, double c) {
    const bool single = t == DType::f32;
    switch (op) {
      case ScalarOp::neg:
        return {-a, 0};
      case ScalarOp::abs:
        return {std::fabs(a), 0};
      case ScalarOp::exp:
        return {single ? std::exp(static_cast<float>(a)) : std::exp(a), 0};
      case ScalarOp::tanh:
        return {single ? std::tanh(static_cast<float>(a)) : std::tanh(a), 0};
      case ScalarOp::sqrt:
        return {std::sqrt(a), 0};
      case ScalarOp::floor:
        return {std::floor(a), 0};
      case ScalarOp::ceil:
        return {std::ceil(a), 0};
      case ScalarOp::add:
        return {a + b, 0};
      case ScalarOp::sub:
        return {a - b, 0};
      case ScalarOp::mul:
        return {a * b, 0};
      case ScalarOp::div:
        return {a / b, 0};
      case ScalarOp::min:
        return {a < b ? a : b, 0};
      case ScalarOp::max:
        return {a > b ? a : b, 0};
      case ScalarOp::fma:
        return {single
                    ? std::fma(static_cast<float>(a), static_cast<float>(b), static_cast<float>(c))
                    : std::fma(a, b, c),
                0};
      case ScalarOp::eq:
        return {0, a == b};
      case ScalarOp::ne:
        return {0, a != b};
      case ScalarOp::lt:
        return {0, a < b};
      case ScalarOp::le:
        return {0, a <= b};
      case ScalarOp::gt:
        return {0, a > b};
      case ScalarOp::ge:
        return {0, a >= b};
      default:
        throw std::runtime_error("operation not known to the reference");
    }
  }

  static Scalar integers(ScalarOp op, std::int64_t a, std::int64_t b) {
    auto floor_div = [&] {
      return static_cast<std::int64_t>(
          std::floor(static_cast<long double>(a) / static_cast<long double>(b)));
    };
    switch (op) {
      case ScalarOp::neg:
        return {0, -a};
      case ScalarOp::abs:
        return {0, a < 0 ? -a : a};
      case ScalarOp::add:
        return {0, static_cast<std::int64_t>(static_cast<std::uint64_t>(a) +
                                             static_cast<std::uint64_t>(b))};
      case ScalarOp::sub:
        return {0, static_cast<std::int64_t>(static_cast<std::uint64_t>(a) -
                                             static_cast<std::uint64_t>(b))};
      case ScalarOp::mul:
        return {0, static_cast<std::int64_t>(static_cast<std::uint64_t>(a) *
                                             static_cast<std::uint64_t>(b))};
      case ScalarOp::div:
        return {0, b == 0 ? 0 : floor_div()};
      case ScalarOp::mod:
        return {0, b == 0 ? 0 : a - b * floor_div()};
      case ScalarOp::min:
        return {0, a < b ? a : b};
      case ScalarOp::max:
        return {0, a > b ? a : b};
      case ScalarOp::eq:
        return {0, a == b};
      case ScalarOp::ne:
        return {0, a != b};
      case ScalarOp::lt:
        return {0, a < b};
      case ScalarOp::le:
        return {0, a <= b};
      case ScalarOp::gt:
        return {0, a > b};
      case ScalarOp::ge:
        return {0, a >= b};
      case ScalarOp::logical_and:
        return {0, a && b};
      case ScalarOp::logical_or:
        return {0, a || b};
      case ScalarOp::logical_not:
        return {0, !a};
      default:
        throw std::runtime_error("operation not known to the reference");
    }
  }

  const te::Compute& c_;
  std::vector<const std::byte*> data_;
  const te::Stage* stage_ = nullptr;
  std::vector<std::int64_t> axes_;
};

}  // namespace tenon::test

#endif
