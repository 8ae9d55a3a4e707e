// Large planning problems whose bound is met by the best plan: cut rectangles and the lifetimes of
// networks.
#ifndef TENON_TESTS_SUPPORT_PLANNING_SHAPES_H
#define TENON_TESTS_SUPPORT_PLANNING_SHAPES_H

#include "tests/support/storage_fixture.h"

namespace tenon::test {

/// One pool without capacity; tokens are named by number.
class Shape {
 public:
  void add(std::uint32_t first, std::uint32_t end, std::uint64_t size, std::uint64_t align = 64) {
    r_.tokens.push_back({.name = std::to_string(r_.tokens.size()),
                         .size = size,
                         .align = align,
                         .first = first,
                         .end = end,
                         .pools = {0}});
    last_ = std::max(last_, end);
  }
  std::size_t size() const { return r_.tokens.size(); }
  StorageRequest take() {
    r_.pools.push_back({.id = "p0"});
    r_.steps.resize(last_);
    return *prepare_request(std::move(r_));
  }

 private:
  StorageRequest r_;
  std::uint32_t last_ = 0;
};

/// `steps` x `bytes`, cut at random into n tokens, each cut through one rectangle: the optimum is
/// `bytes`, and in every step all of them are taken.
inline StorageRequest guillotine(std::uint32_t n, std::uint32_t steps, std::uint64_t bytes,
                                 std::uint64_t seed) {
  struct Rect {
    std::uint32_t first, end;
    std::uint64_t lo, hi;
  };
  Rng rng(seed);
  std::vector<Rect> rects{{0, steps, 0, bytes}};
  while (rects.size() < n) {
    Rect& r = rects[rng.below(rects.size())];
    Rect rest = r;
    const bool time = rng.chance(50);
    if (time && r.end - r.first > 1)
      r.end = rest.first = r.first + 1 + static_cast<std::uint32_t>(rng.below(r.end - r.first - 1));
    else if (!time && r.hi - r.lo > 1)
      r.hi = rest.lo = r.lo + 1 + rng.below(r.hi - r.lo - 1);
    else
      continue;
    rects.push_back(rest);
  }
  Shape s;
  for (const Rect& r : rects) s.add(r.first, r.end, r.hi - r.lo, 1);
  return s.take();
}

inline std::uint64_t random_bytes(Rng& rng) { return 64 * (1 + rng.below(4096)); }

/// Each token is read by the next step alone.
inline StorageRequest chain(std::uint32_t n) {
  Rng rng(3);
  Shape s;
  for (std::uint32_t i = 0; i < n; ++i) s.add(i, i + 2, random_bytes(rng));
  return s.take();
}

/// Encoders and decoders of 50 levels with a skip connection per level, one after the other.
inline StorageRequest unet(std::uint32_t n) {
  Rng rng(4);
  Shape s;
  for (std::uint32_t t = 0; s.size() < n; t += 200)
    for (std::uint32_t d = 0; d < 50; ++d) {
      const std::uint64_t size = 128 * (1 + (2048u >> (d / 8)) + rng.below(32));
      s.add(t + 2 * d, t + 2 * d + 2, size);
      s.add(t + 2 * d + 1, t + 200 - 2 * d, size / 2);
      s.add(t + 199 - 2 * d, t + 201 - 2 * d, size);
    }
  return s.take();
}

/// Layers of attention and feed-forward with two residuals each.
inline StorageRequest transformer(std::uint32_t n) {
  Rng rng(5);
  Shape s;
  for (std::uint32_t t = 0; s.size() < n; t += 13) {
    const std::uint64_t hidden = 64 * 768, jitter = 64 * rng.below(16);
    const struct {
      std::uint32_t first, end;
      std::uint64_t size;
    } layer[] = {{0, 9, hidden + jitter},
                 {0, 4, hidden},
                 {1, 5, hidden},
                 {2, 5, hidden},
                 {3, 7, hidden},
                 {4, 6, hidden + jitter},
                 {5, 7, hidden + jitter},
                 {6, 8, hidden},
                 {7, 9, hidden},
                 {8, 14, hidden},
                 {9, 11, hidden},
                 {10, 12, 4 * hidden + jitter},
                 {11, 13, 4 * hidden + jitter},
                 {12, 14, hidden}};
    for (const auto& x : layer) s.add(t + x.first, t + x.end, x.size);
  }
  return s.take();
}

/// Cells with hundreds of branches: every token of a cell lives until the next has made its own.
inline StorageRequest wide(std::uint32_t n) {
  Rng rng(6);
  Shape s;
  for (std::uint32_t t = 0; s.size() < n;) {
    const auto branches = static_cast<std::uint32_t>(200 + rng.below(200));
    for (std::uint32_t k = 0; k < branches; ++k)
      s.add(t + k, t + branches + k + 1, random_bytes(rng));
    t += branches;
  }
  return s.take();
}

inline StorageRequest equal_tokens(std::uint32_t n, bool all_at_once) {
  Shape s;
  for (std::uint32_t i = 0; i < n; ++i) s.add(all_at_once ? 0 : i, all_at_once ? 1 : i + 2, 64);
  return s.take();
}

}  // namespace tenon::test

#endif
