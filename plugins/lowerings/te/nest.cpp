#include "nest.h"

#include <algorithm>
#include <limits>
#include <optional>

#include "math.h"
#include "tenon/diag.h"
#include "tensorise.h"
#include "tiling.h"

namespace tenon::te_lowering {

namespace {

// How much code the parts of an output may make, whose guards differ: unrolled windows, and loops
// over the steps of one.
constexpr std::size_t most_parts = 128, most_window_parts = 9;

}  // namespace

std::vector<Segment> split(std::int64_t extent, std::int64_t step, std::int64_t quantum,
                           bool balanced) {
  std::vector<Segment> r;
  const auto put = [&](std::int64_t first, std::int64_t size, std::int64_t count) {
    if (size > 0 && count > 0) r.push_back({first, size, count});
  };
  if (extent <= 0) return r;
  if (!balanced) {
    put(0, step, extent / step);
    put(extent / step * step, extent % step, 1);
    return r;
  }
  const std::int64_t units = (extent + quantum - 1) / quantum,
                     most = std::max<std::int64_t>(1, step / quantum);
  const std::int64_t n = (units + most - 1) / most, small = units / n, n_big = units - n * small;
  const std::int64_t missing = units * quantum - extent;  // of the last block
  const bool last_is_small = n > n_big;
  const std::int64_t cut = missing > 0 ? 1 : 0;
  put(0, (small + 1) * quantum, n_big - (last_is_small ? 0 : cut));
  put(n_big * (small + 1) * quantum, small * quantum, n - n_big - (last_is_small ? cut : 0));
  const std::int64_t last = (last_is_small ? small : small + 1) * quantum;
  if (cut) put(units * quantum - last, last - missing, 1);
  return r;
}

/// A stage under emission: its ranges shrink as loops open.
struct Nest::Active {
  std::uint32_t number = 0;
  const te::Stage& stage;
  const std::vector<LoopSpec>& loops;
  std::vector<Range> axes;                      // by axis number
  std::size_t cut = 0;                          // index of the first loop of the tile
  std::vector<std::vector<std::int64_t>> cuts;  // by output axis; none around a reduction's loop
                                                // but that of a window
  std::vector<Guard> guards;  // of the steps of a window, where loops run over them
  bool has_reduction = false;
  const te::Expr* reduction = nullptr;
  std::optional<ByteProducts> products;  // what a tensor loop takes
  int vec = -1;                          // axis of the vector loop
  unsigned lanes = 1;
  std::vector<Point> points;            // of the register tile
  std::vector<std::vector<VarId>> acc;  // [slot][point]
  std::size_t slots = 1;
  bool vec_is_reduction() const { return vec >= static_cast<int>(stage.axes.size()); }
};

Nest::Nest(Code& code, const te::Compute& c, const Schedule& s, bool fast_math)
    : code_(code),
      c_(c),
      schedule_(s),
      memory_(c.inputs.size() + c.stages.size()),
      allocated_(c.stages.size()),
      eval_(code, c, memory_, fast_math) {}

void Nest::emit() {
  std::vector<std::uint32_t> roots;
  for (std::uint32_t s = 0; s < c_.stages.size(); ++s)
    if (schedule_.stages[s].place != Place::worker) roots.push_back(s);
  tir::Kernel& k = code_.kernel();
  bool any = false;
  for (std::uint32_t s : roots) {
    bool empty = false;
    for (const te::Axis& a : c_.stages[s].axes) empty |= a.extent == 0;
    any |= !empty;
  }
  k.extent = any ? 1 : 0;
  if (!any) return;
  const bool alone = roots.size() == 1;
  const auto& first = schedule_.stages[roots[0]].loops;
  const bool in_parallel = alone && !first.empty() && first[0].kind == LoopKind::parallel;
  if (!in_parallel) code_.open_loop("once", code_.var(0), code_.var(1), 0, 0);
  for (std::uint32_t s : roots) {
    std::vector<Range> axes;
    for (const te::Axis& a : c_.stages[s].axes) axes.push_back({{}, a.extent});
    stage(s, axes);
    const BufferId b = memory_[c_.tensor_of_stage(s)].buffer;
    code_.set_floor(b, code_.depth() - 1);
  }
  if (!in_parallel) code_.close_loop();
}

void Nest::stage(std::uint32_t s, const std::vector<Range>& axes) {
  const te::Stage& st = c_.stages[s];
  Active a{.number = s, .stage = st, .loops = schedule_.stages[s].loops, .axes = axes};
  for (const Range& r : axes)
    if (r.extent == 0) return;
  for (const te::Axis& x : st.reduce) a.axes.push_back({{}, x.extent});
  for (te::ExprId id : te::reachable(c_, st.value))
    if (c_.exprs[id].kind == te::Kind::reduce) a.reduction = &c_.exprs[id];
  a.has_reduction = a.reduction != nullptr;
  a.cut = a.loops.size();
  for (std::size_t i = 0; i < a.loops.size(); ++i) {
    if (a.loops[i].kind == LoopKind::vector) {
      a.vec = static_cast<int>(a.loops[i].axis);
      a.lanes = static_cast<unsigned>(a.loops[i].step);
    }
    if (a.loops[i].kind == LoopKind::tensor) a.products = byte_products(c_, st);
    if (a.has_reduction && a.loops[i].axis >= st.axes.size()) a.cut = std::min(a.cut, i);
  }
  const auto unrolled = [](LoopKind k) { return k == LoopKind::unroll || k == LoopKind::vector; };
  if (!a.has_reduction)
    while (a.cut > 0 && unrolled(a.loops[a.cut - 1].kind)) --a.cut;
  if (!a.has_reduction || unrolls_reduction(a))
    a.cuts = cuts_of(c_, st, most_parts);
  else
    find_window(a);
  if (!a.loops.empty() && a.loops[0].kind == LoopKind::parallel)
    parallel(a);
  else
    loops(a, 0);
}

/// Blocks of loop `i`. Blocks that the tile consumes whole are balanced.
std::vector<Segment> Nest::segments(const Active& a, std::size_t i) const {
  const LoopSpec& l = a.loops[i];
  std::int64_t quantum = 1;
  bool innermost = true, tiled = false;
  for (std::size_t j = i + 1; j < a.loops.size(); ++j) {
    if (a.loops[j].axis != l.axis) continue;
    if (a.loops[j].kind == LoopKind::vector) quantum = a.loops[j].step;
    innermost &= a.loops[j].kind == LoopKind::unroll || a.loops[j].kind == LoopKind::vector;
    tiled = true;
  }
  const Range& range = a.axes[l.axis];
  std::vector<Segment> blocks = split(range.extent, l.step, quantum, innermost && tiled);
  const bool fixed = l.axis < a.cuts.size() && range.base.is_constant();
  return fixed ? cut(blocks, range.base.c, a.cuts[l.axis]) : blocks;
}

void Nest::loops(Active& a, std::size_t i) {
  attached(a, i);
  if (i == a.cut) return tile(a);
  const LoopSpec& l = a.loops[i];
  const Range whole = a.axes[l.axis];
  for (const Segment& g : segments(a, i)) {
    Range& r = a.axes[l.axis];
    r.extent = g.size;
    if (g.count == 1 || l.kind == LoopKind::unroll) {
      for (std::int64_t b = 0; b < g.count; ++b) {
        a.axes[l.axis].base = whole.base + (g.first + b * g.size);
        loops(a, i + 1);
      }
    } else {
      const VarId v = code_.open_loop(a.stage.name + "_" + std::to_string(l.axis), code_.i64(0),
                                      code_.i64(g.count), 0, g.count - 1);
      r.base = add_scaled(whole.base, Lin::of(v), g.size) + g.first;
      loops(a, i + 1);
      code_.close_loop();
    }
  }
  a.axes[l.axis] = whole;
}

void Nest::parallel(Active& a) {
  std::vector<std::int64_t> counts;
  std::int64_t total = 1;
  const std::vector<Range> whole = a.axes;
  for (std::size_t i = 0; i < a.loops.size() && a.loops[i].kind == LoopKind::parallel; ++i) {
    std::int64_t n = 0;
    for (const Segment& g : segments(a, i)) n += g.count;
    counts.push_back(n);
    total *= n;
    // A second parallel loop over one axis would see ranges of two sizes; schedules are checked for
    // that.
  }
  code_.kernel().extent = total;
  attached(a, 0);
  const VarId p = code_.open_loop("p", code_.var(0), code_.var(1), 0, total - 1);
  std::vector<VarId> index;
  Lin rest = Lin::of(p);
  std::int64_t inner = total;
  for (std::size_t i = 0; i < counts.size(); ++i) {
    inner /= counts[i];
    ExprId e = code_.var(p);
    if (inner > 1) e = code_.scalar(ScalarOp::div, DType::i64, {e, code_.i64(inner)});
    if (i > 0) e = code_.scalar(ScalarOp::mod, DType::i64, {e, code_.i64(counts[i])});
    const VarId v = code_.fresh("block", {DType::i64, 1});
    code_.assign(v, e);
    code_.set_bounds(v, 0, counts[i] - 1);
    index.push_back(v);
  }
  decode(a, 0, index);
  code_.close_loop();
}

/// Turns block numbers into ranges. Each size of block has its own branch; its base is a variable
/// of the branch, so that nothing that depends on it is computed where the block has another size.
void Nest::decode(Active& a, std::size_t i, const std::vector<VarId>& index) {
  if (i == index.size()) return loops(a, i);
  decode_among(a, i, index, segments(a, i), 0);
}

/// `parts` are those that block number index[i] may be in; `seen` blocks come before them.
void Nest::decode_among(Active& a, std::size_t i, const std::vector<VarId>& index,
                        std::span<const Segment> parts, std::int64_t seen) {
  if (parts.size() > 1) {
    const auto half = parts.first(parts.size() / 2);
    std::int64_t before = seen;
    for (const Segment& g : half) before += g.count;
    code_.open_branch(
        code_.scalar(ScalarOp::lt, DType::boolean, {code_.var(index[i]), code_.i64(before)}));
    decode_among(a, i, index, half, seen);
    code_.open_other();
    decode_among(a, i, index, parts.subspan(half.size()), before);
    return code_.close_branch();
  }
  const LoopSpec& l = a.loops[i];
  const Range whole = a.axes[l.axis];
  const Segment& g = parts[0];
  Lin block = Lin::of(index[i]);
  if (g.first != 0 || g.count * g.size < whole.extent) {  // one of several parts
    const VarId v = code_.fresh("block", {DType::i64, 1});
    code_.assign(v,
                 code_.scalar(ScalarOp::add, DType::i64, {code_.var(index[i]), code_.i64(-seen)}));
    code_.set_bounds(v, 0, g.count - 1);
    block = Lin::of(v);
  }
  a.axes[l.axis] = {add_scaled(whole.base, block, g.size) + g.first, g.size};
  if (g.count == 1) a.axes[l.axis].base = whole.base + g.first;
  decode(a, i + 1, index);
  a.axes[l.axis] = whole;
}

// ---- stages computed inside the loops of their consumer

void Nest::attached(Active& a, std::size_t i) {
  std::vector<std::uint32_t> children, within;  // here, and here or further in
  for (std::uint32_t s = 0; s < c_.stages.size(); ++s) {
    const StageSchedule& x = schedule_.stages[s];
    if (x.place != Place::worker || x.at_stage != a.number || x.at_loop < i) continue;
    within.push_back(s);
    if (x.at_loop == i) children.push_back(s);
  }
  if (children.empty()) return;
  std::vector<std::vector<Range>> regions(c_.stages.size());
  request(a.stage, a.axes, regions);
  for (auto s = within.rbegin(); s != within.rend(); ++s) {
    std::vector<Range> ranges = regions[*s];
    for (const te::Axis& x : c_.stages[*s].reduce) ranges.push_back({{}, x.extent});
    if (!regions[*s].empty() || c_.stages[*s].axes.empty()) request(c_.stages[*s], ranges, regions);
  }
  for (std::uint32_t s : children) {
    allocate(s, regions[s]);
    stage(s, regions[s]);
    code_.set_floor(memory_[c_.tensor_of_stage(s)].buffer, code_.depth() - 1);
  }
}

namespace {

/// Smallest range that holds both, when their bases differ by a constant.
std::optional<Range> hull(const Range& a, const Range& b) {
  if (a.base.terms != b.base.terms) return std::nullopt;
  const std::int64_t low = std::min(a.base.c, b.base.c);
  const std::int64_t high = std::max(a.base.c + a.extent, b.base.c + b.extent);
  return Range{{low, a.base.terms}, high - low};
}

}  // namespace

/// Widens `regions` (by stage) by what stage `s` loads of them while its axes run over `ranges`.
void Nest::request(const te::Stage& s, const std::vector<Range>& ranges,
                   std::vector<std::vector<Range>>& regions) {
  for (te::ExprId id : te::reachable(c_, s.value)) {
    const te::Expr& e = c_.exprs[id];
    if (e.kind != te::Kind::load || c_.is_input(e.n)) continue;
    const te::Stage& of = c_.stage_of(e.n);
    auto& region = regions[e.n - c_.inputs.size()];
    const bool first = region.empty();
    region.resize(of.axes.size());
    for (std::size_t d = 0; d < of.axes.size(); ++d) {
      const Range all{{}, of.axes[d].extent};
      const te::Affine x = te::affine_of(c_, s, e.args[d]);
      Range r{Lin{x.constant, {}}, 1};
      std::int64_t low = x.constant, high = x.constant;  // over the whole stage
      for (std::size_t k = 0; x.ok && k < x.coeff.size(); ++k) {
        const std::int64_t q = x.coeff[k];
        if (q == 0) continue;
        const std::int64_t extent =
            k < s.axes.size() ? s.axes[k].extent : s.reduce[k - s.axes.size()].extent;
        (q < 0 ? low : high) += q * (extent - 1);
        r.base = add_scaled(r.base, ranges[k].base, q);
        if (q < 0) r.base = r.base + q * (ranges[k].extent - 1);
        r.extent += std::abs(q) * (ranges[k].extent - 1);
      }
      const bool inside = x.ok && low >= 0 && high < all.extent && r.extent < all.extent;
      if (!inside) r = all;
      region[d] = first ? r : hull(region[d], r).value_or(all);
    }
  }
}

void Nest::allocate(std::uint32_t s, const std::vector<Range>& region) {
  const std::uint32_t t = c_.tensor_of_stage(s);
  auto& extents = allocated_[s];
  Memory& m = memory_[t];
  if (m.buffer == tir::none) {
    std::uint64_t n = 1;
    m.stride.assign(region.size(), 1);
    for (std::size_t d = region.size(); d-- > 0;) {
      m.stride[d] = static_cast<std::int64_t>(n);
      n *= static_cast<std::uint64_t>(region[d].extent);
      extents.insert(extents.begin(), region[d].extent);
    }
    // Slack, so that partial vectors of strides up to 4 are read whole.
    const unsigned size = bits(c_.stages[s].dtype) / 8;
    n += 4 * 64;
    m.slack = true;
    tir::Kernel& k = code_.kernel();
    m.buffer = static_cast<BufferId>(k.buffers.size());
    k.buffers.push_back({.name = c_.stages[s].name,
                         .dtype = c_.stages[s].dtype,
                         .elements = n,
                         .scope = tir::Scope::worker,
                         .offset = worker_bytes_,
                         .align = 64});
    worker_bytes_ = (worker_bytes_ + n * size + 63) / 64 * 64;
    code_.set_floor(m.buffer, 0);
  }
  m.base.clear();
  for (std::size_t d = 0; d < region.size(); ++d) {
    TENON_CHECK(region[d].extent <= extents[d]);  // the first block is the largest
    m.base.push_back(region[d].base);
  }
}

// ---- the register tile

namespace {

ScalarOp combining(te::Fold f, DType t) {
  const bool logical = t == DType::boolean;
  switch (f) {
    case te::Fold::sum:
      return logical ? ScalarOp::logical_or : ScalarOp::add;
    case te::Fold::prod:
      return logical ? ScalarOp::logical_and : ScalarOp::mul;
    case te::Fold::max:
      return logical ? ScalarOp::logical_or : ScalarOp::max;
    case te::Fold::min:
      return logical ? ScalarOp::logical_and : ScalarOp::min;
  }
  TENON_BUG("a fold without an operation");
}

ExprId identity(Code& code, te::Fold f, DType t) {
  const double inf = std::numeric_limits<double>::infinity();
  if (f == te::Fold::sum) return code.imm(t, 0);
  if (f == te::Fold::prod) return code.imm(t, 1);
  const bool lowest = f == te::Fold::max;
  if (is_float(t)) return code.imm_float(t, lowest ? -inf : inf);
  if (t == DType::boolean) return code.imm_int(t, lowest ? 0 : 1);
  const unsigned n = bits(t);
  const std::int64_t top = n == 64 ? INT64_MAX : (std::int64_t{1} << (n - 1)) - 1;
  if (is_signed(t)) return code.imm_int(t, lowest ? -top - 1 : top);
  return code.imm_int(t, lowest ? 0 : n == 64 ? -1 : 2 * top + 1);
}

}  // namespace

void Nest::tile(Active& a) {
  a.points.clear();
  a.acc.clear();
  Point p;
  for (const Range& r : a.axes) p.axis.push_back(r.base);
  positions(a, a.cut, p, a.axes);
  if (!a.reduction) return finish(a);
  if (!unrolls_reduction(a)) return fold(a);
  // Point by point: what neighbouring windows share is loaded shortly before.
  for (const Point& one : std::vector<Point>(std::move(a.points))) {
    a.points = {one};
    fold(a);
  }
}

/// Whether the tile has no loop: all steps of the reduction are unrolled.
bool Nest::unrolls_reduction(const Active& a) const {
  return !a.vec_is_reduction() && std::all_of(a.loops.begin() + static_cast<std::ptrdiff_t>(a.cut),
                                              a.loops.end(), [&](const LoopSpec& l) {
                                                return l.axis < a.stage.axes.size() ||
                                                       l.kind == LoopKind::unroll ||
                                                       l.kind == LoopKind::tensor;
                                              });
}

/// A window with few steps whose loads are guarded: the output is cut where the guards change, and
/// a loop over steps whose guards differ has its steps one by one, each with the points that it
/// reads something for.
void Nest::find_window(Active& a) const {
  std::vector<bool> window(a.axes.size(), false);
  std::vector<Guard> guards;
  for (te::ExprId id : te::reachable(c_, a.reduction->args[0])) {
    const te::Expr& e = c_.exprs[id];
    if (e.kind != te::Kind::scalar || !is_comparison(e.op)) continue;
    auto guard = guard_of(c_, a.stage, e);
    if (!guard) return;
    for (std::size_t k = a.stage.axes.size(); k < window.size(); ++k)
      window[k] = window[k] || guard->coeff[k] != 0;
    guards.push_back(*std::move(guard));
  }
  std::int64_t steps = 1;
  for (std::size_t k = 0; k < window.size(); ++k)
    if (window[k]) steps *= std::min(a.axes[k].extent, most_window_steps + 1);
  if (steps <= 1 || steps > most_window_steps) return;
  a.guards = std::move(guards);
  a.cuts = cuts_of(c_, a.stage, most_window_parts);
}

/// Whether each guard that looks at reduction axis `axis` says the same of all steps, at every
/// point of the tile.
bool Nest::is_decided(const Active& a, std::uint32_t axis) const {
  for (const Guard& g : a.guards) {
    if (g.coeff[axis] == 0) continue;
    for (const Point& p : a.points) {
      Lin base{g.constant, {}};
      std::int64_t below = 0, above = 0;
      for (std::size_t k = 0; k < g.coeff.size(); ++k) {
        if (g.coeff[k] == 0) continue;
        const bool output = k < a.stage.axes.size();
        base = add_scaled(base, output ? p.axis[k] : a.axes[k].base, g.coeff[k]);
        const std::int64_t count = !output                        ? a.axes[k].extent
                                   : static_cast<int>(k) == p.vec ? p.active
                                                                  : 1;
        (g.coeff[k] < 0 ? below : above) += g.coeff[k] * (count - 1);
      }
      std::int64_t low = 0, high = 0;
      if (!code_.bounds(base, low, high) || !compared_with_zero(g.op, low + below, high + above))
        return false;
    }
  }
  return true;
}

/// The reduction of all points of the tile, side by side.
void Nest::fold(Active& a) {
  const DType t = a.reduction->dtype;
  a.slots = 1;
  if (a.vec_is_reduction())
    for (std::size_t i = a.cut; i < a.loops.size(); ++i)
      if (a.loops[i].kind == LoopKind::unroll && static_cast<int>(a.loops[i].axis) == a.vec) {
        // One accumulator per unrolled block of the vector axis: independent chains.
        std::int64_t block = a.axes[a.vec].extent;
        for (std::size_t j = a.cut; j < i; ++j)
          if (static_cast<int>(a.loops[j].axis) == a.vec) block = std::min(block, a.loops[j].step);
        a.slots = static_cast<std::size_t>((block + a.loops[i].step - 1) / a.loops[i].step);
      }
  a.acc.assign(a.slots, std::vector<VarId>(a.points.size()));
  for (auto& slot : a.acc)
    for (VarId& v : slot) {
      v = code_.fresh("acc", {t, static_cast<std::uint16_t>(a.lanes)});
      code_.assign(v, code_.broadcast(identity(code_, a.reduction->fold, t), a.lanes));
    }
  reduce(a, a.cut, 0);
  finish(a);
}

/// Collects the points of the tile: output loops behind the cut, all unrolled.
void Nest::positions(Active& a, std::size_t i, Point p, std::vector<Range> ranges) {
  while (i < a.loops.size() && a.loops[i].axis >= a.stage.axes.size()) ++i;
  if (i == a.loops.size()) {
    a.points.push_back(std::move(p));
    return;
  }
  const LoopSpec& l = a.loops[i];
  const Range whole = ranges[l.axis];
  for (std::int64_t at = 0; at < whole.extent; at += l.step) {
    ranges[l.axis] = {whole.base + at, std::min(l.step, whole.extent - at)};
    p.axis[l.axis] = ranges[l.axis].base;
    if (l.kind == LoopKind::vector) {
      p.vec = a.vec;
      p.lanes = a.lanes;
      p.active = ranges[l.axis].extent;
    }
    positions(a, i + 1, p, ranges);
  }
}

void Nest::reduce(Active& a, std::size_t i, std::size_t slot) {
  while (i < a.loops.size() && a.loops[i].axis < a.stage.axes.size()) ++i;
  if (i == a.loops.size()) return accumulate(a, slot);
  const LoopSpec& l = a.loops[i];
  if (l.kind == LoopKind::tensor) return reduce(a, i + 1, slot);
  const Range whole = a.axes[l.axis];
  for (const Segment& g : segments(a, i)) {
    Range& r = a.axes[l.axis];
    r.extent = g.size;
    r.base = whole.base + g.first;
    r.extent = g.size * g.count;
    const bool together = l.kind == LoopKind::serial && g.count > 1 && is_decided(a, l.axis);
    r.extent = g.size;
    if (!together) {
      for (std::int64_t b = 0; b < g.count; ++b) {
        const std::int64_t at = g.first + b * g.size;
        a.axes[l.axis].base = whole.base + at;
        const bool own_slot = l.kind == LoopKind::unroll && static_cast<int>(l.axis) == a.vec;
        reduce(a, i + 1, own_slot ? static_cast<std::size_t>(at / l.step) : slot);
      }
    } else {
      const VarId v =
          code_.open_loop(a.stage.name + "_r" + std::to_string(l.axis - a.stage.axes.size()),
                          code_.i64(0), code_.i64(g.count), 0, g.count - 1);
      r.base = add_scaled(whole.base, Lin::of(v), g.size) + g.first;
      reduce(a, i + 1, slot);
      code_.close_loop();
    }
  }
  a.axes[l.axis] = whole;
}

void Nest::accumulate(Active& a, std::size_t slot) {
  const te::Expr& r = *a.reduction;
  const te::Expr& body = c_.exprs[r.args[0]];
  const ScalarOp op = combining(r.fold, r.dtype);
  const bool fused = r.fold == te::Fold::sum && (r.dtype == DType::f32 || r.dtype == DType::f64) &&
                     body.kind == te::Kind::scalar && body.op == ScalarOp::mul;
  for (std::size_t k = 0; k < a.points.size(); ++k) {
    Point p = a.points[k];
    for (std::size_t x = a.stage.axes.size(); x < a.axes.size(); ++x) p.axis[x] = a.axes[x].base;
    if (a.vec_is_reduction()) {
      p.vec = a.vec;
      p.lanes = a.lanes;
      p.active = a.axes[a.vec].extent;
    }
    const VarId acc = a.acc[slot][k];
    ExprId sum = tir::none;
    const unsigned lanes = code_.type(code_.var(acc)).lanes;
    if (a.products) {
      sum = code_.dot(eval_.group(a.stage, a.products->x.load, p),
                      eval_.group(a.stage, a.products->y.load, p), code_.var(acc));
    } else if (fused) {
      // A factor that is known to be zero is padding, which adds nothing, whatever the other holds.
      const auto factor = [&](std::size_t n) { return eval_.value(a.stage, body.args[n], p); };
      const auto is_zero = [&](ExprId e) {
        return code_[e].kind == tir::Kind::imm && code_[e].f == 0 && code_[e].i == 0;
      };
      const ExprId x = factor(0);
      if (is_zero(x)) continue;
      const ExprId y = factor(1);
      if (is_zero(y)) continue;
      sum = code_.update(ScalarOp::fma, r.dtype,
                         {code_.broadcast(x, lanes), code_.broadcast(y, lanes), code_.var(acc)});
    } else {
      const ExprId x = code_.broadcast(eval_.value(a.stage, r.args[0], p), lanes);
      sum = code_.update(op, r.dtype, {code_.var(acc), x});
    }
    if (a.vec_is_reduction() && p.partial())
      sum = code_.update(ScalarOp::select, r.dtype, {eval_.active_lanes(p), sum, code_.var(acc)});
    code_.assign(acc, sum);
  }
}

/// Folds the accumulators, computes the epilogue and stores.
void Nest::finish(Active& a) {
  const Memory& m = memory_[c_.tensor_of_stage(a.number)];
  for (std::size_t k = 0; k < a.points.size(); ++k) {
    Point p = a.points[k];
    if (a.reduction) {
      const ScalarOp op = combining(a.reduction->fold, a.reduction->dtype);
      ExprId sum = code_.var(a.acc[0][k]);
      for (std::size_t s = 1; s < a.slots; ++s)
        sum = code_.scalar(op, a.reduction->dtype, {sum, code_.var(a.acc[s][k])});
      if (a.vec_is_reduction()) sum = code_.name(code_.fold_lanes(op, sum));
      p.folded = sum;
    }
    const ExprId v = code_.broadcast(eval_.value(a.stage, a.stage.value, p), p.lanes);
    Lin at;
    for (std::size_t d = 0; d < m.stride.size(); ++d)
      at = add_scaled(at, add_scaled(p.axis[d], m.base[d], -1), m.stride[d]);
    const std::int64_t stride = p.vec >= 0 ? m.stride[p.vec] : 1;
    code_.store(m.buffer, code_.linear(at), v, stride,
                p.partial() ? eval_.active_lanes(p) : tir::none);
  }
}

}  // namespace tenon::te_lowering
