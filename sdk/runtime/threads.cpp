#include "threads.h"

#include <sched.h>

#include <algorithm>
#include <system_error>

#include "error.h"
#include "tenon/c/runtime.h"

namespace tenon::runtime {
namespace {

constexpr unsigned spins_before_yield = 4000;

void pause_once() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}

/// Spins, and lets others run when it takes long: there may be more workers than CPUs.
template <class Done>
void spin_until(Done done) {
  for (unsigned n = 0; !done();)
    if (++n < spins_before_yield)
      pause_once();
    else
      sched_yield();
}

}  // namespace

Workers::Workers(unsigned n) : slots_(new Slot[std::max(n, 1u)]) {
  try {
    for (unsigned w = 1; w < n; ++w) threads_.emplace_back([this, w] { loop(w); });
  } catch (const std::system_error& e) {
    stop();
    throw Error(TN_RT_MEMORY, "cannot start worker " + std::to_string(threads_.size() + 1) +
                                  " of " + std::to_string(n) + ": " + e.what());
  }
}

Workers::~Workers() { stop(); }

void Workers::stop() {
  mode_ = Mode::stopped;
  mode_.notify_all();
  for (std::thread& t : threads_) t.join();
}

void Workers::begin() {
  if (threads_.empty()) return;
  mode_.store(Mode::awake, std::memory_order_release);
  mode_.notify_all();
}

void Workers::end() {
  if (!threads_.empty()) mode_.store(Mode::asleep, std::memory_order_release);
}

void Workers::run(unsigned n, Job job, void* state) {
  if (given_.run) return given_.run(given_.user, n, job, state);
  job_ = job;
  state_ = state;
  left_.store(n - 1, std::memory_order_relaxed);
  for (unsigned w = 1; w < n; ++w) slots_[w].waiting.store(true, std::memory_order_release);
  job(state, 0);
  unsigned done = 0;
  for (unsigned w = 1; w < n; ++w)
    if (slots_[w].take()) job(state, w), ++done;
  spin_until([&] { return left_.load(std::memory_order_acquire) == done; });
}

void Workers::loop(unsigned worker) {
  Slot& own = slots_[worker];
  for (unsigned idle = 0;;) {
    if (own.take()) {
      job_(state_, worker);
      left_.fetch_sub(1, std::memory_order_release);
      idle = 0;
      continue;
    }
    const Mode mode = mode_.load(std::memory_order_acquire);
    if (mode == Mode::stopped) return;
    if (++idle < spins_before_yield) {
      pause_once();
    } else if (mode == Mode::awake) {
      sched_yield();
    } else {
      mode_.wait(Mode::asleep, std::memory_order_acquire);
      idle = 0;
    }
  }
}

}  // namespace tenon::runtime
