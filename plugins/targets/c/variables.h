// What a kernel's statements read: which variables matter, where each can be declared, which
// buffers are touched.
#ifndef TENON_PLUGINS_TARGETS_C_VARIABLES_H
#define TENON_PLUGINS_TARGETS_C_VARIABLES_H

#include <initializer_list>
#include <vector>

#include "tenon/kernel.h"

namespace tenon::c_target {

class Variables {
 public:
  explicit Variables(const tir::Kernel& k);
  /// Some statement that has an effect depends on it. Assignments to others are left out.
  bool live(tir::VarId v) const { return live_[v]; }
  /// It can be declared where it gets its value: one assignment before all reads in the same block
  /// or deeper, or a counter that only its loops' bodies read.
  bool scoped(tir::VarId v) const { return scoped_[v]; }
  bool touches(std::size_t buffer) const { return touched_[buffer]; }
  /// The expressions that the roots are made of, ascending, each once. `none` is passed over.
  std::vector<tir::ExprId> needed(std::initializer_list<tir::ExprId> roots) const;

 private:
  std::vector<tir::ExprId> needed_by(const tir::Stmt& s) const;
  bool has_effect(const tir::Stmt& s) const;
  void find_live();
  void find_scopes(const std::vector<tir::StmtId>& list);

  const tir::Kernel& k_;
  std::vector<bool> live_, scoped_, touched_;
  std::vector<unsigned> open_,
      assigned_;                    ///< per variable: definitions in sight; assignments so far
  mutable std::vector<bool> seen_;  ///< scratch of needed(): all false between calls
};

}  // namespace tenon::c_target

#endif
