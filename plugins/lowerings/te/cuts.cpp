#include "cuts.h"

#include <algorithm>
#include <set>

namespace tenon::te_lowering {

namespace {

constexpr std::size_t most_costly_parts = 8;  // where the stage has transcendental operations

constexpr std::size_t most_offsets = 64;  // values that reduction axes add to a condition

/// q * a + k, compared with 0, for each of several k.
struct Condition {
  std::size_t axis;
  std::int64_t q;
  std::set<std::int64_t> k;
  ScalarOp op;
};

std::optional<Condition> condition_of(const te::Stage& s, const Guard& guard) {
  Condition found{s.axes.size(), 0, {guard.constant}, guard.op};
  for (std::size_t a = 0; a < guard.coeff.size(); ++a) {
    const std::int64_t q = guard.coeff[a];
    if (q == 0) continue;
    if (a < s.axes.size()) {
      if (found.q != 0) return std::nullopt;
      found.axis = a, found.q = q;
      continue;
    }
    std::set<std::int64_t> all;
    for (std::int64_t k : found.k)
      for (std::int64_t i = 0; i < s.reduce[a - s.axes.size()].extent; ++i) {
        all.insert(k + q * i);
        if (all.size() > most_offsets) return std::nullopt;
      }
    found.k = std::move(all);
  }
  if (found.q == 0) return std::nullopt;
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

/// Where q * a + k, compared with 0, changes: below the first position with q * a + k >= 0, or with
/// > 0.
void add_cuts(std::int64_t q, std::int64_t k, ScalarOp op, std::int64_t extent,
              std::set<std::int64_t>& to) {
  if (q < 0) q = -q, k = -k, op = mirrored(op);
  const std::int64_t reached = -floor_div(k, q), passed = floor_div(-k, q) + 1;
  const auto put = [&](std::int64_t at) {
    if (at > 0 && at < extent) to.insert(at);
  };
  if (op != ScalarOp::le && op != ScalarOp::gt) put(reached);
  if (op != ScalarOp::lt && op != ScalarOp::ge) put(passed);
}

}  // namespace

std::optional<Guard> guard_of(const te::Compute& c, const te::Stage& s, const te::Expr& e) {
  if (e.kind != te::Kind::scalar || !is_comparison(e.op)) return std::nullopt;
  const te::Affine x = te::affine_of(c, s, e.args[0]), y = te::affine_of(c, s, e.args[1]);
  if (!x.ok || !y.ok) return std::nullopt;
  Guard g{e.op, x.coeff, x.constant - y.constant};
  for (std::size_t k = 0; k < g.coeff.size(); ++k) g.coeff[k] -= y.coeff[k];
  return g;
}

std::vector<std::vector<std::int64_t>> cuts_of(const te::Compute& c, const te::Stage& s,
                                               std::size_t most_parts) {
  std::vector<std::set<std::int64_t>> found(s.axes.size());
  bool costly = false;
  for (te::ExprId id : te::reachable(c, s.value)) {
    const te::Expr& e = c.exprs[id];
    costly |= e.kind == te::Kind::scalar && is_transcendental(e.op);
    const auto guard = guard_of(c, s, e);
    if (const auto condition = guard ? condition_of(s, *guard) : std::nullopt)
      for (std::int64_t k : condition->k)
        add_cuts(condition->q, k, condition->op, s.axes[condition->axis].extent,
                 found[condition->axis]);
  }
  std::vector<std::vector<std::int64_t>> r(s.axes.size());
  std::size_t parts = 1;
  const std::size_t most = costly ? std::min(most_costly_parts, most_parts) : most_parts;
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
