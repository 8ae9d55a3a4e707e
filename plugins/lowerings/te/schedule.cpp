// The second sub-slot: which family schedules a compute. Families are tried in order; the first
// that applies wins.
//
//   rows    one output; the other stages walk some of its axes in step with it: those axes are the
//   parallel range, the
//           stages are computed row by row, or for blocks of rows, in worker scratch (softmax,
//           normalisation, attention): rows.cpp
//   tile    one output with a reduction; stages without reduction that feed it (padding) are
//   computed in the part that a
//           block of the output needs, in worker scratch, or whole in shared scratch when the
//           kernel is small
//   map     one output without a reduction
//   whole   anything: stage after stage, each with the best loops of its own, in shared scratch, by
//   one thread naive   the same with plain scalar loops; only on request
#include <algorithm>
#include <optional>

#include "lowering.h"
#include "rows.h"
#include "tensorise.h"
#include "tiling.h"

namespace tenon::te_lowering {

namespace {

constexpr std::int64_t enough_blocks = 32;         // of the parallel range
constexpr std::uint64_t near_bytes = 32 << 10;     // scratch that one output plane reads
constexpr std::uint64_t shared_bytes = 192 << 10;  // scratch that many output planes read
constexpr std::uint64_t call_bytes = 512 << 10;    // scratch that all blocks of a call read
// Panels of few tiles of a window that is unrolled whole are straight code, of which code
// generators keep on the stack what the tiles share.
constexpr std::int64_t least_tiles = 8;
// Bytes that every core reads of its own in the time of one that another core wrote: prefetching
// helps where a row is one run.
constexpr double other_core = 6, other_core_in_runs = 2.5;

class Scheduler {
 public:
  Scheduler(const te::Compute& c, const TargetFacts& target, const Options& options)
      : c_(c), target_(target), options_(options) {
    for (const te::Stage& s : c.stages) {
      facts_.push_back(options.naive ? facts_of(c, s) : facts_for(c, s, target));
      work_ = checked_add(work_, work_of(c, s)).value_or(UINT64_MAX);
    }
  }

  Schedule run() {
    if (options_.naive) return naive();
    if (root())
      if (auto s = rows(c_, facts_, target_, !small())) return *s;
    if (auto s = tile()) return *s;
    return whole();
  }

 private:
  bool is_output(std::uint32_t s) const {
    return std::find(c_.outputs.begin(), c_.outputs.end(), s) != c_.outputs.end();
  }
  bool small() const { return work_ < static_cast<std::uint64_t>(options_.parallel_work); }
  /// The last stage, when it is the only output.
  std::optional<std::uint32_t> root() const {
    const auto last = static_cast<std::uint32_t>(c_.stages.size() - 1);
    if (c_.stages.empty() || c_.outputs.size() != 1 || c_.outputs[0] != last) return std::nullopt;
    return last;
  }

  Schedule naive() const {
    Schedule r{.family = "naive", .stages = {}};
    for (std::uint32_t s = 0; s < c_.stages.size(); ++s) {
      StageSchedule x{.place = is_output(s) ? Place::output : Place::shared, .loops = {}};
      for (std::uint32_t a = 0; a < facts_[s].extent.size(); ++a)
        x.loops.push_back({a, 1, LoopKind::serial});
      r.stages.push_back(std::move(x));
    }
    return r;
  }

  /// The best loops of a stage on its own, all serial.
  std::vector<LoopSpec> alone(const StageFacts& f) const {
    const Tiling t = tiling_of(f, target_);
    std::vector<LoopSpec> loops = outer_loops(f, t);
    append(loops, tile_loops(f, t));
    return loops;
  }

  /// As alone(), for a stage that is computed in pieces: copies of rows are unrolled, so that their
  /// masks are constants.
  std::vector<LoopSpec> piece(const StageFacts& f) const {
    Tiling t = tiling_of(f, target_);
    if (!f.reduction && !f.transcendental && t.vec >= 0 && f.extent[t.vec] <= 16 * t.lanes)
      t.block[t.vec] = std::max(f.extent[t.vec], t.lanes);
    std::vector<LoopSpec> loops = outer_loops(f, t);
    append(loops, tile_loops(f, t));
    return loops;
  }

  static void append(std::vector<LoopSpec>& to, const std::vector<LoopSpec>& from) {
    to.insert(to.end(), from.begin(), from.end());
  }

  Schedule whole() const {
    Schedule r{.family = "whole", .stages = {}};
    for (std::uint32_t s = 0; s < c_.stages.size(); ++s)
      r.stages.push_back(
          {.place = is_output(s) ? Place::output : Place::shared, .loops = alone(facts_[s])});
    return r;
  }

  // ---- tile and map

