// Softmax, normalisation, attention: reductions whose results the last stage reads row by row.
//
// The axes that all stages have in common are the outer loops. Where rows share what they are
// multiplied with (attention), a block of rows is taken together, so that products have a tile to
// work on; where lanes run over the rows (a softmax over the first axis), whole vectors of rows
// are. Copies of operands stand outside the loops whose axes they do not follow.
#include "rows.h"

#include <algorithm>

#include "tiling.h"

namespace tenon::te_lowering {

namespace {

constexpr std::uint64_t most_bytes = 256 << 10;  // of scratch, without copies of operands
constexpr std::uint64_t block_bytes = 32 << 10;  // of the rows of a block, all stages together
constexpr std::uint64_t small_block_bytes = 12 << 10;  // of rows that are short: folds side by side
constexpr std::uint64_t rows_of_a_tile = 8, most_rows = 64;  // of a block
constexpr std::int64_t enough_blocks = 8;  // of the parallel range, before rows are divided

bool follows(const std::vector<int>& stage, std::uint32_t axis) {
  return std::find(stage.begin(), stage.end(), static_cast<int>(axis)) != stage.end();
}

class Rows {
 public:
  Rows(const te::Compute& c, const std::vector<StageFacts>& facts, const TargetFacts& target)
      : c_(c),
        facts_(facts),
        target_(target),
        root_(static_cast<std::uint32_t>(c.stages.size() - 1)),
        step_(in_step(c, facts)) {}

  std::optional<Schedule> run(bool parallel) {
    bool reductions_before = false;
    for (std::uint32_t s = 0; s < root_; ++s) reductions_before |= facts_[s].reduction != nullptr;
    if (!reductions_before || step_.axes.empty()) return std::nullopt;
    order_axes();
    choose_block();
    Schedule r{.family = "rows", .stages = {}};
    std::uint64_t scratch = 0;
    for (std::uint32_t s = 0; s < root_; ++s) {
      if (!step_.copy[s]) scratch += bytes(s);
      r.stages.push_back(worker(s));
    }
    if (scratch > most_bytes) return std::nullopt;
    StageSchedule x{.place = Place::output, .loops = {}};
    for (std::size_t k = 0; k < step_.axes.size(); ++k) {
      const bool shared = parallel && k < parallel_loops();
      x.loops.push_back({step_.axes[k], block_[k], shared ? LoopKind::parallel : LoopKind::serial});
    }
    append(x.loops, inner_loops(root_));
    r.stages.push_back(std::move(x));
    for (std::uint32_t s = 0; parallel && s < root_; ++s)
      r.stages[s].at_loop =
          std::max(r.stages[s].at_loop, static_cast<std::uint32_t>(parallel_loops()));
    return r;
  }

 private:
  static void append(std::vector<LoopSpec>& to, const std::vector<LoopSpec>& from) {
    to.insert(to.end(), from.begin(), from.end());
  }

  /// Axes that all copies follow come first: inside them, a copy is made once.
  void order_axes() {
    const auto late = [&](std::uint32_t axis) {
      for (std::uint32_t s = 0; s < root_; ++s)
        if (step_.copy[s] && !follows(step_.follows[s], axis)) return true;
      return false;
    };
    std::stable_sort(step_.axes.begin(), step_.axes.end(),
                     [&](std::uint32_t a, std::uint32_t b) { return late(a) < late(b); });
  }

  std::int64_t extent(std::uint32_t root_axis) const { return facts_[root_].extent[root_axis]; }

  /// Whether stage `s` multiplies something that is the same for all positions of the axis.
  bool reuses(std::uint32_t s, std::uint32_t root_axis) const {
    const StageFacts& f = facts_[s];
    bool shared = false, own = false;
    for (std::size_t a = 0; a < f.n_out; ++a) {
      if (step_.follows[s][a] != static_cast<int>(root_axis)) continue;
      for (const Access& x : f.loads) {
        if (!x.in_reduction) continue;
        (x.step[a] == 0 ? shared : own) = true;
      }
    }
    return shared && own;
  }

  void choose_block() {
    block_.assign(step_.axes.size(), 1);
    const std::uint32_t last = step_.axes.back();
    bool reused = false;
    std::uint64_t each = 1;  // bytes of one row; the block is 1 so far
    for (std::uint32_t s = 0; s <= root_; ++s) {
      reused |= reuses(s, last);
      if (s < root_ && !step_.copy[s]) each += bytes(s);
    }
    const Tiling t = tiling_of(facts_[root_], target_);
    if (reused) {
      const std::uint64_t tiles = std::max<std::uint64_t>(block_bytes / each / rows_of_a_tile, 1);
      const std::uint64_t fit = std::max<std::uint64_t>(most_bytes / each, 1);
      block_.back() = static_cast<std::int64_t>(std::min({tiles * rows_of_a_tile, fit, most_rows}));
    } else if (t.vec == static_cast<int>(last)) {
      block_.back() = 4 * t.lanes;
    } else {
      block_.back() = static_cast<std::int64_t>(
          std::clamp<std::uint64_t>(small_block_bytes / each, 1, rows_of_a_tile));
    }
    block_.back() = std::min(block_.back(), std::max<std::int64_t>(extent(last), 1));
  }

