// Persistent workers. Within a run they spin between steps (a dispatch costs half a microsecond);
// between runs they sleep. Or the caller's, who runs the parts as he likes.
#ifndef TENON_SDK_RUNTIME_THREADS_H
#define TENON_SDK_RUNTIME_THREADS_H

#include <atomic>
#include <cstdint>
#include <thread>
#include <vector>

#include "tenon/c/runtime.h"

namespace tenon::runtime {

class Workers {
 public:
  using Job = void (*)(void* state, std::uint32_t worker);

  /// `n` workers, the caller of run() included. Throws Error (TN_RT_MEMORY) when threads cannot be
  /// made.
  explicit Workers(unsigned n);
  /// Whose `run` is called instead.
  explicit Workers(const tn_workers& given) : given_(given) {}
  ~Workers();
  Workers(const Workers&) = delete;
  Workers& operator=(const Workers&) = delete;

  unsigned size() const {
    return given_.run ? given_.workers : static_cast<unsigned>(threads_.size()) + 1;
  }
  /// Wakes the workers for a run, and lets them sleep after it.
  void begin();
  void end();
  /// job(state, w) for every worker w < n, the caller being 0 unless the workers are given; returns
  /// when all are done. Between begin() and end().
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
  tn_workers given_{};
  std::vector<std::thread> threads_;
};

}  // namespace tenon::runtime

#endif
