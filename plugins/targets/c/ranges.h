// Which 64-bit integers of a kernel stay within 32 bits: index arithmetic is i64 in kernels, and 32
// bits wide in the C that a microcontroller runs, wherever that is provably the same.
#ifndef TENON_PLUGINS_TARGETS_C_RANGES_H
#define TENON_PLUGINS_TARGETS_C_RANGES_H

#include <cstdint>
#include <vector>

#include "tenon/kernel.h"

namespace tenon::c_target {

/// All values of an i64, both ends included. lo > hi: none has been seen.
struct Interval {
  std::int64_t lo = INT64_MIN, hi = INT64_MAX;
  bool operator==(const Interval&) const = default;
  bool known() const { return lo != INT64_MIN || hi != INT64_MAX; }
  bool empty() const { return lo > hi; }
  bool fits32() const { return !empty() && lo >= INT32_MIN && hi <= INT32_MAX; }
};

/// The least solution, ignoring the order of statements, of "a variable holds every value that is
/// assigned to it"; a variable that keeps growing holds anything. Begin and end lie in [0, extent]
/// (the ABI).
class Ranges {
 public:
  explicit Ranges(const tir::Kernel& k);
  /// Unknown when the exact result may leave 64 bits (it wraps).
  Interval of(tir::ExprId e) const { return exprs_[e]; }
  /// i64 that the C code computes as int32_t: itself and its i64 operands fit.
  bool narrow(tir::ExprId e) const { return narrow_[e]; }
  bool narrow_var(tir::VarId v) const { return narrow_vars_[v]; }

 private:
  void solve();
  bool pass();
  Interval evaluate(const tir::Expr& e) const;
  Interval operation(const tir::Expr& e) const;
  void find_narrow();

  const tir::Kernel& k_;
  std::vector<Interval> exprs_, vars_;
  std::vector<bool> narrow_, narrow_vars_;
};

}  // namespace tenon::c_target

#endif
