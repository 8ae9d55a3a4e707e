// Nanoseconds per multiply-add of the evaluator, on convolutions as ResNet-50 has them and on a
// matrix product.
#include <benchmark/benchmark.h>

#include <vector>

#include "tenon/eval.h"

namespace {

using tenon::DType;
using tenon::Shape;
using tenon::TensorType;
using namespace tenon::te;

/// A convolution of `channels` to `outs` over size x size pixels with a kernel x kernel window,
/// unpadded.
void convolution(benchmark::State& state) {
  const std::int64_t channels = state.range(0), size = state.range(1), outs = state.range(2),
                     kernel = state.range(3);
  const std::int64_t padded = size + kernel - 1;
  tenon::te::Builder b({TensorType(DType::f32, Shape{1, channels, padded, padded}),
                        TensorType(DType::f32, Shape{outs, channels, kernel, kernel})});
  T x = b.input(0), w = b.input(1);
  b.output(b.stage("out", {1, outs, size, size}, [&](auto i) {
    return b.reduce(Fold::sum, {{"c", channels}, {"y", kernel}, {"x", kernel}}, [&](auto r) {
      return x({i[0], r[0], i[2] + r[1], i[3] + r[2]}) * w({i[1], r[0], r[1], r[2]});
    });
  }));
  const Compute c = b.take();
  std::vector<float> data(static_cast<std::size_t>(channels * padded * padded), 1.0f);
  std::vector<float> weight(static_cast<std::size_t>(outs * channels * kernel * kernel), 2.0f);
  std::vector<float> out(static_cast<std::size_t>(outs * size * size));
  const std::byte* in[] = {reinterpret_cast<const std::byte*>(data.data()),
                           reinterpret_cast<const std::byte*>(weight.data())};
  std::byte* result[] = {reinterpret_cast<std::byte*>(out.data())};
  for (auto _ : state) tenon::evaluate(c, in, result);
  const double steps = static_cast<double>(state.iterations()) *
                       static_cast<double>(channels * kernel * kernel * outs * size * size);
  state.counters["s_per_mac"] =
      benchmark::Counter(steps, benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
}
BENCHMARK(convolution)
    ->ArgNames({"channels", "size", "outs", "kernel"})
    ->Args({64, 56, 64, 3})
    ->Args({64, 56, 256, 1})
    ->Args({128, 28, 128, 3})
    ->Args({256, 14, 256, 3})
    ->Args({512, 7, 512, 3})
    ->Args({2048, 1, 1000, 1})
    ->Unit(benchmark::kMillisecond);

}  // namespace

BENCHMARK_MAIN();
