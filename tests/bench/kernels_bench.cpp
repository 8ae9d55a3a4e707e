// Speed of generated kernels, one thread: the layers of MobileNetV2 and ResNet, products, rows,
// elementwise chains. `best` adds up the fastest parts of a call: with other work on the machine it
// is the number to compare.
//   tenon-kernels-bench --benchmark_filter=dw        --dump=<file> writes the object for a
//   disassembler
#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include <chrono>
#include <cstring>

#include "tests/bench/kernels.h"
#include "tests/support/te_cases.h"

using namespace tenon;
using namespace tenon::test;
using namespace tenon::bench;

namespace {

Layer conv_layer(const std::string& name, Conv p) {
  const double flop =
      2.0 * static_cast<double>(p.n * p.o * p.out_h() * p.out_w() * (p.c / p.groups) * p.kh * p.kw);
  p.bias = p.relu = true;
  return {name, conv(p), flop};
}
Layer pointwise(std::int64_t c, std::int64_t o, std::int64_t h) {
  return conv_layer(fmt::format("pw/{}x{}x{}", c, o, h), {.c = c, .h = h, .w = h, .o = o});
}
Layer depthwise(std::int64_t c, std::int64_t h, std::int64_t stride) {
  return conv_layer(
      fmt::format("dw/{}x{}s{}", c, h, stride),
      {.c = c, .h = h, .w = h, .o = c, .kh = 3, .kw = 3, .stride = stride, .pad = 1, .groups = c});
}
Layer square(std::int64_t c, std::int64_t o, std::int64_t h, std::int64_t stride = 1) {
  return conv_layer(fmt::format("conv3/{}x{}x{}s{}", c, o, h, stride),
                    {.c = c, .h = h, .w = h, .o = o, .kh = 3, .kw = 3, .stride = stride, .pad = 1});
}
Layer product(std::int64_t m, std::int64_t n, std::int64_t k, bool transposed) {
  return {fmt::format("gemm{}/{}x{}x{}", transposed ? "T" : "", m, n, k),
          matmul(0, m, n, k, transposed), 2.0 * static_cast<double>(m * n * k)};
}

std::vector<Layer> layers() {
  std::vector<Layer> r{square(3, 32, 224, 2),
                       pointwise(32, 16, 112),
                       pointwise(16, 96, 112),
                       pointwise(96, 24, 56),
                       pointwise(24, 144, 56),
                       pointwise(144, 24, 56),
                       pointwise(144, 32, 28),
                       pointwise(32, 192, 28),
                       pointwise(192, 64, 14),
                       pointwise(64, 384, 14),
                       pointwise(384, 64, 14),
                       pointwise(384, 96, 14),
                       pointwise(96, 576, 14),
                       pointwise(576, 160, 7),
                       pointwise(160, 960, 7),
                       pointwise(960, 160, 7),
                       pointwise(960, 320, 7),
                       pointwise(320, 1280, 7),
                       depthwise(32, 112, 1),
                       depthwise(96, 112, 2),
                       depthwise(144, 56, 1),
                       depthwise(144, 56, 2),
                       depthwise(192, 28, 1),
                       depthwise(192, 28, 2),
                       depthwise(384, 14, 1),
                       depthwise(576, 14, 2),
                       depthwise(960, 7, 1),
                       square(64, 64, 56),
                       square(128, 128, 28),
                       square(256, 256, 14),
                       square(512, 512, 7),
                       square(128, 128, 56, 2),
                       product(196, 512, 512, false),
                       product(128, 384, 384, false),
                       product(512, 1024, 1024, false),
                       product(1, 1000, 1280, true),
                       product(128, 384, 384, true)};
  r.push_back(conv_layer("pw/64x128x56s2", {.c = 64, .h = 56, .w = 56, .o = 128, .stride = 2}));
  r.push_back(
      {"pool/64x112",
       pool({.c = 64, .h = 112, .w = 112, .kh = 3, .kw = 3, .stride = 2, .pad = 1}, te::Fold::max),
       9.0 * 64 * 56 * 56});
  r.push_back({"mean/1280x49", fold_axes({1280, 49}, {1}, te::Fold::sum), 1280.0 * 49});
  r.push_back({"softmax/1536x128", softmax({1536, 128}, 1), 1536.0 * 128});
  r.push_back({"norm/128x384", layer_norm(128, 384), 128.0 * 384});
  r.push_back({"add/196608",
               elementwise({196608}, {{196608}, {196608}}, DType::f32,
                           [](te::Builder&, std::vector<E> x) { return x[0] + x[1]; }),
               196608});
  for (ScalarOp op : {ScalarOp::exp, ScalarOp::sigmoid, ScalarOp::tanh, ScalarOp::erf})
    r.push_back({fmt::format("{}/196608", name(op)),
                 elementwise({196608}, {{196608}}, DType::f32,
                             [op](te::Builder&, std::vector<E> x) { return te::unary(op, x[0]); }),
                 196608});
  return r;
}

void run(benchmark::State& state, const tir::Kernel& k, KernelFn fn, double flop) {
  Arena a(k);
  // Least time of each eighth of the range, summed: a long kernel on a busy machine is never left
  // alone as a whole.
  const std::int64_t parts = std::min<std::int64_t>(k.extent, 8);
  std::vector<double> least(static_cast<std::size_t>(parts), 1e9);
  for (auto _ : state)
    for (std::int64_t i = 0; i < parts; ++i) {
      const auto start = std::chrono::steady_clock::now();
      fn(a.buffers.data(), nullptr, a.worker, k.extent * i / parts, k.extent * (i + 1) / parts);
      const double t =
          std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
      least[static_cast<std::size_t>(i)] = std::min(least[static_cast<std::size_t>(i)], t);
    }
  double best = 0;
  for (double t : least) best += t;
  state.counters["best_us"] = best * 1e6;
  state.counters["best_Gops"] = flop / best * 1e-9;
}

}  // namespace

int main(int argc, char** argv) {
  const char* dump = nullptr;
  std::string filter;
  for (int i = 1; i < argc; ++i) {
    if (std::strncmp(argv[i], "--dump=", 7) == 0) dump = argv[i] + 7;
    if (std::strncmp(argv[i], "--benchmark_filter=", 19) == 0) filter = argv[i] + 19;
  }
  std::vector<Layer> all;
  for (Layer& l : layers())
    if (l.name.find(filter) != l.name.npos) all.push_back(std::move(l));
  const auto start = std::chrono::steady_clock::now();
  const std::vector<Built> built = build(all, dump);
  for (std::size_t i = 0; i < all.size(); ++i)
    fmt::print("{:24} {} {}\n", all[i].name, built[i].kernel.symbol, built[i].loops);
  fmt::print(
      "built {} kernels in {:.0f} ms\n", all.size(),
      std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count());
  for (std::size_t i = 0; i < all.size(); ++i) {
    benchmark::RegisterBenchmark(all[i].name.c_str(), [&, i](benchmark::State& s) {
      run(s, built[i].kernel, built[i].call, all[i].flop);
    })->Unit(benchmark::kMicrosecond);
  }
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
}
