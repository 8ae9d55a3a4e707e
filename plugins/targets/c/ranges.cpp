#include "ranges.h"

#include <algorithm>

namespace tenon::c_target {
namespace {

__extension__ typedef __int128 Wide;  // holds every sum and product of two of 64 bits

constexpr Interval nothing{INT64_MAX, INT64_MIN};
constexpr int most_passes =
    64;  // deeper than any nest of loops; what still grows then holds anything

/// The interval, or unknown when an end leaves 64 bits.
Interval exact(Wide lo, Wide hi) {
  if (lo < INT64_MIN || hi > INT64_MAX) return {};
  return {static_cast<std::int64_t>(lo), static_cast<std::int64_t>(hi)};
}

Interval join(Interval a, Interval b) { return {std::min(a.lo, b.lo), std::max(a.hi, b.hi)}; }

Wide floor_div(Wide a, Wide b) { return a / b - (a % b != 0 && a < 0); }  // b > 0

Interval corners(Interval a, Interval b, Wide (*f)(Wide, Wide)) {
  const Wide c[] = {f(a.lo, b.lo), f(a.lo, b.hi), f(a.hi, b.lo), f(a.hi, b.hi)};
  return exact(*std::min_element(c, c + 4), *std::max_element(c, c + 4));
}

/// Every value of the type, as i64; unknown where it holds more.
Interval all_of(DType t) {
  if (t == DType::boolean) return {0, 1};
  const unsigned w = bits(t);
  if (!is_int(t) || w == 64) return {};
  const std::int64_t top = std::int64_t{1} << (is_signed(t) ? w - 1 : w);
  return {is_signed(t) ? -top : 0, top - 1};
}

bool is_index(tir::Type t) { return t.dtype == DType::i64; }

}  // namespace

Ranges::Ranges(const tir::Kernel& k)
    : k_(k), exprs_(k.exprs.size(), nothing), vars_(k.vars.size(), nothing) {
  for (std::size_t v = 0; v < 2 && v < vars_.size(); ++v)
    vars_[v] = {0, std::max<std::int64_t>(k.extent, 0)};
  solve();
  find_narrow();
}

void Ranges::solve() {
  for (int n = 0; n < most_passes; ++n)
    if (!pass()) return;
  std::vector<Interval> before;
  do {
    before = vars_;
    if (!pass()) return;
    for (std::size_t v = 0; v < vars_.size(); ++v)
      if (!(vars_[v] == before[v])) vars_[v] = {};
  } while (!(vars_ == before));
}

bool Ranges::pass() {
  for (std::size_t e = 0; e < exprs_.size(); ++e) exprs_[e] = evaluate(k_.exprs[e]);
  const std::vector<Interval> before = vars_;
  for (const tir::Stmt& s : k_.stmts) {
    if (s.target == tir::none || s.kind == tir::StmtKind::store ||
        !is_index(k_.vars[s.target].type))
      continue;
    Interval& v = vars_[s.target];
    if (s.kind == tir::StmtKind::assign) v = join(v, exprs_[s.value]);
    if (s.kind == tir::StmtKind::loop && !exprs_[s.begin].empty() && !exprs_[s.end].empty() &&
        exprs_[s.begin].lo < exprs_[s.end].hi)
      v = join(v, {exprs_[s.begin].lo, exprs_[s.end].hi - 1});
  }
  return !(vars_ == before);
}

Interval Ranges::evaluate(const tir::Expr& e) const {
  if (!is_index(e.type)) return all_of(e.type.dtype);
  switch (e.kind) {
    case tir::Kind::imm:
      return {e.i, e.i};
    case tir::Kind::var:
      return vars_[e.n];
    case tir::Kind::broadcast:
      return exprs_[e.args[0]];
    case tir::Kind::ramp: {
      const Interval a = exprs_[e.args[0]];
      const Wide last = static_cast<Wide>(e.i) * (e.type.lanes - 1);
      return a.empty() ? nothing
                       : exact(a.lo + std::min<Wide>(last, 0), a.hi + std::max<Wide>(last, 0));
    }
    case tir::Kind::scalar:
      return operation(e);
    default:
      return {};
  }
}

Interval Ranges::operation(const tir::Expr& e) const {
  const Interval first = exprs_[e.args[0]];
  if (e.op == ScalarOp::cast) return is_float(k_.exprs[e.args[0]].type.dtype) ? Interval{} : first;
  for (tir::ExprId a : e.args)
    if (exprs_[a].empty()) return nothing;
  const Interval a = exprs_[e.args.size() > 1 ? e.args[e.args.size() - 2] : e.args[0]],
                 b = exprs_[e.args.back()];
  switch (e.op) {
    case ScalarOp::add:
      return exact(static_cast<Wide>(a.lo) + b.lo, static_cast<Wide>(a.hi) + b.hi);
    case ScalarOp::sub:
      return exact(static_cast<Wide>(a.lo) - b.hi, static_cast<Wide>(a.hi) - b.lo);
    case ScalarOp::mul:
      return corners(a, b, [](Wide x, Wide y) { return x * y; });
    case ScalarOp::div:
      return b.lo > 0 ? corners(a, b, floor_div) : Interval{};
    case ScalarOp::mod:
      if (b.lo <= 0) return {};
      return a.lo >= 0 && a.hi < b.lo ? a : Interval{0, b.hi - 1};
    case ScalarOp::min:
      return {std::min(a.lo, b.lo), std::min(a.hi, b.hi)};
    case ScalarOp::max:
      return {std::max(a.lo, b.lo), std::max(a.hi, b.hi)};
    case ScalarOp::select:
      return join(a, b);
    default:
      return {};
  }
}

void Ranges::find_narrow() {
  narrow_vars_.resize(vars_.size());
  for (std::size_t v = 0; v < vars_.size(); ++v)
    narrow_vars_[v] = is_index(k_.vars[v].type) && vars_[v].fits32();
  for (const tir::Stmt& s : k_.stmts)  // the counter passes the end by up to a step
    if (s.kind == tir::StmtKind::loop)
      narrow_vars_[s.target] = narrow_vars_[s.target] && exprs_[s.end].fits32() &&
                               exprs_[s.begin].fits32() &&
                               s.step <= INT32_MAX - std::max<std::int64_t>(exprs_[s.end].hi, 0);
  narrow_.resize(exprs_.size());
  for (std::size_t i = 0; i < exprs_.size(); ++i) {
    const tir::Expr& e = k_.exprs[i];
    bool narrow = is_index(e.type) && exprs_[i].fits32() && e.kind != tir::Kind::load &&
                  e.kind != tir::Kind::fold_lanes;
    if (e.kind == tir::Kind::var) narrow = narrow && narrow_vars_[e.n];
    for (tir::ExprId a : e.args) narrow = narrow && (!is_index(k_.exprs[a].type) || narrow_[a]);
    narrow_[i] = narrow;
  }
}

}  // namespace tenon::c_target
