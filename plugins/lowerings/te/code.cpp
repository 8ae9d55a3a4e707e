#include "code.h"

#include <algorithm>
#include <bit>
#include <tuple>

#include "tenon/diag.h"

namespace tenon::te_lowering {

namespace {

std::int64_t floor_div(std::int64_t a, std::int64_t b) {
  return a / b - (a % b != 0 && (a < 0) != (b < 0));
}

auto key(const tir::Expr& e) {
  return std::tuple(e.kind, e.op, e.type.dtype, e.type.lanes, e.n,
                    std::bit_cast<std::uint64_t>(e.f), e.i);
}

}  // namespace

bool Code::Less::operator()(const tir::Expr& a, const tir::Expr& b) const {
  const auto x = key(a), y = key(b);
  return x != y ? x < y : a.args < b.args;
}

Code::Code(bool has_ldexp) : has_ldexp_(has_ldexp) {
  levels_.emplace_back();
  fresh("begin", {DType::i64, 1});
  fresh("end", {DType::i64, 1});
}

tir::Kernel Code::finish() {
  TENON_CHECK(levels_.size() == 1 && open_.empty());
  k_.body = std::move(levels_[0].list);
  return std::move(k_);
}

// ---- expressions

ExprId Code::add(tir::Expr e) {
  if (auto it = interned_.find(e); it != interned_.end()) return it->second;
  std::uint32_t level = 0;
  for (ExprId a : e.args) level = std::max(level, expr_level_[a]);
  if (e.kind == tir::Kind::var) level = var_info_[e.n].level;
  const auto id = static_cast<ExprId>(k_.exprs.size());
  interned_.emplace(e, id);
  k_.exprs.push_back(std::move(e));
  expr_level_.push_back(level);
  return id;
}

std::uint32_t Code::level_of(ExprId e) const {
  const tir::Expr& x = k_.exprs[e];
  return x.kind == tir::Kind::load ? std::max(expr_level_[e], floor_[x.n]) : expr_level_[e];
}

ExprId Code::imm_int(DType t, std::int64_t v) {
  return add({.kind = tir::Kind::imm, .type = {t, 1}, .i = v});
}
ExprId Code::imm_float(DType t, double v) {
  return add({.kind = tir::Kind::imm, .type = {t, 1}, .f = v});
}
ExprId Code::var(VarId v) { return add({.kind = tir::Kind::var, .type = k_.vars[v].type, .n = v}); }

ExprId Code::broadcast(ExprId e, unsigned lanes) {
  if (lanes == 1 || type(e).lanes == lanes) return e;
  return name(add({.kind = tir::Kind::broadcast,
                   .type = {type(e).dtype, static_cast<std::uint16_t>(lanes)},
                   .args = {e}}));
}

ExprId Code::ramp(ExprId base, std::int64_t stride, unsigned lanes) {
  if (lanes == 1) return base;
  return name(add({.kind = tir::Kind::ramp,
                   .type = {type(base).dtype, static_cast<std::uint16_t>(lanes)},
                   .i = stride,
                   .args = {base}}));
}

bool Code::is_imm(ExprId e, std::int64_t* v) const {
  if (k_.exprs[e].kind != tir::Kind::imm || is_float(k_.exprs[e].type.dtype)) return false;
  if (v) *v = k_.exprs[e].i;
  return true;
}

/// Folds what index arithmetic and conditions consist of: i64 and boolean constants.
bool Code::fold(ScalarOp op, DType result, const std::vector<ExprId>& args, ExprId* out) {
  std::int64_t v[3] = {0, 0, 0};
  if (op == ScalarOp::select && is_imm(args[0], &v[0])) {
    *out = v[0] ? args[1] : args[2];
    return true;
  }
  if (op == ScalarOp::logical_and || op == ScalarOp::logical_or)
    for (int side = 0; side < 2; ++side)
      if (is_imm(args[side], &v[0])) {
        *out = (v[0] != 0) == (op == ScalarOp::logical_and) ? args[1 - side]
                                                            : imm_int(DType::boolean, v[0]);
        return true;
      }
  if (args.size() > 2) return false;
  for (std::size_t i = 0; i < args.size(); ++i)
    if (!is_imm(args[i], &v[i])) return false;
  const DType t = type(args[0]).dtype;
  if (t == DType::boolean && op == ScalarOp::logical_not)
    return *out = imm_int(DType::boolean, !v[0]), true;
  if (t != DType::i64) return false;
  const auto wrapped = [](std::uint64_t x) { return static_cast<std::int64_t>(x); };
  const std::uint64_t a = static_cast<std::uint64_t>(v[0]), b = static_cast<std::uint64_t>(v[1]);
  std::int64_t r = 0;
  switch (op) {
    case ScalarOp::add:
      r = wrapped(a + b);
      break;
    case ScalarOp::sub:
      r = wrapped(a - b);
      break;
    case ScalarOp::mul:
      r = wrapped(a * b);
      break;
    case ScalarOp::neg:
      r = wrapped(-a);
      break;
    case ScalarOp::div:
      if (v[1] <= 0) return false;
      r = floor_div(v[0], v[1]);
      break;
    case ScalarOp::mod:
      if (v[1] <= 0) return false;
      r = v[0] - floor_div(v[0], v[1]) * v[1];
      break;
    case ScalarOp::min:
      r = std::min(v[0], v[1]);
      break;
    case ScalarOp::max:
      r = std::max(v[0], v[1]);
      break;
    case ScalarOp::eq:
      r = v[0] == v[1];
      break;
    case ScalarOp::ne:
      r = v[0] != v[1];
      break;
    case ScalarOp::lt:
      r = v[0] < v[1];
      break;
    case ScalarOp::le:
      r = v[0] <= v[1];
      break;
    case ScalarOp::gt:
      r = v[0] > v[1];
      break;
    case ScalarOp::ge:
      r = v[0] >= v[1];
      break;
    default:
      return false;
  }
  *out = imm_int(result, r);
  return true;
}

ExprId Code::scalar(ScalarOp op, DType result, std::initializer_list<ExprId> args) {
  return scalar(op, result, std::vector<ExprId>(args));
}

ExprId Code::scalar(ScalarOp op, DType result, std::vector<ExprId> args) {
  ExprId folded = tir::none;
  if (fold(op, result, args, &folded)) return folded;
  std::uint16_t lanes = 1;
  for (ExprId a : args) lanes = std::max(lanes, type(a).lanes);
  for (ExprId& a : args) a = broadcast(a, lanes);
  return name(
      add({.kind = tir::Kind::scalar, .op = op, .type = {result, lanes}, .args = std::move(args)}));
}

ExprId Code::update(ScalarOp op, DType result, std::vector<ExprId> args) {
  const std::uint16_t lanes = type(args.back()).lanes;
  return add(
      {.kind = tir::Kind::scalar, .op = op, .type = {result, lanes}, .args = std::move(args)});
}

ExprId Code::dot(ExprId x, ExprId y, ExprId sum) {
  const unsigned lanes = 4u * type(sum).lanes;
  return add({.kind = tir::Kind::dot,
              .type = type(sum),
              .args = {broadcast(x, lanes), broadcast(y, lanes), sum}});
}

ExprId Code::fold_lanes(ScalarOp op, ExprId e) {
  if (type(e).lanes == 1) return e;
  return add({.kind = tir::Kind::fold_lanes, .op = op, .type = {type(e).dtype, 1}, .args = {e}});
}

ExprId Code::load(BufferId b, ExprId index, unsigned lanes, std::int64_t stride, ExprId mask) {
  tir::Expr e{.kind = tir::Kind::load,
              .type = {k_.buffers[b].dtype, static_cast<std::uint16_t>(lanes)},
              .n = b,
              .i = stride,
              .args = {index}};
  if (mask != tir::none) e.args.push_back(mask);
  return name(add(std::move(e)));
}

ExprId Code::linear(const Lin& l) {
  // Outer variables first: each level adds its own part to what the level outside has computed.
  std::vector<std::pair<std::uint32_t, std::size_t>> order;
  for (std::size_t i = 0; i < l.terms.size(); ++i)
    order.emplace_back(var_info_[l.terms[i].first].level, i);
  std::sort(order.begin(), order.end());
  const auto raw = [&](ScalarOp op, ExprId x, ExprId y) {
    return add({.kind = tir::Kind::scalar, .op = op, .type = {DType::i64, 1}, .args = {x, y}});
  };
  ExprId sum = tir::none;
  for (const auto& [level, i] : order) {
    const auto& [v, coeff] = l.terms[i];
    const ExprId part = coeff == 1 ? var(v) : raw(ScalarOp::mul, var(v), i64(coeff));
    sum = sum == tir::none ? name(part) : name(raw(ScalarOp::add, sum, part));
  }
  if (sum == tir::none) return i64(l.c);
  return l.c == 0 ? sum : raw(ScalarOp::add, sum, i64(l.c));
}

Lin Code::lin_of(ExprId e) {
  std::int64_t v = 0;
  if (is_imm(e, &v)) return {v, {}};
  return Lin::of(k_.exprs[name(e)].n);
}

ExprId Code::name(ExprId e) {
  const tir::Kind kind = k_.exprs[e].kind;
  if (kind == tir::Kind::imm || kind == tir::Kind::var) return e;
  const std::uint32_t level = level_of(e);
  auto& named = levels_[level].named;
  if (auto it = named.find(e); it != named.end()) return var(it->second);
  const VarId v = fresh("t", type(e));
  var_info_[v].level = level;
  named.emplace(e, v);
  if (kind == tir::Kind::load) {
    const BufferId b = k_.exprs[e].n;
    if (loads_.size() <= b) loads_.resize(b + 1);
    loads_[b].emplace_back(level, e);
  }
  tir::Stmt s{.kind = tir::StmtKind::assign, .target = v, .value = e};
  k_.stmts.push_back(std::move(s));
  levels_[level].list.push_back(static_cast<StmtId>(k_.stmts.size() - 1));
  return var(v);
}

// ---- variables and statements

VarId Code::fresh(std::string name, tir::Type t) {
  const auto v = static_cast<VarId>(k_.vars.size());
  k_.vars.push_back({name + (v < 2 ? "" : std::to_string(v)), t});
  var_info_.push_back({.level = static_cast<std::uint32_t>(levels_.size() - 1)});
  return v;
}

void Code::push(tir::Stmt s) {
  k_.stmts.push_back(std::move(s));
  levels_.back().list.push_back(static_cast<StmtId>(k_.stmts.size() - 1));
}

void Code::assign(VarId v, ExprId e) {
  push({.kind = tir::StmtKind::assign, .target = v, .value = e});
}

void Code::store(BufferId b, ExprId index, ExprId value, std::int64_t stride, ExprId mask) {
  if (b < loads_.size()) {  // what was loaded before may not be what is there from now on
    for (const auto& [level, e] : loads_[b])
      if (level < levels_.size()) levels_[level].named.erase(e);
    loads_[b].clear();
  }
  push({.kind = tir::StmtKind::store,
        .target = b,
        .value = value,
        .index = index,
        .mask = mask,
        .stride = stride});
}

VarId Code::open_loop(std::string name, ExprId begin, ExprId end, std::int64_t lowest,
                      std::int64_t highest) {
  levels_.emplace_back();
  const VarId v = fresh(std::move(name), {DType::i64, 1});
  set_bounds(v, lowest, highest);
  open_.push_back(
      {.kind = tir::StmtKind::loop, .target = v, .begin = begin, .end = end, .step = 1});
  return v;
}

void Code::close_loop() {
  tir::Stmt s = std::move(open_.back());
  open_.pop_back();
  leave(s, false);
  if (!s.body.empty()) push(std::move(s));
}

void Code::open_branch(ExprId cond) {
  open_.push_back({.kind = tir::StmtKind::branch, .value = cond});
  levels_.emplace_back();
}

void Code::open_other() {
  leave(open_.back(), false);
  levels_.emplace_back();
}

void Code::close_branch() {
  tir::Stmt s = std::move(open_.back());
  open_.pop_back();
  leave(s, true);
  push(std::move(s));
}

void Code::leave(tir::Stmt& owner, bool other) {
  (other ? owner.other : owner.body) = std::move(levels_.back().list);
  levels_.pop_back();
}

// ---- scopes

void Code::set_floor(BufferId b, std::uint32_t level) {
  if (floor_.size() <= b) floor_.resize(b + 1, 0);
  floor_[b] = level;
}

void Code::set_bounds(VarId v, std::int64_t lowest, std::int64_t highest) {
  var_info_[v].bounded = true;
  var_info_[v].lowest = lowest;
  var_info_[v].highest = highest;
}

bool Code::bounds(const Lin& l, std::int64_t& lowest, std::int64_t& highest) const {
  lowest = highest = l.c;
  for (const auto& [v, k] : l.terms) {
    if (!var_info_[v].bounded) return false;
    lowest += k * (k > 0 ? var_info_[v].lowest : var_info_[v].highest);
    highest += k * (k > 0 ? var_info_[v].highest : var_info_[v].lowest);
  }
  return true;
}

}  // namespace tenon::te_lowering
