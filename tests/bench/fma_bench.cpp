// What more threads gain on this machine at best: multiply-adds in registers, without memory.
// Usage: fma_bench THREADS [MILLISECONDS]. Prints the GFLOP/s of all threads together.
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <thread>
#include <vector>

namespace {

using Clock = std::chrono::steady_clock;
using Vector = float __attribute__((vector_size(64)));
constexpr int sums = 16, turns = 1000;

/// Sixteen sums that do not wait for one another. By the widest registers that the CPU has.
__attribute__((target_clones("avx512f", "arch=haswell", "default"))) float work(float seed) {
  Vector acc[sums];
  for (int i = 0; i < sums; ++i) acc[i] = Vector{} + seed * static_cast<float>(i);
  const Vector x = Vector{} + 0.999f, y = Vector{} + 0.001f;
  for (int t = 0; t < turns; ++t)
    for (int i = 0; i < sums; ++i) acc[i] = acc[i] * x + y;
  Vector all{};
  for (int i = 0; i < sums; ++i) all += acc[i];
  return all[0];
}

}  // namespace

int main(int argc, char** argv) {
  const int threads = argc > 1 ? std::atoi(argv[1]) : 1, ms = argc > 2 ? std::atoi(argv[2]) : 200;
  std::atomic<int> ready{0};
  std::atomic<long> calls{0};
  std::atomic<float> sink{0};
  const auto run = [&] {
    float s = work(1);
    for (++ready; ready < threads;) {
    }
    long n = 0;
    for (const auto end = Clock::now() + std::chrono::milliseconds(ms); Clock::now() < end; ++n)
      s += work(s * 1e-6f);
    calls += n;
    sink = s;
  };
  std::vector<std::thread> others;
  for (int t = 1; t < threads; ++t) others.emplace_back(run);
  run();
  for (std::thread& t : others) t.join();
  std::printf("%.1f\n", static_cast<double>(calls) * turns * sums * 16 * 2 / (ms * 1e6));
  return sink == 12345.0f;
}
