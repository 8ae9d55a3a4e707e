#include "tiling.h"

#include <algorithm>

#include "tensorise.h"

namespace tenon::te_lowering {

namespace {

constexpr std::int64_t most_unrolled =
    96;  // tile points times unrolled reduction steps: bounds the size of the code
constexpr std::int64_t most_window = 160;  // the same when the whole reduction is unrolled

/// Cost of one load of a whole vector, in loads.
double load_cost(std::int64_t step, double lanes) {
  if (step == 0 || step == 1) return 1;
  if (step >= 2 && step <= 4) return static_cast<double>(step) + 0.5;
  return step == irregular ? 1.5 * lanes : 1.2 * lanes;
}

/// Whether lanes may run along `v`: those of an instruction that takes groups of bytes need them
/// side by side, or all the same.
bool may_spread(const StageFacts& f, int v) {
  return f.tensor < 0 || std::ranges::all_of(f.loads, [&](const Access& a) {
           return !a.in_reduction || a.step[v] == 0 || a.step[v] == 1;
         });
}

void choose_vector(const StageFacts& f, const TargetFacts& target, Tiling& t) {
  const std::int64_t lanes =
      std::min<std::int64_t>(64, target.vector_bytes / std::max(1u, f.element_bytes));
  if (lanes <= 1) return;
  double best = vector_cost(f, -1, 1);
  // Later axes first: at equal cost the innermost one is taken.
  for (int v = static_cast<int>(f.extent.size()) - 1; v >= 0; --v) {
    const bool folds = v >= static_cast<int>(f.n_out);
    if (folds && (!f.reduction || f.reduction->dtype == DType::boolean)) continue;
    if (f.extent[v] <= 1 || !may_spread(f, v)) continue;
    const double cost = vector_cost(f, v, lanes) * (folds ? 1.05 : 1);
    if (cost < best) best = cost, t.vec = v, t.lanes = lanes;
  }
}

/// Whether a tile of `points` has all steps of its reduction unrolled: a small window over the
/// output's own elements.
bool unrolls_window(const StageFacts& f, const Tiling& t, std::int64_t points) {
  const std::int64_t volume = f.reduction_volume();
  return t.vec < static_cast<int>(f.n_out) && volume <= largest_window &&
         points * volume <= most_window;
}

/// Searches the register tile of a reduction. Tile sizes count vectors on the vector axis.
class TileSearch {
 public:
  TileSearch(const StageFacts& f, const TargetFacts& target, const Tiling& t) : f_(f), t_(t) {
    registers_ = std::max<int>(4, static_cast<int>(target.vector_registers));
    for (std::size_t a = 0; a < f.n_out; ++a) count_.push_back(units(a));
    size_.assign(f.n_out, 1);
  }
  std::vector<std::int64_t> run() {
    best_ = size_;
    best_cost_ = cost();
    descend(0, 1);
    return best_;
  }

 private:
  std::int64_t units(std::size_t a) const {
    return static_cast<int>(a) == t_.vec ? blocks(f_.extent[a], t_.lanes)
                                         : std::max<std::int64_t>(f_.extent[a], 1);
  }

  void descend(std::size_t a, std::int64_t points) {
    if (a == size_.size()) {
      if (const double c = cost(); c < best_cost_) best_cost_ = c, best_ = size_;
      return;
    }
    // More rows than that, a multiple of a page apart, would fall into too few sets of the first
    // cache.
    const std::int64_t rows = static_cast<int>(a) == t_.vec ? 14 : 8;
    const std::int64_t most = std::min<std::int64_t>({count_[a], rows, registers_ / points});
    for (std::int64_t u = 1; u <= most; ++u) {
      size_[a] = u;
      descend(a + 1, points * u);
    }
    size_[a] = 1;
  }

