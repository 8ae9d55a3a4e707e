// Expressions of a stage -> expressions of a kernel, at one point: a value for each axis, one axis
// perhaps spread over the lanes of a vector.
#ifndef TENON_PLUGINS_LOWERINGS_TE_EVAL_H
#define TENON_PLUGINS_LOWERINGS_TE_EVAL_H

#include <cmath>
#include <cstdint>
#include <map>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "code.h"
#include "tenon/te.h"

namespace tenon::te_lowering {

/// Where a stage is evaluated. Lane l of the vector axis stands at axis[vec] + l; lanes from
/// `active` on are off: what they hold is not looked at, and no memory is touched for them.
struct Point {
  std::vector<Lin> axis;  ///< by axis number: output axes, then reduction axes
  int vec = -1;
  unsigned lanes = 1;
  std::int64_t active = 1;
  ExprId folded = tir::none;  ///< the value of the stage's reduction, when it is done
  bool partial() const { return vec >= 0 && active < lanes; }
};

/// The memory of a tensor: element (i0, i1, ...) stands at sum of stride[d] * (i[d] - base[d]).
struct Memory {
  BufferId buffer = tir::none;
  std::vector<std::int64_t> stride;
  std::vector<Lin> base;
  bool slack = false;  ///< whole vectors may be read past the last element that is wanted
};

/// What `op` says of every integer in [low, high] and 0, when it says the same of all.
std::optional<bool> compared_with_zero(ScalarOp op, std::int64_t low, std::int64_t high);

class Eval {
 public:
  Eval(Code& code, const te::Compute& c, const std::vector<Memory>& memory, bool fast_math)
      : code_(code), c_(c), memory_(memory), fast_math_(fast_math) {}

  /// The value of `e` (of stage `s`) at `p`: of p.lanes lanes, or of one when it is the same in
  /// all.
  ExprId value(const te::Stage& s, te::ExprId e, const Point& p);
  /// The four bytes that `load` reads at `p` and beside it, in every lane (tensorise.h): of four
  /// lanes for each of p.lanes, or of four when they are the same in all.
  ExprId group(const te::Stage& s, te::ExprId load, const Point& p);
  /// Boolean vector: the lanes of `p` that are on.
  ExprId active_lanes(const Point& p);
  /// Index of an element, as linear form of its lane 0 and its stride in lanes.
  struct Place {
    bool ok = false;
    Lin base;
    std::int64_t lane = 0;
  };

 private:
  struct Frame {
    const te::Stage& s;
    const Point& p;
    std::map<std::pair<te::ExprId, ExprId>, ExprId> done;  // (expression, guard)
  };
  ExprId eval(Frame& f, te::ExprId e, ExprId guard);
  ExprId load(Frame& f, const te::Expr& e, ExprId guard);
  ExprId select(Frame& f, const te::Expr& e, ExprId guard);
  ExprId compare(Frame& f, const te::Expr& e, ExprId guard);
  ExprId both(ExprId a, ExprId b);
  /// `id` (an i64 expression) as a place; not ok when it is neither affine nor equal in all lanes.
  Place place(Frame& f, te::ExprId id, ExprId guard);
  Place quotient(Frame& f, const te::Expr& e, ExprId guard);
  Place combine(ScalarOp op, const Place& a, const Place& b);
  const te::Affine& affine(const te::Stage& s, te::ExprId e);

  Code& code_;
  const te::Compute& c_;
  const std::vector<Memory>& memory_;
  bool fast_math_;
  std::map<std::pair<const te::Stage*, te::ExprId>, te::Affine> affine_;
};

}  // namespace tenon::te_lowering

#endif
