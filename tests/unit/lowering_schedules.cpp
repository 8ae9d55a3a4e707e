// Schedules: those that the families choose, over shapes that fit no vector, no tile and no block;
// those that a person or a plugin writes down; and any that keeps the rules.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <random>

#include "core/lower/lower_te.h"
#include "tenon/op.h"
#include "tenon/text.h"
#include "tests/support/lowering_kit.h"
#include "tests/support/te_cases.h"

using namespace tenon;
using namespace tenon::test;

namespace {

/// What the first sub-slot makes of `c`.
te::Compute prepared(const te::Compute& c) {
  auto r = te_lowering().compute(c, plain_facts(), {});
  REQUIRE(r);
  return *r;
}

/// All schedules that `text` has, one after an empty line each.
std::vector<Schedule> schedules_of(const te::Compute& c, std::string_view text) {
  std::vector<Schedule> all;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find("\n\n"), text.size());
    auto s = parse_schedule(text.substr(0, end), "s.tir", c);
    if (!s) FAIL(s.errors()[0].what);
    const auto back = parse_schedule(print(*s, c), "again.tir", c);
    REQUIRE(back);
    CHECK(*back == *s);
    all.push_back(std::move(*s));
    text.remove_prefix(std::min(end + 2, text.size()));
  }
  return all;
}

/// A schedule that keeps the rules, of a compute of one stage.
Schedule any_schedule(const te::Compute& c, std::mt19937& rng) {
  const te::Stage& st = c.stages[0];
  const auto below = [&](std::size_t n) { return static_cast<std::uint32_t>(rng() % n); };
  const auto n_out = static_cast<std::uint32_t>(st.axes.size()),
             n = n_out + static_cast<std::uint32_t>(st.reduce.size());
  const std::uint32_t vec = below(n + 1);  // n: none
  const std::int64_t lanes = std::int64_t{1} << (1 + below(4));
  std::vector<std::uint32_t> out(n_out), folded(n - n_out);
  std::iota(out.begin(), out.end(), 0u);
  std::iota(folded.begin(), folded.end(), n_out);
  std::ranges::shuffle(out, rng);
  std::ranges::shuffle(folded, rng);
  std::vector<LoopSpec> loops, inner, tile;
  const std::uint32_t parallel = below(n_out + 1);
  for (std::uint32_t i = 0; i < n_out; ++i) {
    const std::int64_t unit = out[i] == vec ? lanes : 1, block = unit * (1 + below(3));
    const bool twice = below(3) == 0;
    const LoopKind kind = i < parallel ? LoopKind::parallel : LoopKind::serial;
    if (block == 1 && !twice) {
      loops.push_back({out[i], 1, kind});
      continue;
    }
    loops.push_back({out[i], twice ? block * 2 : block, kind});
    if (twice && block > 1) inner.push_back({out[i], block, LoopKind::serial});
    tile.push_back({out[i], unit, LoopKind::unroll});
  }
  loops.insert(loops.end(), inner.begin(), inner.end());
  for (std::uint32_t a : folded) {
    if (a == vec) {
      loops.push_back({a, lanes * (1 + below(2)), LoopKind::serial});
      tile.push_back({a, lanes, LoopKind::unroll});
      continue;
    }
    if (below(2) == 0) loops.push_back({a, 2, LoopKind::serial});
    loops.push_back({a, 1, below(2) == 0 ? LoopKind::unroll : LoopKind::serial});
  }
  loops.insert(loops.end(), tile.begin(), tile.end());
  if (vec < n) loops.push_back({vec, lanes, LoopKind::vector});
  return {.family = "any", .stages = {{.place = Place::output, .loops = loops}}};
}

/// The second sub-slot of a plugin: whatever it is asked for, this.
Result<Schedule> written_down(const te::Compute& c, const TargetFacts&, const OptionValues&) {
  return parse_schedule(
      "schedule \"mine\" { %2 output: i1/3 parallel, i0, k/2, k unroll, i1 unroll }", "mine.tir",
      c);
}

}  // namespace

