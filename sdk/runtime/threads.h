// Persistent workers. Within a run they spin between steps (a dispatch costs half a microsecond);
// after it they spin a little longer, for the next run may follow at once, and sleep. Each has its
// own part of a step; a part whose worker has not come yet (it wakes, or another program has its
// CPU) is done by the caller, so nobody waits for a worker that has not begun. Or the workers are
// the caller's, who runs the parts as he likes.
#ifndef TENON_SDK_RUNTIME_THREADS_H
#define TENON_SDK_RUNTIME_THREADS_H

#include <atomic>
#include <cstdint>
#include <memory>
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
  /// job(state, w) for every w < n, each once; returns when all are done. Jobs of different w may
  /// run at the same time, on the caller and others. Between begin() and end().
  void run(unsigned n, Job job, void* state);

 private:
  /// A part that is waiting for whoever takes it. Job and state are written before it is set, and
  /// stay until all parts taken are done.
  struct alignas(64) Slot {
    std::atomic<bool> waiting{false};
    bool take() {
      return waiting.load(std::memory_order_relaxed) &&
             waiting.exchange(false, std::memory_order_acquire);
    }
  };
  enum class Mode : std::uint32_t { asleep, awake, stopped };

  void loop(unsigned worker);
  void stop();

  alignas(64) std::atomic<Mode> mode_{Mode::asleep};
  alignas(64) std::atomic<unsigned> left_{0};  ///< parts that are not done
  Job job_ = nullptr;
  void* state_ = nullptr;
  tn_workers given_{};
  std::unique_ptr<Slot[]> slots_;  ///< by worker; the caller's is not used
  std::vector<std::thread> threads_;
};

}  // namespace tenon::runtime

#endif
