// Blocks of one pool, in bytes, to the lowest peak: scaled, taken apart where time or whole-life
// blocks allow it, and each part packed by tenon/planning/restarts.h. The highest part is worked
// on.
#ifndef TENON_PLANNING_PACKING_H
#define TENON_PLANNING_PACKING_H

#include <memory>

#include "tenon/planning/restarts.h"

namespace tenon::planning {

/// Everything fits below: stacked, above the highest pin.
inline Units enough(const std::vector<Block>& blocks) {
  Units pinned = 0, all = 0;
  for (const Block& i : blocks) {
    pinned = std::max(pinned, i.at + i.size);
    all += i.size + i.step;
  }
  return pinned + all;
}

class Packing {
 public:
  /// Of one part. Neighbour lists take its square in memory.
  static constexpr std::size_t kMostItems = 2000;

  /// `blocks` in bytes; `capacity` in bytes or kNever.
  Packing(std::vector<Block> blocks, Units capacity, std::uint64_t seed,
          const SectionSearch::Tick& tick)
      : blocks_(std::move(blocks)), offsets_(blocks_.size(), 0) {
    unit_ = scale(blocks_);
    limit_ = capacity == kNever ? enough(blocks_) : capacity / unit_;
    take_apart();
    for (const Part& p : parts_) too_large_ = too_large_ || p.blocks.size() > kMostItems;
    if (!too_large_) start(seed, tick);
  }

  /// Nothing is done then.
  bool too_large() const { return too_large_; }

  /// One run of one part. `closed`: the peak is the least there is, or, without a peak, nothing
  /// fits.
  Restarts::Step step() {
    Part* worst = nullptr;
    for (Part& p : parts_)
      if (!worst || p.height() > worst->height()) worst = &p;
    if (!worst || (peak() && worst->height() <= lower_)) return Restarts::Step::closed;
    const Units before = peak().value_or(kNever);
    const Restarts::Step s = worst->search->step();
    lower_ = std::max(lower_, worst->search->lower() + worst->base);
    if (s == Restarts::Step::better) {
      for (std::size_t k = 0; k < worst->blocks.size(); ++k)
        offsets_[worst->blocks[k]] = (worst->search->offsets()[k] + worst->base) * unit_;
      if (peak().value_or(kNever) >= before) return Restarts::Step::nothing;
    }
    return s;
  }

  /// Bytes: no layout is lower.
  Units lower() const { return lower_ * unit_; }
  /// Bytes; nothing until every part has a layout.
  std::optional<Units> peak() const {
    Units high = 0;
    for (const Part& p : parts_) high = std::max(high, p.height());
    return high == kNever ? std::nullopt : std::optional(high * unit_);
  }
  const std::vector<Units>& offsets() const { return offsets_; }

 private:
  struct Part {
    std::vector<std::uint32_t> blocks;
    Units base = 0;  // whole-life blocks stand below
    std::unique_ptr<Stacking> stacking;
    std::unique_ptr<Restarts> search;
    Units height() const { return !search || !search->peak() ? kNever : *search->peak() + base; }
  };

  std::uint32_t first(std::uint32_t i) const { return blocks_[i].slabs.front().first; }
  std::uint32_t end(std::uint32_t i) const { return blocks_[i].slabs.back().end; }

  void take_apart() {
    std::vector<Part> open(1);
    open[0].blocks.resize(blocks_.size());
    std::iota(open[0].blocks.begin(), open[0].blocks.end(), 0u);
    while (!open.empty()) {
      Part p = std::move(open.back());
      open.pop_back();
      const std::size_t had = open.size();
      split(p, open);
      if (open.size() > had + 1) continue;
      Part& whole = open.back();
      if (lay_whole_life(whole)) continue;
      parts_.push_back(std::move(whole));
      open.pop_back();
    }
  }

  // Into runs of blocks that overlap in time.
  void split(Part& p, std::vector<Part>& out) {
    std::sort(p.blocks.begin(), p.blocks.end(),
              [&](auto a, auto b) { return first(a) != first(b) ? first(a) < first(b) : a < b; });
    std::uint32_t until = 0;
    bool any = false;
    for (const std::uint32_t i : p.blocks) {
      if (!any || first(i) >= until) {
        out.emplace_back();
        out.back().base = p.base;
      }
      any = true;
      out.back().blocks.push_back(i);
      until = std::max(until, end(i));
    }
    if (!any) out.push_back(std::move(p));
  }

  // A block that is there whenever anything changes divides the bytes of each layout into those
  // above and those below: it can as well stand below all. Not where alignment or pins hold things
  // in place, or a block counts as higher than it ever is.
  bool lay_whole_life(Part& p) {
    std::uint32_t least_end = UINT32_MAX, last_first = 0;
    for (const std::uint32_t i : p.blocks) {
      const Block& x = blocks_[i];
      Units highest = 0;
      for (const Slab& s : x.slabs) {
        least_end = std::min(least_end, s.end);
        last_first = std::max(last_first, s.first);
        highest = std::max(highest, s.height);
      }
      if (x.at >= 0 || x.step != 1 || highest < x.size) return false;
    }
    const auto rest = std::stable_partition(p.blocks.begin(), p.blocks.end(), [&](std::uint32_t i) {
      return blocks_[i].slabs.size() == 1 && first(i) < least_end && end(i) > last_first;
    });
    if (rest == p.blocks.begin() || rest == p.blocks.end()) return false;
    for (auto i = p.blocks.begin(); i != rest; ++i) {
      offsets_[*i] = p.base * unit_;
      p.base += blocks_[*i].size;
    }
    p.blocks.erase(p.blocks.begin(), rest);
    return true;
  }

  void start(std::uint64_t seed, const SectionSearch::Tick& tick) {
    for (Part& p : parts_) {
      std::vector<Block> own;
      for (const std::uint32_t i : p.blocks) own.push_back(blocks_[i]);
      p.stacking = std::make_unique<Stacking>(own);
      lower_ = std::max(lower_, p.stacking->bound + p.base);
    }
    for (Part& p : parts_)
      p.search =
          std::make_unique<Restarts>(*p.stacking, limit_ - p.base, lower_ - p.base, seed, tick);
  }

  std::vector<Block> blocks_;
  std::vector<Units> offsets_;
  std::vector<Part> parts_;
  Units unit_ = 1, limit_ = 0, lower_ = 0;
  bool too_large_ = false;
};

}  // namespace tenon::planning

#endif