TEST_CASE("lowering: shapes that fit nothing, in every family") {
  std::vector<Case> cases;
  const auto add = [&](std::string name, te::Compute c, double ulp = 0) {
    cases.push_back({std::move(name), std::move(c), ulp});
  };
  // Around the widths of vectors of 16, 32 and 64 bytes; 0; 1; primes; powers of two.
  for (std::int64_t n : {0, 1, 3, 5, 8, 15, 16, 17, 31}) {
    add(fmt::format("product {}", n), matmul(0, 3, n, 4));
    add(fmt::format("product, {} folded", n), matmul(0, 2, 17, n));
    add(fmt::format("product, transposed, {} folded", n), matmul(0, 5, 2, n, true));
    add(fmt::format("vector times matrix of {}", n), matmul(0, 1, n, 7));
    add(fmt::format("rows of {} and a column", n),
        elementwise({3, n}, {{3, n}, {3, 1}}, DType::f32,
                    [](te::Builder&, std::vector<E> x) { return x[0] * x[1]; }));
    add(fmt::format("transpose {}", n), transpose({n, 5}, {1, 0}));
    add(fmt::format("maxima of columns {}", n), fold_axes({5, n}, {0}, te::Fold::max));
    add(fmt::format("sums of rows {}", n), fold_axes({5, n}, {1}, te::Fold::sum));
    if (n > 0) {
      add(fmt::format("softmax of {}", n), softmax({2, n}, 1), 8);
      add(fmt::format("pool {}", n),
          pool({.c = 2, .h = 5, .w = n, .kh = 3, .kw = 3, .stride = 2, .pad = 1}, te::Fold::max));
      add(fmt::format("convolution {}", n),
          conv({.c = 3, .h = 3, .w = n, .o = 5, .kh = 3, .kw = 3, .pad = 1, .bias = true}));
      add(fmt::format("depthwise {}", n), conv({.c = 3,
                                                .h = 4,
                                                .w = n,
                                                .o = 3,
                                                .kh = 3,
                                                .kw = 3,
                                                .pad = 1,
                                                .groups = 3,
                                                .relu = true}));
    }
  }
  // Windows, strides, dilations, groups: each with each of the others.
  for (std::int64_t k : {1, 3, 5, 7})
    for (std::int64_t stride : {1, 2, 3})
      for (std::int64_t groups : {1, 2}) {
        const std::int64_t dilation = k == 3 || k == 5 ? stride % 2 + 1 : 1;
        add(fmt::format("window {} stride {} dilation {} groups {}", k, stride, dilation, groups),
            conv({.c = 2,
                  .h = 8,
                  .w = 17,
                  .o = 4,
                  .kh = k,
                  .kw = k,
                  .stride = stride,
                  .pad = k / 2,
                  .dilation = dilation,
                  .groups = groups}));
      }
  // Rows that are a power of two, or a page, apart.
  add("rows 256 apart", matmul(0, 9, 64, 33, false));
  add("rows a page apart", matmul(0, 2, 1024, 3, false));
  add("columns of a page", transpose({4, 1024}, {1, 0}));
  judge(cases);
}

TEST_CASE("lowering: a schedule is text, and an edited one is the kernel") {
  const te::Compute product = prepared(matmul(0, 13, 35, 9));
  judge_schedules(product, schedules_of(product, R"(schedule "as found" {
  %2 output: i0 parallel, i1, k
}

schedule "tiles of 4 by 2 vectors" {
  %2 output: i0/4 parallel, i1/32, k, i0 unroll, i1/16 unroll, i1/16 vector
}

schedule "columns first, rows twice" {
  %2 output: i1/16 parallel, i0/6, i0/3, k/2, k unroll, i0 unroll, i1/8 unroll, i1/8 vector
}

schedule "lanes fold the reduction" {
  %2 output: i0, i1/5, k/8, i1 unroll, k/4 unroll, k/4 vector
}
)"));
  const te::Compute padded =
      prepared(conv({.c = 3, .h = 7, .w = 9, .o = 4, .kh = 3, .kw = 3, .pad = 1}));
  judge_schedules(padded, schedules_of(padded, R"(schedule "padding by two rows of the result" {
  %2 worker at %3 loop 1: i1, i2, i3/4 vector
  %3 output: i2/2 parallel, i1/4, i2, c, ky, kx unroll, i1 unroll, i3/16 unroll, i3/16 vector
}

schedule "padding once per call" {
  %2 worker at %3 loop 0: i1, i2, i3
  %3 output: i1 parallel, i2, i3, c, ky, kx
}

schedule "padding whole, in scratch that all share" {
  %2 shared: i1, i2, i3/16 vector
  %3 output: i1, i2, i3/8, c, ky unroll, kx unroll, i3/8 vector
}
)"));
}