  /// What the stages that feed the root depend on.
  struct Feed {
    std::vector<bool> follows;  ///< by output axis of the root: a producer is loaded at an index
                                ///< that moves with it
    std::vector<bool> window;   ///< ... and with a reduction axis too
  };

  /// Producers: stages without reductions that only the root loads.
  std::optional<Feed> feed(std::uint32_t root) const {
    const std::size_t n_out = facts_[root].n_out;
    Feed r{std::vector<bool>(n_out, false), std::vector<bool>(n_out, false)};
    for (std::uint32_t s = 0; s < root; ++s) {
      if (facts_[s].reduction) return std::nullopt;
      for (const Access& a : facts_[s].loads)
        if (!c_.is_input(a.tensor)) return std::nullopt;
    }
    for (te::ExprId id : te::reachable(c_, c_.stages[root].value)) {
      const te::Expr& e = c_.exprs[id];
      if (e.kind != te::Kind::load || c_.is_input(e.n)) continue;
      for (te::ExprId index : e.args) {
        const te::Affine a = te::affine_of(c_, c_.stages[root], index);
        if (!a.ok) return std::nullopt;
        bool with_reduction = false;
        for (std::size_t k = n_out; k < a.coeff.size(); ++k) with_reduction |= a.coeff[k] != 0;
        for (std::size_t k = 0; k < n_out; ++k)
          if (a.coeff[k] != 0) {
            r.follows[k] = true;
            r.window[k] = r.window[k] || with_reduction;
          }
      }
    }
    return r;
  }

  std::optional<Schedule> tile() const {
    const auto last = root();
    if (!last) return std::nullopt;
    const StageFacts& f = facts_[*last];
    const auto feeds = feed(*last);
    if (!feeds) return std::nullopt;
    const Tiling t = tiling_of(f, target_);
    Schedule r{.family = f.reduction ? "tile" : "map", .stages = {}};
    StageSchedule x{.place = Place::output, .loops = {}};
    const bool producers = *last > 0;
    std::size_t attach = 0;
    const bool share = producers && small();
    const bool once = producers && !share && whole_is_near(*feeds, *last);
    if (producers && !share && !once) {
      x.loops = blocks_of_feed(f, t, *feeds, *last);
      attach = x.loops.size();
    }
    if (!producers && !small()) x.loops = panels_of_rows(f, t);
    std::vector<std::int64_t> left = f.extent;  // of each axis inside the loops so far
    for (const LoopSpec& l : x.loops) left[l.axis] = std::min(left[l.axis], l.step);
    StageFacts inner = f;
    inner.extent = left;
    append(x.loops, outer_loops(inner, t));
    if ((!producers || once) && !small()) in_parallel(x.loops, f, t);
    append(x.loops, tile_loops(f, t));
    for (std::uint32_t s = 0; s < *last; ++s) {
      StageFacts part = facts_[s];
      StageSchedule p{.place = share ? Place::shared : Place::worker, .loops = piece(part)};
      if (!share) p.at_stage = *last, p.at_loop = static_cast<std::uint32_t>(attach);
      r.stages.push_back(std::move(p));
    }
    r.stages.push_back(std::move(x));
    return r;
  }

  /// A parallel loop over a few panels of rows: of the data of a 1x1 convolution or of a product,
  /// or of an image that a window slides over. A thread then reads mostly rows that it wrote in the
  /// step before: lines from another core's cache come several times slower than shared constants
  /// do.
  std::vector<LoopSpec> panels_of_rows(const StageFacts& f, const Tiling& t) const {
    if (!f.reduction || t.vec < 0 || t.vec >= static_cast<int>(f.n_out)) return {};
    std::optional<std::uint32_t> row = window_axis(f, t);
    if (row && f.reduction_volume() <= largest_window && blocks_of(f, t, *row) < least_tiles)
      return {};
    if (!row) row = row_axis(f, t);
    if (!row || !pays(f, *row)) return {};
    return {{*row, panel(f, t, *row), LoopKind::parallel}};
  }

  /// Extent of a panel along `a`: an even number of panels of one size, few, so that shorter tiles
  /// do not count, but enough for a range of some length with the tiles along other axes.
  static std::int64_t panel(const StageFacts& f, const Tiling& t, std::uint32_t a) {
    const std::int64_t tiles = blocks_of(f, t, a);
    std::int64_t others = 1;
    for (std::uint32_t b = 0; b < f.n_out && others < enough_blocks; ++b)
      if (b != a) others *= blocks_of(f, t, b);
    std::int64_t panels = tiles < 32 ? 2 : tiles < 64 ? 4 : 8;
    while (panels * others < enough_blocks / 2 && panels * 2 < tiles) panels *= 2;
    return blocks(f.extent[a], panels);
  }

