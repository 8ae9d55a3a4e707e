// C++ comfort for planners: header-only, no library; stable tier like tenon/c/planner.h, which
// holds the contract. Request reads the request through its strides; Placer answers "the lowest
// free offset of this token in that pool", so that most planners are an order and a rule which pool
// to try. 60 000 tokens take well under a second.
#ifndef TENON_PLANNER_HPP
#define TENON_PLANNER_HPP

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <numeric>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "tenon/c/planner.h"

namespace tenon {

/// A view of a tn_request; as cheap to copy as a pointer.
class Request {
 public:
  explicit Request(const tn_request& raw) : raw_(&raw) {}
  std::uint32_t size() const { return raw_->n_tokens; }
  std::uint32_t n_pools() const { return raw_->n_pools; }
  std::uint32_t n_steps() const { return raw_->n_steps; }
  const tn_token& operator[](std::uint32_t i) const { return *tn_token_at(raw_, i); }
  const tn_pool& pool(std::uint32_t p) const { return *tn_pool_at(raw_, p); }
  /// Pools that token `i` may live in, best first.
  std::span<const std::uint32_t> pools(std::uint32_t i) const {
    return {(*this)[i].pools, (*this)[i].n_pools};
  }
  std::span<const tn_part> parts(std::uint32_t i) const {
    return {(*this)[i].parts, (*this)[i].n_parts};
  }
  std::span<const tn_join> joins() const { return {raw_->joins, raw_->n_joins}; }
  const tn_request& raw() const { return *raw_; }

 private:
  const tn_request* raw_;
};

/// x rounded up to a multiple of the power of two `m`.
constexpr std::uint64_t round_up(std::uint64_t x, std::uint64_t m) {
  return (x + m - 1) & ~(m - 1);
}

namespace detail {

/// A rectangle of a pool that is taken.
struct Box {
  std::uint64_t lo, hi;      // bytes
  std::uint32_t first, end;  // steps
  std::uint32_t token;
};

/// Boxes ascending by first byte, in blocks of at most 64, so that an insertion moves little and a
/// scan compares a whole block's steps without a branch. Boxes may overlap in bytes.
class Boxes {
 public:
  void add(const Box& b) {
    const auto at =
        std::upper_bound(blocks_.begin(), blocks_.end(), b.lo,
                         [](std::uint64_t lo, const auto& blk) { return lo < blk->lo[0]; });
    std::size_t k = at == blocks_.begin() ? 0 : static_cast<std::size_t>(at - blocks_.begin()) - 1;
    if (blocks_.empty()) blocks_.push_back(std::make_unique<Block>());
    if (blocks_[k]->n == kBlock) {
      split(k);
      if (b.lo >= blocks_[k + 1]->lo[0]) ++k;
    }
    blocks_[k]->insert(b);
  }

  /// Calls see(box) for each box that shares a step with [first, end), ascending by box.lo, until
  /// it returns false. Returns the work done, in units of tn_host.tick.
  template <class See>
  std::uint64_t scan(std::uint32_t first, std::uint32_t end, See see) const {
    std::uint64_t looked = 0;
    for (const auto& p : blocks_) {
      const Block& b = *p;
      ++looked;
      if (b.min_first >= end || b.max_end <= first) continue;
      looked += kBlock / 8;
      unsigned char hit[kBlock];
      for (unsigned k = 0; k < kBlock; ++k) hit[k] = (b.first[k] < end) & (b.end[k] > first);
      for (unsigned w = 0; w < kBlock; w += 8) {
        std::uint64_t word;
        std::memcpy(&word, hit + w, 8);
        if (word == 0) continue;
        for (unsigned k = w; k < w + 8; ++k)
          if (hit[k] && !see(Box{b.lo[k], b.hi[k], b.first[k], b.end[k], b.token[k]}))
            return looked;
      }
    }
    return looked;
  }

