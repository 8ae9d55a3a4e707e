// When two executions of a graph must agree, and whether they do.
#ifndef TENON_TESTS_SUPPORT_AGREEMENT_H
#define TENON_TESTS_SUPPORT_AGREEMENT_H

#include <cmath>
#include <cstring>
#include <vector>

#include "tenon/eval.h"

namespace tenon::test {

/// To the last bit, but for NaN: which of the many NaNs an operation gives is not part of its
/// meaning.
inline bool same_but_nan(const std::vector<Tensor>& a, const std::vector<Tensor>& b) {
  if (a.size() != b.size()) return false;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (!(a[i].type == b[i].type) || a[i].bytes.size() != b[i].bytes.size()) return false;
    if (a[i].bytes == b[i].bytes) continue;
    if (a[i].type.dtype != DType::f32) return false;
    const auto x = a[i].as<float>(), y = b[i].as<float>();
    for (std::size_t k = 0; k < x.size(); ++k)
      if (std::memcmp(&x[k], &y[k], sizeof(float)) != 0 && !(std::isnan(x[k]) && std::isnan(y[k])))
        return false;
  }
  return true;
}

/// Integers that floats hold exactly: sums of them do not depend on the order.
inline bool exact(const Tensor& t) {
  if (t.type.dtype != DType::f32) return !is_float(t.type.dtype);
  for (const float x : t.as<float>())
    if (x != std::floor(x) || std::fabs(x) > 65536.0f) return false;
  return true;
}

}  // namespace tenon::test

#endif