  /// Cycles of the whole stage, for a machine with two loads and two multiply-adds a cycle.
  double cost() const {
    double tiles = 1, points = 1, variants = 1, peak = 1;
    std::vector<double> mean(size_.size());
    for (std::size_t a = 0; a < size_.size(); ++a) {
      const double n = static_cast<double>(blocks(count_[a], size_[a]));
      mean[a] = static_cast<double>(count_[a]) / n;
      tiles *= n;
      points *= mean[a];
      peak *= static_cast<double>(size_[a]);
      if (count_[a] % size_[a] != 0) variants *= 1.03;
    }
    const double volume = static_cast<double>(f_.reduction_volume());
    const bool unrolled = unrolls_window(f_, t_, static_cast<std::int64_t>(peak));
    const double steps =
        unrolled
            ? 1
            : volume / (t_.vec >= static_cast<int>(f_.n_out) ? static_cast<double>(t_.lanes) : 1.0);
    double loads = 0, held = 0, largest = 0;
    for (const Access& x : f_.loads) {
      if (!x.in_reduction) continue;
      double n = 1, most = 1;
      bool moves = false;
      for (std::size_t a = 0; a < size_.size(); ++a)
        if (x.step[a] != 0)
          n *= mean[a], most *= static_cast<double>(size_[a]), moves |= size_[a] < count_[a];
      if (unrolled) n = distinct(x, mean), most = std::max(most, moves ? 1.0 : n);
      if (unrolled && !moves) n = 0;  // stays in registers over the tiles
      if (unrolled && moves && stays(x)) {
        peak += n;
        continue;
      }
      // Vector loads seldom start at a cache line, and come from the second cache when the tile's
      // part is large.
      const std::int64_t step = t_.vec < 0 ? 0 : x.step[t_.vec];
      const double unit = step == 0   ? 1
                          : step == 1 ? (unrolled ? 1.6 : 3)
                                      : load_cost(step, static_cast<double>(t_.lanes));
      loads += n * unit;
      held += most;
      largest = std::max(largest, most);
    }
    // One register is left over: with none, code generators spill.
    if (peak + held - largest + 1 >= registers_) return 1e300;
    const double work = points * f_.operations * (unrolled ? volume : 1);
    const double chain =
        points < 8 ? 4.0 * (unrolled ? volume : 1) : 0;  // latency of the accumulators
    const double cycles = std::max({work / 2, loads / 2, chain}) + 0.05 * loads + 0.5;
    const double fixed = (12 + 4 * points) / std::max(1.0, steps);
    return tiles * (cycles + fixed) * steps * variants;
  }

  /// Whether tiles that follow each other load the same elements of `x`: such loads are done before
  /// the innermost loop, and registers hold them.
  bool stays(const Access& x) const {
    for (auto a = t_.order.rbegin(); a != t_.order.rend(); ++a)
      if (count_[*a] > size_[*a]) return x.step[*a] == 0;
    return false;
  }

  /// Loads of `x` in a tile whose reduction is unrolled: neighbouring outputs share what their
  /// windows have in common.
  double distinct(const Access& x, const std::vector<double>& mean) const {
    double n = 1;
    std::vector<bool> used(f_.extent.size(), false);
    for (std::size_t a = 0; a < f_.n_out; ++a) {
      if (x.step[a] == 0 || static_cast<int>(a) == t_.vec) {
        if (x.step[a] != 0) n *= mean[a];
        continue;
      }
      double along = mean[a];
      for (std::size_t r = f_.n_out; r < f_.extent.size(); ++r) {
        if (used[r] || x.step[r] <= 0 || x.step[a] % x.step[r] != 0 ||
            x.step[a] / x.step[r] > f_.extent[r])
          continue;
        used[r] = true;
        along = (mean[a] - 1) * static_cast<double>(x.step[a] / x.step[r]) +
                static_cast<double>(f_.extent[r]);
        break;
      }
      n *= along;
    }
    for (std::size_t r = f_.n_out; r < f_.extent.size(); ++r)
      if (!used[r] && x.step[r] != 0) n *= static_cast<double>(f_.extent[r]);
    return n;
  }

