// Builds the code of one kernel: interned expressions, variables, nested statement lists.
//
// Loop-invariant code needs no pass: `name(e)` assigns an expression to a variable in the outermost
// open list in which all its variables are known, and gives the same variable when it is asked
// again. Targets therefore need no LICM and no reassociation. Laws: everything named may be
// evaluated as early as its operands are known, so loads that need a condition carry it as mask,
// and a buffer that the kernel writes itself is read no further out than `floor` says; a store
// ends the names of what was loaded from that buffer.
#ifndef TENON_PLUGINS_LOWERINGS_TE_CODE_H
#define TENON_PLUGINS_LOWERINGS_TE_CODE_H

#include <compare>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "lin.h"
#include "tenon/kernel.h"

namespace tenon::te_lowering {

using tir::BufferId;
using tir::ExprId;
using tir::StmtId;
using tir::VarId;

class Code {
 public:
  /// `has_ldexp`: the target has an instruction for it, so that it is quicker than what it
  /// replaces.
  explicit Code(bool has_ldexp = false);
  bool has_ldexp() const { return has_ldexp_; }
  tir::Kernel& kernel() { return k_; }
  /// Ends the outermost list.
  tir::Kernel finish();

  // ---- expressions
  const tir::Expr& operator[](ExprId e) const { return k_.exprs[e]; }
  tir::Type type(ExprId e) const { return k_.exprs[e].type; }
  ExprId imm_int(DType t, std::int64_t v);
  ExprId imm_float(DType t, double v);
  /// Zero, one, ... of any type.
  ExprId imm(DType t, double v) {
    return is_float(t) ? imm_float(t, v) : imm_int(t, static_cast<std::int64_t>(v));
  }
  ExprId i64(std::int64_t v) { return imm_int(DType::i64, v); }
  ExprId var(VarId v);
  ExprId broadcast(ExprId e, unsigned lanes);
  ExprId ramp(ExprId base, std::int64_t stride, unsigned lanes);
  /// Integer constants fold; operands of unequal lanes are broadcast; invariant parts are named.
  ExprId scalar(ScalarOp op, DType result, std::initializer_list<ExprId> args);
  ExprId scalar(ScalarOp op, DType result, std::vector<ExprId> args);
  /// As scalar(), for operands that change where it stands (accumulators): neither named nor moved.
  ExprId update(ScalarOp op, DType result, std::vector<ExprId> args);
  /// `sum` and the products of the bytes `x` and `y` in groups of four (tir::Kind::dot), as
  /// update().
  ExprId dot(ExprId x, ExprId y, ExprId sum);
  ExprId fold_lanes(ScalarOp op, ExprId e);
  /// `mask` may be tir::none. The result is named.
  ExprId load(BufferId b, ExprId index, unsigned lanes, std::int64_t stride, ExprId mask);
  /// The sum as an expression: a named variable plus an immediate.
  ExprId linear(const Lin& l);
  /// `e` as a linear form: of a constant or, named, of a variable.
  Lin lin_of(ExprId e);
  bool is_imm(ExprId e, std::int64_t* v = nullptr) const;

  /// A variable (or constant) with the value of `e`; see the head of this file.
  ExprId name(ExprId e);

  // ---- variables and statements
  VarId fresh(std::string name, tir::Type t);
  void assign(VarId v, ExprId e);
  void store(BufferId b, ExprId index, ExprId value, std::int64_t stride, ExprId mask);
  /// Loops over [begin, end); closed by close_loop(). Bounds of the counter's value are kept for
  /// conditions.
  VarId open_loop(std::string name, ExprId begin, ExprId end, std::int64_t lowest,
                  std::int64_t highest);
  void close_loop();
  void open_branch(ExprId cond);
  void open_other();
  void close_branch();

  // ---- scopes
  std::uint32_t depth() const { return static_cast<std::uint32_t>(levels_.size()); }
  /// Loads of `b` are named no further out than list number `level` from now on.
  void set_floor(BufferId b, std::uint32_t level);
  /// The range of values that a linear form takes; false when not known.
  bool bounds(const Lin& l, std::int64_t& lowest, std::int64_t& highest) const;
  void set_bounds(VarId v, std::int64_t lowest, std::int64_t highest);

 private:
  struct Level {
    std::vector<StmtId> list;
    std::map<ExprId, VarId> named;
  };
  struct VarInfo {
    std::uint32_t level = 0;
    bool bounded = false;
    std::int64_t lowest = 0, highest = 0;
  };
  struct Less {
    bool operator()(const tir::Expr& a, const tir::Expr& b) const;
  };

  ExprId add(tir::Expr e);
  void push(tir::Stmt s);
  void leave(tir::Stmt& owner, bool other);
  std::uint32_t level_of(ExprId e) const;
  bool fold(ScalarOp op, DType result, const std::vector<ExprId>& args, ExprId* out);

  bool has_ldexp_;
  tir::Kernel k_;
  std::map<tir::Expr, ExprId, Less> interned_;
  std::vector<std::uint32_t> expr_level_;
  std::vector<VarInfo> var_info_;
  std::vector<std::uint32_t> floor_;  // per buffer
  std::vector<std::vector<std::pair<std::uint32_t, ExprId>>>
      loads_;  // per buffer: loads that have a name, with its level, since the last store
  std::vector<Level> levels_;
  std::vector<tir::Stmt> open_;  // statements whose bodies are under construction
};

}  // namespace tenon::te_lowering

#endif
