// Persistent workers. Within a run they spin between steps (a dispatch costs half a microsecond);
// between runs they sleep.
#ifndef TENON_SDK_RUNTIME_THREADS_H
#define TENON_SDK_RUNTIME_THREADS_H

#include <atomic>
#include <cstdint>
#include <thread>
#include <vector>

namespace tenon::runtime {

class Workers {
 public:
  using Job = void (*)(void* state, unsigned worker);

  /// `n` workers, the caller of run() included. Throws Error (TN_RT_MEMORY) when threads cannot be
  /// made.
  explicit Workers(unsigned n);
  ~Workers();
  Workers(const Workers&) = delete;
  Workers& operator=(const Workers&) = delete;

  unsigned size() const { return static_cast<unsigned>(threads_.size()) + 1; }
  /// Wakes the workers for a run, and lets them sleep after it.
  void begin();
  void end();
  /// job(state, w) for every worker w < n, the caller being 0; returns when all are done. Between
  /// begin() and end().
  void run(unsigned n, Job job, void* state);

 private:
  void loop(unsigned worker);

  // One word tells what to do: 2 * (number of jobs so far) + (1 while awake). Jobs are published
  // before it.
  alignas(64) std::atomic<std::uint64_t> word_{0};
  alignas(64) std::atomic<unsigned> left_{0};
  std::atomic<bool> stop_{false};
  Job job_ = nullptr;
  void* state_ = nullptr;
  unsigned n_ = 0;
  std::vector<std::thread> threads_;
};

}  // namespace tenon::runtime

#endif