  const StageFacts& f_;
  const Tiling& t_;
  int registers_ = 16;
  std::vector<std::int64_t> count_, size_, best_;
  double best_cost_ = 0;
};

/// Axes that all loads follow first (batch), then those that the vector loads follow, rows last:
/// what the vector loads read stays in the nearest cache while the rows go by.
std::vector<std::uint32_t> order_of(const StageFacts& f, const Tiling& t) {
  std::vector<std::uint32_t> order;
  std::vector<int> rank;
  for (std::uint32_t a = 0; a < f.n_out; ++a) {
    bool all = true, vectors = false;
    for (const Access& x : f.loads) {
      if (f.reduction && !x.in_reduction) continue;
      all &= x.step[a] != 0;
      vectors |= x.step[a] != 0 && t.vec >= 0 && x.step[t.vec] != 0;
    }
    order.push_back(a);
    rank.push_back(all ? 0 : vectors ? 1 : 2);
  }
  if (f.reduction && t.vec < static_cast<int>(f.n_out))
    std::stable_sort(order.begin(), order.end(),
                     [&](std::uint32_t x, std::uint32_t y) { return rank[x] < rank[y]; });
  return order;
}

/// Blocks of the tile along output axis `a`: vectors where lanes run along it.
std::int64_t tile_extent(const Tiling& t, std::size_t a) {
  return static_cast<int>(a) == t.vec ? blocks(t.block[a], t.lanes) : t.block[a];
}

/// Distinct loads of `x` in one step of a tile.
std::int64_t loads_of_tile(const StageFacts& f, const Tiling& t, const Access& x) {
  std::int64_t n = 1;
  for (std::size_t a = 0; a < f.n_out; ++a)
    if (x.step[a] != 0) n *= tile_extent(t, a);
  return n;
}

/// Output axes in the order in which the points of a tile follow each other: the axes of the load
/// of which a tile has most go slowest. Each of its elements is then used up before the next is
/// loaded, and registers hold the other loads, as TileSearch::cost counts.
std::vector<std::uint32_t> point_order(const StageFacts& f, const Tiling& t) {
  const Access* streamed = nullptr;
  std::int64_t most = 0;
  for (const Access& x : f.loads) {
    if (f.reduction && !x.in_reduction) continue;
    const std::int64_t n = loads_of_tile(f, t, x);
    if (n > most) most = n, streamed = &x;
  }
  std::vector<std::uint32_t> order;
  for (const bool slow : {true, false})
    for (std::uint32_t a = 0; a < f.n_out; ++a)
      if ((streamed != nullptr && streamed->step[a] != 0) == slow) order.push_back(a);
  return order;
}

/// Whether the accumulators leave no room for the held loads of two steps: unrolled steps are
/// interleaved by the compiler, which would then spill.
bool is_crowded(const StageFacts& f, const Tiling& t, const TargetFacts& target) {
  std::int64_t points = 1, held = 0, most = 0;
  for (std::size_t a = 0; a < f.n_out; ++a) points *= tile_extent(t, a);
  for (const Access& x : f.loads) {
    if (!x.in_reduction) continue;
    const std::int64_t n = loads_of_tile(f, t, x);
    held += n;
    most = std::max(most, n);
  }
  return points + 2 * (held - most) + 2 > std::max<std::int64_t>(4, target.vector_registers);
}

}  // namespace

double vector_cost(const StageFacts& f, int v, std::int64_t lanes) {
  const double l = v < 0 ? 1 : static_cast<double>(lanes);
  double cost = 0.5;
  for (const Access& a : f.loads) {
    const double weight =
        f.reduction && !a.in_reduction ? 1.0 / static_cast<double>(f.reduction_volume()) : 1;
    cost += weight * (v < 0 ? 1 : load_cost(a.step[v], l));
  }
  const bool folds = v >= static_cast<int>(f.n_out);
  if (v >= 0 && !folds) {
    const double weight = f.reduction ? 1.0 / static_cast<double>(f.reduction_volume()) : 1;
    cost += weight * (f.store[v] == 1 ? 1 : 1.5 * l);
  }
  if (v < 0) return cost + f.operations;
  const double extent = static_cast<double>(std::max<std::int64_t>(f.extent[v], 1));
  const double vectors = static_cast<double>(blocks(f.extent[v], lanes));
  cost += f.operations * 0.5;
  cost *= vectors / extent;
  if (folds) cost += 20.0 / static_cast<double>(f.reduction_volume());
  return cost;
}

Tiling tiling_of(const StageFacts& f, const TargetFacts& target) {
  Tiling t;
  choose_vector(f, target, t);
  t.block.assign(f.n_out, 1);
  t.order = order_of(f, t);
  if (f.reduction) {
    t.block = TileSearch(f, target, t).run();
    if (t.vec >= 0 && t.vec < static_cast<int>(f.n_out)) t.block[t.vec] *= t.lanes;
    t.crowded = t.vec >= 0 && is_crowded(f, t, target);
    if (t.vec >= static_cast<int>(f.n_out)) {
      std::int64_t points = 1;
      for (std::int64_t b : t.block) points *= b;
      t.slots = std::clamp<std::int64_t>(8 / points, 1, blocks(f.extent[t.vec], t.lanes));
    }
  } else if (t.vec >= 0) {
    const std::int64_t vectors = !f.transcendental ? 4 : target.vector_registers >= 32 ? 2 : 1;
    t.block[t.vec] = t.lanes * std::min(vectors, blocks(f.extent[t.vec], t.lanes));
  }
  return t;
}

std::vector<LoopSpec> outer_loops(const StageFacts& f, const Tiling& t) {
  std::vector<LoopSpec> r;
  for (std::uint32_t a : t.order)
    if (f.extent[a] > t.block[a]) r.push_back({a, t.block[a], LoopKind::serial});
  return r;
}

std::vector<LoopSpec> tile_loops(const StageFacts& f, const Tiling& t) {
  std::vector<LoopSpec> r;
  std::int64_t points = 1;
  for (std::uint32_t a = 0; a < f.n_out; ++a) points *= tile_extent(t, a);
  const std::int64_t tile = points;
  // Reduction loops, outermost first; the innermost ones are unrolled while the code stays small.
  std::vector<LoopKind> kind(f.extent.size(), LoopKind::serial);
  for (std::size_t a = f.extent.size(); a-- > f.n_out;) {
    const bool window = unrolls_window(f, t, tile);
    if (static_cast<int>(a) == t.vec ||
        (!window && (t.crowded || f.extent[a] > 9 || points * f.extent[a] > most_unrolled)))
      break;
    kind[a] = LoopKind::unroll;
    points *= std::max<std::int64_t>(f.extent[a], 1);
  }
  const bool folds = t.vec >= static_cast<int>(f.n_out);
  for (std::uint32_t a = static_cast<std::uint32_t>(f.n_out); a < f.extent.size(); ++a)
    if (static_cast<int>(a) == f.tensor)
      r.push_back({a, tensor_steps, LoopKind::tensor});
    else if (static_cast<int>(a) != t.vec)
      r.push_back({a, 1, kind[a]});
  if (folds) {
    const auto v = static_cast<std::uint32_t>(t.vec);
    if (f.extent[v] > t.slots * t.lanes) r.push_back({v, t.slots * t.lanes, LoopKind::serial});
    if (t.slots > 1) r.push_back({v, t.lanes, LoopKind::unroll});
  }
  for (std::uint32_t a : point_order(f, t)) {
    if (static_cast<int>(a) == t.vec)
      r.push_back({a, t.lanes, LoopKind::unroll});
    else if (t.block[a] > 1)
      r.push_back({a, 1, LoopKind::unroll});
  }
  if (t.vec >= 0) r.push_back({static_cast<std::uint32_t>(t.vec), t.lanes, LoopKind::vector});
  return r;
}

}  // namespace tenon::te_lowering
