#include "threads.h"

#include <sched.h>

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

Workers::Workers(unsigned n) {
  try {
    for (unsigned w = 1; w < n; ++w) threads_.emplace_back([this, w] { loop(w); });
  } catch (const std::system_error& e) {
    this->~Workers();
    throw Error(TN_RT_MEMORY, "cannot start worker " + std::to_string(threads_.size() + 1) +
                                  " of " + std::to_string(n) + ": " + e.what());
  }
}

Workers::~Workers() {
  stop_ = true;
  word_.fetch_add(2, std::memory_order_release);
  word_.notify_all();
  for (std::thread& t : threads_)
    if (t.joinable()) t.join();
  threads_.clear();
}

void Workers::begin() {
  if (threads_.empty()) return;
  word_.fetch_or(1, std::memory_order_release);
  word_.notify_all();
}

void Workers::end() {
  if (!threads_.empty()) word_.fetch_and(~std::uint64_t{1}, std::memory_order_release);
}

void Workers::run(unsigned n, Job job, void* state) {
  if (given_.run) return given_.run(given_.user, n, job, state);
  job_ = job;
  state_ = state;
  n_ = n;
  left_.store(static_cast<unsigned>(threads_.size()), std::memory_order_relaxed);
  word_.fetch_add(2, std::memory_order_release);
  job(state, 0);
  spin_until([this] { return left_.load(std::memory_order_acquire) == 0; });
}

void Workers::loop(unsigned worker) {
  std::uint64_t seen = 0;  // jobs
  while (true) {
    std::uint64_t now = 0;
    bool sleep = false;
    spin_until([&] {
      now = word_.load(std::memory_order_acquire);
      sleep = now / 2 == seen && (now & 1) == 0;
      return sleep || now / 2 != seen;
    });
    if (sleep) {
      word_.wait(now, std::memory_order_acquire);
      continue;
    }
    seen = now / 2;
    if (stop_) return;
    if (worker < n_) job_(state_, worker);
    left_.fetch_sub(1, std::memory_order_release);
  }
}

}  // namespace tenon::runtime