  static std::int64_t blocks_of(const StageFacts& f, const Tiling& t, std::uint32_t a) {
    return blocks(f.extent[a], t.block[a]);
  }

  /// The first output axis along which overlapping windows follow each other.
  static std::optional<std::uint32_t> window_axis(const StageFacts& f, const Tiling& t) {
    const auto overlaps = [&](const Access& x, std::uint32_t a) {
      for (std::size_t r = f.n_out; r < f.extent.size(); ++r)
        if (x.step[r] > 0 && x.step[a] > 0 && x.step[a] % x.step[r] == 0 &&
            x.step[a] / x.step[r] < f.extent[r])
          return true;
      return false;
    };
    for (std::uint32_t a : t.order)
      if (static_cast<int>(a) != t.vec && f.extent[a] > t.block[a])
        for (const Access& x : f.loads)
          if (x.in_reduction && overlaps(x, a)) return a;
    return std::nullopt;
  }

  /// The first output axis that the operand without vectors follows and the other one does not.
  /// None where products of a batch are handed out.
  static std::optional<std::uint32_t> row_axis(const StageFacts& f, const Tiling& t) {
    std::optional<std::uint32_t> row;
    for (std::uint32_t a : t.order) {
      if (f.extent[a] <= 1 || !has_load(f, t, a, false)) continue;
      if (has_load(f, t, a, true)) return std::nullopt;
      if (!row && f.extent[a] > t.block[a]) row = a;
    }
    return row;
  }

  /// Whether a thread that reads part of what follows `row` and all else gains by it: else may be
  /// much larger.
  bool pays(const StageFacts& f, std::uint32_t row) const {
    double rows = 0, others = 0;  // bytes, rows in those of the others
    for (const Access& x : f.loads) {
      if (!x.in_reduction) continue;
      double bytes = bits(c_.dtype_of(x.tensor)) / 8;
      for (std::int64_t extent : c_.shape_of(x.tensor)) bytes *= static_cast<double>(extent);
      if (x.step[row] == 0)
        others += bytes;
      else
        rows += bytes * (reduces_a_run(f, x) ? other_core_in_runs : other_core);
    }
    return rows >= others;
  }

  /// Whether what one output element reads of `x` has no gaps.
  static bool reduces_a_run(const StageFacts& f, const Access& x) {
    std::int64_t span = 1, count = 1;
    for (std::size_t r = f.n_out; r < f.extent.size(); ++r) {
      if (x.step[r] == irregular) return false;
      span += std::abs(x.step[r]) * (f.extent[r] - 1);
      if (x.step[r] != 0) count *= f.extent[r];
    }
    return span == count;
  }

  /// Whether a load in the reduction follows output axis `a`: one of vectors, or one that each lane
  /// uses.
  static bool has_load(const StageFacts& f, const Tiling& t, std::uint32_t a, bool of_vectors) {
    return std::any_of(f.loads.begin(), f.loads.end(), [&](const Access& x) {
      return x.in_reduction && x.step[a] != 0 && (x.step[t.vec] != 0) == of_vectors;
    });
  }

  /// Whether each call may compute all of the producers at once, before its blocks: they are small,
  /// and every block of the other axes reads them.
  bool whole_is_near(const Feed& feeds, std::uint32_t root) const {
    const StageFacts& f = facts_[root];
    bool reused = false;
    for (std::size_t a = 0; a < f.n_out; ++a) {
      if (feeds.follows[a] && !feeds.window[a] && f.extent[a] > 1) return false;
      reused |= !feeds.follows[a] && f.extent[a] > 1;
    }
    return reused && scratch(root, f.extent) <= call_bytes;
  }

