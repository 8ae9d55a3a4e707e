#include "cuts.h"

#include <algorithm>
#include <optional>
#include <set>

namespace tenon::te_lowering {

namespace {

constexpr std::size_t most_parts = 128;       // of a loop nest
constexpr std::size_t most_costly_parts = 8;  // where the stage has transcendental operations

/// q * a + k, compared with 0.
struct Condition {
  std::size_t axis;
  std::int64_t q, k;
  ScalarOp op;
};

std::optional<Condition> condition_of(const te::Compute& c, const te::Stage& s, const te::Expr& e) {
  if (e.kind != te::Kind::scalar || !is_comparison(e.op)) return std::nullopt;
  const te::Affine x = te::affine_of(c, s, e.args[0]), y = te::affine_of(c, s, e.args[1]);
  if (!x.ok || !y.ok) return std::nullopt;
  std::optional<Condition> found;
  for (std::size_t a = 0; a < x.coeff.size(); ++a) {
    const std::int64_t q = x.coeff[a] - y.coeff[a];
    if (q == 0) continue;
    if (found || a >= s.axes.size()) return std::nullopt;
    found = Condition{a, q, x.constant - y.constant, e.op};
  }
  return found;
}

std::int64_t floor_div(std::int64_t n, std::int64_t d) {  // d > 0
  return n / d - (n % d < 0);
}

ScalarOp mirrored(ScalarOp op) {
  switch (op) {
    case ScalarOp::lt:
      return ScalarOp::gt;
    case ScalarOp::le:
      return ScalarOp::ge;
    case ScalarOp::gt:
      return ScalarOp::lt;
    case ScalarOp::ge:
      return ScalarOp::le;
    default:
      return op;
  }
}

/// Where the condition changes: below the first position with q * a + k >= 0, or with > 0.
void add_cuts(Condition c, std::int64_t extent, std::set<std::int64_t>& to) {
  if (c.q < 0) c = {c.axis, -c.q, -c.k, mirrored(c.op)};
  const std::int64_t reached = -floor_div(c.k, c.q), passed = floor_div(-c.k, c.q) + 1;
  const auto put = [&](std::int64_t k) {
    if (k > 0 && k < extent) to.insert(k);
  };
  if (c.op != ScalarOp::le && c.op != ScalarOp::gt) put(reached);
  if (c.op != ScalarOp::lt && c.op != ScalarOp::ge) put(passed);
}

}  // namespace

std::vector<std::vector<std::int64_t>> cuts_of(const te::Compute& c, const te::Stage& s) {
  std::vector<std::set<std::int64_t>> found(s.axes.size());
  bool costly = false;
  for (te::ExprId id : te::reachable(c, s.value)) {
    const te::Expr& e = c.exprs[id];
    costly |= e.kind == te::Kind::scalar && is_transcendental(e.op);
    if (const auto condition = condition_of(c, s, e))
      add_cuts(*condition, s.axes[condition->axis].extent, found[condition->axis]);
  }
  std::vector<std::vector<std::int64_t>> r(s.axes.size());
  std::size_t parts = 1;
  const std::size_t most = costly ? most_costly_parts : most_parts;
  for (std::size_t a = 0; a < r.size(); ++a) {
    if (parts * (found[a].size() + 1) > most) continue;
    parts *= found[a].size() + 1;
    r[a].assign(found[a].begin(), found[a].end());
  }
  return r;
}

std::vector<Segment> cut(const std::vector<Segment>& blocks, std::int64_t base,
                         const std::vector<std::int64_t>& cuts) {
  if (cuts.empty()) return blocks;
  std::vector<Segment> r;
  for (const Segment& g : blocks) {
    std::set<std::int64_t> at{0, g.count};  // numbers of blocks before which a run begins
    for (std::int64_t k : cuts) {
      const std::int64_t inside = k - base - g.first;
      if (inside <= 0 || inside >= g.size * g.count) continue;
      at.insert(inside / g.size);
      if (inside % g.size != 0) at.insert(inside / g.size + 1);
    }
    for (auto b = at.begin(), e = std::next(b); e != at.end(); ++b, ++e)
      r.push_back({g.first + *b * g.size, g.size, *e - *b});
  }
  return r;
}

}  // namespace tenon::te_lowering
