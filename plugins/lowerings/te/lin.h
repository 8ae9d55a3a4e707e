// Linear forms over kernel variables: how loop bases and buffer indices are kept, so that
// everything that does not change in a loop is computed outside it and constants become immediate
// offsets.
#ifndef TENON_PLUGINS_LOWERINGS_TE_LIN_H
#define TENON_PLUGINS_LOWERINGS_TE_LIN_H

#include <cstdint>
#include <utility>
#include <vector>

#include "tenon/kernel.h"

namespace tenon::te_lowering {

/// c + sum of coefficient * variable. Terms are sorted by variable and have no zero coefficient.
struct Lin {
  std::int64_t c = 0;
  std::vector<std::pair<tir::VarId, std::int64_t>> terms;

  static Lin of(tir::VarId v) { return {0, {{v, 1}}}; }
  bool is_constant() const { return terms.empty(); }
  bool operator==(const Lin&) const = default;
};

/// a + k * b.
Lin add_scaled(const Lin& a, const Lin& b, std::int64_t k);
inline Lin operator+(const Lin& a, std::int64_t k) { return {a.c + k, a.terms}; }

}  // namespace tenon::te_lowering

#endif
