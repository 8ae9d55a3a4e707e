#include "variables.h"

#include <algorithm>

namespace tenon::c_target {

Variables::Variables(const tir::Kernel& k)
    : k_(k),
      live_(k.vars.size()),
      scoped_(k.vars.size(), true),
      touched_(k.buffers.size()),
      open_(k.vars.size()),
      assigned_(k.vars.size()),
      seen_(k.exprs.size()) {
  find_live();
  find_scopes(k.body);
  for (const tir::Stmt& s : k.stmts)  // a counter that is assigned too is declared once, outside
    if (s.kind == tir::StmtKind::loop && assigned_[s.target] > 0) scoped_[s.target] = false;
  for (std::size_t v = 0; v < scoped_.size(); ++v)
    if (assigned_[v] > 1) scoped_[v] = false;
}

std::vector<tir::ExprId> Variables::needed(std::initializer_list<tir::ExprId> roots) const {
  std::vector<tir::ExprId> todo, out;
  for (tir::ExprId r : roots)
    if (r != tir::none) todo.push_back(r);
  while (!todo.empty()) {
    const tir::ExprId id = todo.back();
    todo.pop_back();
    if (seen_[id]) continue;
    seen_[id] = true;
    out.push_back(id);
    for (tir::ExprId a : k_.exprs[id].args) todo.push_back(a);
  }
  for (tir::ExprId id : out) seen_[id] = false;
  std::sort(out.begin(), out.end());
  return out;
}

std::vector<tir::ExprId> Variables::needed_by(const tir::Stmt& s) const {
  return needed({s.value, s.index, s.mask, s.begin, s.end});
}

bool Variables::has_effect(const tir::Stmt& s) const {
  return s.kind != tir::StmtKind::assign || live_[s.target];
}

void Variables::find_live() {
  for (bool again = true; again;) {
    again = false;
    for (auto s = k_.stmts.rbegin(); s != k_.stmts.rend(); ++s) {
      if (!has_effect(*s)) continue;
      if (s->kind == tir::StmtKind::store) touched_[s->target] = true;
      for (tir::ExprId id : needed_by(*s)) {
        const tir::Expr& e = k_.exprs[id];
        if (e.kind == tir::Kind::load) touched_[e.n] = true;
        if (e.kind != tir::Kind::var || live_[e.n]) continue;
        live_[e.n] = true;
        again = true;
      }
    }
  }
}

void Variables::find_scopes(const std::vector<tir::StmtId>& list) {
  std::vector<tir::VarId> here;
  for (tir::StmtId id : list) {
    const tir::Stmt& s = k_.stmts[id];
    if (!has_effect(s)) continue;
    for (tir::ExprId e : needed_by(s))
      if (k_.exprs[e].kind == tir::Kind::var && open_[k_.exprs[e].n] == 0)
        scoped_[k_.exprs[e].n] = false;
    if (s.kind == tir::StmtKind::loop) ++open_[s.target];
    find_scopes(s.body);
    find_scopes(s.other);
    if (s.kind == tir::StmtKind::loop) --open_[s.target];
    if (s.kind != tir::StmtKind::assign) continue;
    ++assigned_[s.target];
    ++open_[s.target];
    here.push_back(s.target);
  }
  for (tir::VarId v : here) --open_[v];
}

}  // namespace tenon::c_target