  /// Parallel loops over blocks of the axes that producers follow, so that a block's part of them
  /// fits the scratch.
  std::vector<LoopSpec> blocks_of_feed(const StageFacts& f, const Tiling& t, const Feed& feeds,
                                       std::uint32_t root) const {
    bool reused = false;  // by output axes that no producer follows
    for (std::size_t a = 0; a < f.n_out; ++a) reused |= !feeds.follows[a] && f.extent[a] > 1;
    const std::uint64_t budget = reused ? shared_bytes : near_bytes;
    std::vector<LoopSpec> loops;
    std::vector<std::int64_t> step = f.extent;
    std::int64_t count = 1;
    const auto uneven = [&](std::int64_t n) {
      return !small() && n % 2 != 0 && n < enough_blocks / 2;
    };
    const auto put = [&](std::uint32_t a, std::int64_t s) {
      if (s >= f.extent[a]) return;
      loops.push_back({a, s, LoopKind::parallel});
      count *= blocks(f.extent[a], s);
      step[a] = s;
    };
    for (std::uint32_t a = 0; a < f.n_out; ++a)
      if (feeds.follows[a] && !feeds.window[a] && static_cast<int>(a) != t.vec) put(a, t.block[a]);
    if (t.vec >= 0 && t.vec < static_cast<int>(f.n_out) && feeds.follows[t.vec] &&
        !feeds.window[t.vec])
      put(static_cast<std::uint32_t>(t.vec), t.block[t.vec]);
    for (std::uint32_t a = 0; a < f.n_out; ++a) {
      if (!feeds.window[a] || static_cast<int>(a) == t.vec) continue;
      const std::int64_t wanted = small() ? 1 : std::max<std::int64_t>(1, 8 / count);
      // Fewest blocks that fit the scratch and keep the threads busy, whole tiles each; twice as
      // many where that makes them equal and their number even.
      const std::int64_t tiles = blocks_of(f, t, a);
      for (std::int64_t n = std::min(wanted, tiles); n <= tiles; ++n) {
        step[a] = blocks(tiles, n) * t.block[a];
        if (n == tiles || scratch(root, step) <= budget) break;
      }
      const std::int64_t cut = blocks(tiles * t.block[a], step[a]);
      if (uneven(count * cut) && tiles % (2 * cut) == 0) step[a] = tiles / (2 * cut) * t.block[a];
      put(a, step[a]);
    }
    // Nothing to cut there, or no even share for two threads: cut what reuses the producers, which
    // are then computed once per block.
    if ((loops.empty() || uneven(count)) && reused && !small()) {
      std::uint32_t widest = 0;
      std::int64_t extent = 0;
      for (std::uint32_t a = 0; a < f.n_out; ++a)
        if (!feeds.follows[a] && static_cast<int>(a) != t.vec && f.extent[a] > extent)
          widest = a, extent = f.extent[a];
      const std::int64_t part = blocks(extent, loops.empty() ? 4 : 2);
      if (extent > 0) put(widest, blocks(part, t.block[widest]) * t.block[widest]);
    }
    return loops;
  }

  /// Bytes of the producers' parts for a block of the root of `step` elements per axis.
  std::uint64_t scratch(std::uint32_t root, const std::vector<std::int64_t>& step) const {
    std::uint64_t total = 0;
    for (te::ExprId id : te::reachable(c_, c_.stages[root].value)) {
      const te::Expr& e = c_.exprs[id];
      if (e.kind != te::Kind::load || c_.is_input(e.n)) continue;
      std::uint64_t bytes = bits(e.dtype) / 8;
      const Shape shape = c_.shape_of(e.n);
      for (std::size_t d = 0; d < e.args.size(); ++d) {
        const te::Affine a = te::affine_of(c_, c_.stages[root], e.args[d]);
        std::int64_t n = 1;
        for (std::size_t k = 0; k < a.coeff.size(); ++k)
          n += std::abs(a.coeff[k]) * (std::max<std::int64_t>(step[k], 1) - 1);
        bytes *= static_cast<std::uint64_t>(std::min(n, shape[d]));
      }
      total += bytes;
    }
    return total;
  }

  /// Makes as many of the first loops parallel as give enough blocks. One long axis is cut into
  /// blocks of its own.
  void in_parallel(std::vector<LoopSpec>& loops, const StageFacts& f, const Tiling& t) const {
    std::int64_t count = 1;
    for (LoopSpec& l : loops) {
      if (count >= enough_blocks) return;
      if (l.kind == LoopKind::parallel) {
        count *= blocks(f.extent[l.axis], l.step);
        continue;
      }
      if (std::any_of(loops.data(), &l, [&](const LoopSpec& o) { return o.axis == l.axis; }))
        return;
      const std::int64_t n = blocks(f.extent[l.axis], l.step);
      const bool last_map_loop = !f.reduction && static_cast<int>(l.axis) == t.vec;
      if (last_map_loop && count * n > enough_blocks) {
        const std::int64_t per_block = n / std::max<std::int64_t>(1, enough_blocks / count);
        if (per_block > 1) {
          const LoopSpec inner = l;
          l = {l.axis, l.step * per_block, LoopKind::parallel};
          loops.insert(loops.begin() + (&l - loops.data()) + 1, inner);
          return;
        }
      }
      l.kind = LoopKind::parallel;
      count *= n;
    }
  }

  const te::Compute& c_;
  const TargetFacts& target_;
  const Options& options_;
  std::vector<StageFacts> facts_;
  std::uint64_t work_ = 0;
};

}  // namespace

Result<Schedule> schedule(const te::Compute& c, const TargetFacts& target,
                          const OptionValues& values) {
  return Scheduler(c, target, read_options<Options>(values)).run();
}

}  // namespace tenon::te_lowering