 private:
  static constexpr unsigned kBlock = 64;
  struct Block {
    std::uint32_t first[kBlock] = {}, end[kBlock] = {};  // unused entries: no steps, so never hit
    std::uint64_t lo[kBlock] = {}, hi[kBlock] = {};
    std::uint32_t token[kBlock] = {};
    std::uint32_t min_first = UINT32_MAX, max_end = 0;
    unsigned n = 0;

    void insert(const Box& x) {
      unsigned k = n;
      for (; k > 0 && lo[k - 1] > x.lo; --k) move(k - 1, *this, k);
      first[k] = x.first, end[k] = x.end, lo[k] = x.lo, hi[k] = x.hi, token[k] = x.token;
      min_first = std::min(min_first, x.first);
      max_end = std::max(max_end, x.end);
      ++n;
    }
    void move(unsigned from, Block& other, unsigned to) const {
      other.first[to] = first[from], other.end[to] = end[from];
      other.lo[to] = lo[from], other.hi[to] = hi[from], other.token[to] = token[from];
    }
  };

  void split(std::size_t k) {
    auto left = std::make_unique<Block>(), right = std::make_unique<Block>();
    const Block& old = *blocks_[k];
    for (unsigned i = 0; i < kBlock; ++i) {
      Block& into = i < kBlock / 2 ? *left : *right;
      into.insert({old.lo[i], old.hi[i], old.first[i], old.end[i], old.token[i]});
    }
    blocks_[k] = std::move(left);
    blocks_.insert(blocks_.begin() + static_cast<std::ptrdiff_t>(k) + 1, std::move(right));
  }

  std::vector<std::unique_ptr<Block>> blocks_;
};

/// The taken boxes of one pool. Most tokens live shortly, so beside the list of all boxes there are
/// lists by time: at each scale, windows of 2h steps that begin every h steps and hold the boxes
/// that touch them. A question about [first, end) is answered by the smallest window that contains
/// it.
class Occupied {
 public:
  /// `halves`: h of each scale, ascending.
  Occupied(std::uint32_t n_steps, const std::vector<std::uint32_t>& halves) {
    for (const std::uint32_t h : halves)
      scales_.push_back({h, std::vector<Boxes>(n_steps / h + 1)});
  }

  /// How many windows of scale h an interval touches.
  static std::uint64_t touched(std::uint32_t h, std::uint32_t first, std::uint32_t end) {
    return (end - 1) / h - first_window(h, first) + 1;
  }

  void add(const Box& b) {
    all_.add(b);
    for (Scale& s : scales_)
      for (std::uint32_t k = first_window(s.h, b.first); k <= (b.end - 1) / s.h; ++k)
        s.windows[k].add(b);
  }

  template <class See>
  std::uint64_t scan(std::uint32_t first, std::uint32_t end, See see) const {
    for (const Scale& s : scales_)
      if (end - first / s.h * s.h <= 2 * s.h) return s.windows[first / s.h].scan(first, end, see);
    return all_.scan(first, end, see);
  }

 private:
  struct Scale {
    std::uint32_t h;
    std::vector<Boxes> windows;
  };
  static std::uint32_t first_window(std::uint32_t h, std::uint32_t first) {
    return first / h - (first >= h ? 1 : 0);
  }

  Boxes all_;
  std::vector<Scale> scales_;  // finest first
};

}  // namespace detail

/// Which of the free gaps a token takes.
enum class Fit : std::uint8_t { first, best };

/// Slots of a request as they are filled in. Keeps the hard rules as long as only slots that
/// lowest() or find() returned since the last put() are put. Pinned tokens are placed at
/// construction.
class Placer {
 public:
  /// What of the request's hints to use. `exact` is the tightest; `whole` looks at no hint.
  enum class Hints : std::uint8_t { whole, parts, exact };

