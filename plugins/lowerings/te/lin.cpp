#include "lin.h"

namespace tenon::te_lowering {

Lin add_scaled(const Lin& a, const Lin& b, std::int64_t k) {
  Lin r{a.c + k * b.c, {}};
  auto x = a.terms.begin();
  auto y = b.terms.begin();
  const auto put = [&](tir::VarId v, std::int64_t coeff) {
    if (coeff != 0) r.terms.emplace_back(v, coeff);
  };
  while (x != a.terms.end() || y != b.terms.end()) {
    if (y == b.terms.end() || (x != a.terms.end() && x->first < y->first)) {
      put(x->first, x->second);
      ++x;
    } else if (x == a.terms.end() || y->first < x->first) {
      put(y->first, k * y->second);
      ++y;
    } else {
      put(x->first, x->second + k * y->second);
      ++x, ++y;
    }
  }
  return r;
}

}  // namespace tenon::te_lowering