TEST_CASE("lowering: any schedule that keeps the rules is right") {
  std::mt19937 rng(7);
  for (const te::Compute& c :
       {prepared(matmul(0, 7, 19, 11)), prepared(matmul(2, 3, 5, 6, true)),
        prepared(
            conv({.c = 2, .h = 6, .w = 9, .o = 3, .kh = 3, .kw = 2, .stride = 2, .bias = true})),
        prepared(packed_conv({.c = 16,
        .h = 5,
        .w = 6,
        .o = 16,
        .kh = 3,
        .kw = 3,
        .pad = 1,
        .groups = 16,
        .relu = true},
                             16)),
        prepared(fold_axes({4, 7, 18}, {1}, te::Fold::max)),
        prepared(transpose({9, 21}, {1, 0}))}) {
    REQUIRE(c.stages.size() == 1);
    std::vector<Schedule> all;
    for (int i = 0; i < 16; ++i) all.push_back(any_schedule(c, rng));
    for (const Schedule& s : all) {
      const auto back = parse_schedule(print(s, c), "s.tir", c);
      REQUIRE(back);
      CHECK(*back == s);
    }
    judge_schedules(c, all);
  }
}

TEST_CASE("lowering: threads read the rows that they wrote, unless all of the weights cost more") {
  // What the first parallel loop cuts, and the length of the whole range.
  const auto cut = [](const te::Compute& c) {
    const test::Lowered l = lower(c, plain_facts());
    const std::size_t last = l.compute.stages.size() - 1;
    const LoopSpec& first = l.schedule.stages[last].loops.at(0);
    CAPTURE(print(l.schedule, l.compute));
    CHECK(first.kind == LoopKind::parallel);
    CHECK(l.kernel.extent >= 16);
    return l.compute.stages[last].axes.at(first.axis).extent;
  };
  CHECK(cut(packed_conv({.c = 512, .h = 28, .w = 28, .o = 128}, 16)) == 28 * 28);
  CHECK(cut(packed_conv({.c = 1024, .h = 14, .w = 14, .o = 512}, 16)) == 14 * 14);
  CHECK(cut(packed_conv({.c = 2048, .h = 7, .w = 7, .o = 512}, 16)) == 512 / 16);
  CHECK(cut(packed_conv(
            {.c = 144, .h = 56, .w = 56, .o = 144, .kh = 3, .kw = 3, .pad = 1, .groups = 144},
            16)) == 56);
  CHECK(cut(pool({.c = 32, .h = 130, .w = 48, .kh = 3, .kw = 3, .stride = 2}, te::Fold::max)) ==
        64);
  CHECK(cut(matmul(0, 512, 256, 256)) == 512);
  CHECK(cut(matmul(0, 32, 1024, 1024)) == 1024);
  CHECK(cut(matmul(12, 128, 128, 32)) == 12);
}

TEST_CASE("lowering: a plugin's schedule takes the place of the families'") {
  auto m = parse_module(R"(tenon 1.0
module "m"
func @main(%0 "a": f32[5, 6], %1 "b": f32[6, 7]) -> ("y") {
  %4 = primitive(%0, %1) : f32[5, 7] region (%2: f32[5, 6], %3: f32[6, 7]) {
    %5 = matmul(%2, %3) : f32[5, 7]
    return %5
  }
  return %4
}
)",
                        "m.tir", builtin_ops());
  REQUIRE(m);
  LoweringInfo mine{.id = "acme.tiles"};
  mine.schedule = written_down;
  LowerConfig config{.default_target = "host"};
  config.by_target["host"] = {&te_lowering(), &mine, &te_lowering(), {}, {}, {}, plain_facts()};
  LoweringCache cache;
  REQUIRE(lower_te(*m, config, cache));
  REQUIRE(m->kernels.size() == 1);
  const ComputeFunction& f = m->computes[0];
  REQUIRE(f.schedule);
  CHECK(f.schedule->family == "mine");
  CHECK(m->kernels[0].kernel.extent == 3);  // blocks of columns
  judge_schedules(f.compute, {*f.schedule});
  // What the module says is what was compiled: the text has it, and gives it back.
  const auto again = parse_module(print(*m), "again.tir", builtin_ops());
  REQUIRE(again);
  CHECK(again->computes[0].schedule == f.schedule);
}