  /// Loops of the root that are divided among threads: all, unless that would have copies made once
  /// per block of rows and the axes before give enough blocks.
  std::size_t parallel_loops() const {
    const std::size_t n = step_.axes.size();
    std::int64_t before = 1;
    for (std::size_t k = 0; k + 1 < n; ++k) before *= extent(step_.axes[k]);
    bool late_copy = false;
    for (std::uint32_t s = 0; s < root_; ++s)
      late_copy |= step_.copy[s] && !follows(step_.follows[s], step_.axes.back());
    return late_copy && before >= enough_blocks ? n - 1 : n;
  }

  /// The facts of a stage inside the loops over blocks.
  StageFacts inside(std::uint32_t s) const {
    StageFacts f = facts_[s];
    for (std::size_t a = 0; a < f.n_out; ++a)
      for (std::size_t k = 0; k < step_.axes.size(); ++k)
        if (step_.follows[s][a] == static_cast<int>(step_.axes[k]) && k < depth(s))
          f.extent[a] = std::min(f.extent[a], block_[k]);
    return f;
  }

  /// How many of the outer loops stand around stage `s`: up to the last one whose axis it follows.
  std::size_t depth(std::uint32_t s) const {
    if (s == root_ || !step_.copy[s]) return step_.axes.size();
    std::size_t n = step_.axes.size();
    while (n > 0 && !follows(step_.follows[s], step_.axes[n - 1])) --n;
    return n;
  }

  std::uint64_t bytes(std::uint32_t s) const {
    const StageFacts f = inside(s);
    std::uint64_t n = bits(c_.stages[s].dtype) / 8;
    for (std::size_t a = 0; a < f.n_out; ++a)
      n *= static_cast<std::uint64_t>(std::max<std::int64_t>(f.extent[a], 1));
    return n;
  }

  /// Loops of a stage within its part of a block.
  std::vector<LoopSpec> inner_loops(std::uint32_t s) const {
    const StageFacts f = inside(s);
    const Tiling t = tiling_of(f, target_);
    std::vector<LoopSpec> loops = outer_loops(f, t);
    append(loops, tile_loops(f, t));
    return loops;
  }

  StageSchedule worker(std::uint32_t s) const {
    StageSchedule x{.place = Place::worker,
                    .at_stage = root_,
                    .at_loop = static_cast<std::uint32_t>(depth(s)),
                    .loops = {}};
    const StageFacts f = inside(s);
    for (std::uint32_t a = 0; a < f.n_out; ++a)
      if (f.extent[a] == 1 && facts_[s].extent[a] > 1) x.loops.push_back({a, 1, LoopKind::serial});
    append(x.loops, inner_loops(s));
    return x;
  }

  const te::Compute& c_;
  const std::vector<StageFacts>& facts_;
  const TargetFacts& target_;
  std::uint32_t root_;
  InStep step_;
  std::vector<std::int64_t> block_;  // by position in step_.axes
};

}  // namespace

InStep in_step(const te::Compute& c, const std::vector<StageFacts>& facts) {
  const auto root = static_cast<std::uint32_t>(c.stages.size() - 1);
  constexpr int unknown = -2;
  InStep r;
  for (const te::Stage& s : c.stages) r.follows.emplace_back(s.axes.size(), unknown);
  for (std::size_t a = 0; a < r.follows[root].size(); ++a) r.follows[root][a] = static_cast<int>(a);
  for (std::uint32_t u = root + 1; u-- > 0;) {
    for (int& f : r.follows[u]) f = std::max(f, -1);
    for (const Access& x : facts[u].loads) {
      if (c.is_input(x.tensor)) continue;
      const auto s = x.tensor - static_cast<std::uint32_t>(c.inputs.size());
      const te::Expr& load = c.exprs[x.load];
      for (std::size_t d = 0; d < load.args.size(); ++d) {
        const te::Expr& i = c.exprs[load.args[d]];
        const bool plain = i.kind == te::Kind::axis && i.n < c.stages[u].axes.size() &&
                           c.stages[u].axes[i.n].extent == c.stages[s].axes[d].extent;
        const int now = plain ? r.follows[u][i.n] : -1;
        int& f = r.follows[s][d];
        f = f == unknown || f == now ? now : -1;
      }
    }
  }
  for (std::uint32_t s = 0; s < c.stages.size(); ++s)
    r.copy.push_back(s != root && !facts[s].reduction &&
                     std::all_of(facts[s].loads.begin(), facts[s].loads.end(),
                                 [&](const Access& x) { return c.is_input(x.tensor); }));
  for (std::uint32_t a = 0; a < c.stages[root].axes.size(); ++a) {
    bool all = true;
    for (std::uint32_t s = 0; s < root; ++s) all &= r.copy[s] || follows(r.follows[s], a);
    if (all) r.axes.push_back(a);
  }
  return r;
}

std::optional<Schedule> rows(const te::Compute& c, const std::vector<StageFacts>& facts,
                             const TargetFacts& target, bool parallel) {
  return Rows(c, facts, target).run(parallel);
}

}  // namespace tenon::te_lowering