  explicit Placer(Request q, Hints hints = Hints::whole)
      : q_(q),
        hints_(hints),
        slots_(q.size(), tn_slot{0, 0}),
        placed_(q.size(), 0),
        peaks_(q.n_pools(), 0) {
    const std::vector<std::uint32_t> halves = scales();
    for (std::uint32_t p = 0; p < q_.n_pools(); ++p) pools_.emplace_back(q_.n_steps(), halves);
    if (hints_ == Hints::exact) index_joins();
    for (std::uint32_t i = 0; i < q_.size(); ++i)
      if (q_[i].at != TN_ANY) put(i, {q_[i].pools[0], q_[i].at});
  }

  bool placed(std::uint32_t i) const { return placed_[i] != 0; }
  tn_slot slot(std::uint32_t i) const { return slots_[i]; }
  /// Bytes of pool `p` in use so far, rounded up to the granule.
  std::uint64_t peak(std::uint32_t p) const { return peaks_[p]; }
  const tn_slot* data() const { return slots_.data(); }
  /// Work done so far, in units of tn_host.tick.
  std::uint64_t work() const { return work_; }

  /// The lowest free offset of the unplaced token `i` in pool `p` (one of its pools), or nothing.
  std::optional<tn_slot> lowest(std::uint32_t i, std::uint32_t p) const {
    return find(i, p, Fit::first);
  }
  /// By Fit::best, the start of the gap between taken bytes that it fills best; above them all when
  /// no gap holds it, and lowest() for a token with parts.
  std::optional<tn_slot> find(std::uint32_t i, std::uint32_t p, Fit fit) const {
    const tn_token& t = q_[i];
    const std::uint64_t step = std::max(t.align, q_.pool(p).granule);
    std::uint64_t best = hints_ == Hints::whole || t.n_parts == 0 ? free_whole(t, p, step, fit)
                                                                  : lowest_parts(t, p, step);
    if (!fits(t, p, best)) best = TN_ANY;
    for (const auto& [other, o] : joined_offsets(i, p))
      if (o % step == 0 && o < best && fits(t, p, o) && free_but_joined(i, p, o)) best = o;
    if (best == TN_ANY) return std::nullopt;
    return tn_slot{p, best};
  }

  /// Places token `i`. Its bytes are taken from now on.
  void put(std::uint32_t i, tn_slot s) {
    const tn_token& t = q_[i];
    slots_[i] = s;
    placed_[i] = 1;
    peaks_[s.pool] = std::max(peaks_[s.pool], round_up(s.offset + t.size, q_.pool(s.pool).granule));
    for_boxes(t, [&](const tn_part& x) {
      pools_[s.pool].add({s.offset + x.lo, s.offset + x.hi, x.first, x.end, i});
      return true;
    });
  }

 private:
  using Box = detail::Box;

  // Windows by time pay while they hold many boxes each, and where most boxes touch few of them.
  std::vector<std::uint32_t> scales() const {
    std::vector<std::uint32_t> out;
    for (std::uint32_t n = q_.size() / 256; n >= 2; n /= 2) {
      const std::uint32_t h = std::max(1u, q_.n_steps() / n);
      std::uint64_t sum = 0;
      for (std::uint32_t i = 0; i < q_.size(); ++i)
        sum += detail::Occupied::touched(h, q_[i].first, q_[i].end);
      if (sum <= 8ull * q_.size() && (out.empty() || out.back() < h)) out.push_back(h);
    }
    return out;
  }

  bool fits(const tn_token& t, std::uint32_t p, std::uint64_t offset) const {
    const std::uint64_t cap = q_.pool(p).capacity, size = round_up(t.size, q_.pool(p).granule);
    return cap == TN_ANY || (size <= cap && offset <= cap - size);
  }

  template <class F>
  bool for_boxes(const tn_token& t, F f) const {
    if (hints_ == Hints::whole || t.n_parts == 0) return f(tn_part{t.first, t.end, 0, t.size});
    return std::all_of(t.parts, t.parts + t.n_parts, f);
  }

