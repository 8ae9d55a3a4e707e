// Collects breaches of the laws in verify.h.
#ifndef TENON_CORE_IR_BREACHES_H
#define TENON_CORE_IR_BREACHES_H

#include <string>
#include <utility>

#include "tenon/diag.h"

namespace tenon {

class Breaches {
 public:
  static constexpr std::size_t cap = 20;
  /// Law `law` (the n of Vn) does not hold at `loc`.
  void add(int law, const Loc& loc, std::string what, std::string fix = "") {
    if (!full())
      diags_.push_back(
          {.code = 3000 + law, .loc = loc, .what = std::move(what), .fix = std::move(fix)});
  }
  void add(Diag d) {
    if (!full()) diags_.push_back(std::move(d));
  }
  bool full() const { return diags_.size() >= cap; }
  Status take() && { return diags_.empty() ? Status() : Status(std::move(diags_)); }

 private:
  Diags diags_;
};

}  // namespace tenon

#endif