  std::uint64_t free_whole(const tn_token& t, std::uint32_t p, std::uint64_t step, Fit fit) const {
    std::uint64_t at = 0, best = 0, least_rest = TN_ANY;  // rest: what stays free of the gap
    work_ += pools_[p].scan(t.first, t.end, [&](const Box& b) {
      if (b.lo >= at + t.size) {
        if (fit == Fit::first) return false;
        if (b.lo - at - t.size < least_rest) best = at, least_rest = b.lo - at - t.size;
      }
      if (b.hi > at) at = round_up(b.hi, step);
      return true;
    });
    return least_rest == TN_ANY ? at : best;
  }

  // A part [lo, hi) of the token meets a box exactly when the token stands in (box.lo - hi, box.hi
  // - lo).
  std::uint64_t lowest_parts(const tn_token& t, std::uint32_t p, std::uint64_t step) const {
    std::vector<std::pair<std::uint64_t, std::uint64_t>> forbidden;  // offsets [first, end)
    for (const tn_part& x : std::span(t.parts, t.n_parts))
      work_ += pools_[p].scan(x.first, x.end, [&](const Box& b) {
        if (b.hi > x.lo) forbidden.emplace_back(b.lo >= x.hi ? b.lo - x.hi + 1 : 0, b.hi - x.lo);
        return true;
      });
    std::sort(forbidden.begin(), forbidden.end());
    std::uint64_t at = 0;
    for (const auto& [first, end] : forbidden) {
      if (first > at) break;
      if (end > at) at = round_up(end, step);
    }
    return at;
  }

  struct Joined {
    std::uint32_t other;
    std::uint64_t offset;
  };

  // Offsets at which `i` would stand exactly on a placed partner.
  std::vector<Joined> joined_offsets(std::uint32_t i, std::uint32_t p) const {
    std::vector<Joined> out;
    if (hints_ != Hints::exact) return out;
    for (std::uint32_t k = join_begin_[i]; k < join_begin_[i + 1]; ++k) {
      const tn_join& j = q_.joins()[join_of_[k]];
      const std::uint32_t other = j.a == i ? j.b : j.a;
      if (!placed_[other] || slots_[other].pool != p) continue;
      const std::uint64_t o = slots_[other].offset;
      if (j.b == i)
        out.push_back({other, o + j.delta});
      else if (o >= j.delta)
        out.push_back({other, o - j.delta});
    }
    return out;
  }

  bool free_but_joined(std::uint32_t i, std::uint32_t p, std::uint64_t o) const {
    const auto joined = joined_offsets(i, p);
    return for_boxes(q_[i], [&](const tn_part& x) {
      bool free = true;
      work_ += pools_[p].scan(x.first, x.end, [&](const Box& b) {
        if (b.lo >= o + x.hi) return false;
        if (b.hi <= o + x.lo) return true;
        free = std::any_of(joined.begin(), joined.end(),
                           [&](const Joined& j) { return j.other == b.token && j.offset == o; });
        return free;
      });
      return free;
    });
  }

  void index_joins() {
    join_begin_.assign(q_.size() + 1, 0);
    for (const tn_join& j : q_.joins()) ++join_begin_[j.a], ++join_begin_[j.b];
    std::uint32_t sum = 0;
    for (auto& n : join_begin_) sum += std::exchange(n, sum);
    join_of_.resize(sum);
    auto fill = join_begin_;
    for (std::uint32_t k = 0; k < q_.joins().size(); ++k)
      join_of_[fill[q_.joins()[k].a]++] = join_of_[fill[q_.joins()[k].b]++] = k;
  }

  Request q_;
  Hints hints_;
  std::vector<tn_slot> slots_;
  std::vector<char> placed_;
  std::vector<detail::Occupied> pools_;
  std::vector<std::uint64_t> peaks_;
  std::vector<std::uint32_t> join_begin_, join_of_;  // joins by token, both ends
  mutable std::uint64_t work_ = 0;
};

}  // namespace tenon

#endif
