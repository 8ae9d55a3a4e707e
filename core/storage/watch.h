// A planner that has a deadline runs in a thread of its own: one that never looks up cannot keep
// the host. The host waits, and when the deadline has passed and the planner gives no sign of life,
// leaves it behind.
#ifndef TENON_CORE_STORAGE_WATCH_H
#define TENON_CORE_STORAGE_WATCH_H

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <string>
#include <vector>

namespace tenon {

class Watch {
 public:
  using Clock = std::chrono::steady_clock;
  /// How long past the deadline a planner may be silent, and how long it may go on at all. Its
  /// contract says 10 ms; large requests and loaded machines get room.
  static constexpr std::chrono::seconds kSilence{2}, kPatience{30};

  /// A call of the planner to its host: a sign of life at its begin and end.
  class Visit {
   public:
    explicit Visit(Watch& w) : w_(w), lock_(w.m_) { w_.last_ = Clock::now(); }
    ~Visit() { w_.last_ = Clock::now(); }
    Visit(const Visit&) = delete;
    Visit& operator=(const Visit&) = delete;
    /// Nobody waits any more: what the host owns may be gone.
    bool left() const { return w_.left_; }

   private:
    Watch& w_;
    std::unique_lock<std::mutex> lock_;
  };

  // In the planner's thread. Planners that run planners stand on top of each other.
  void begin(std::string planner) {
    const Visit v(*this);
    running_.push_back(std::move(planner));
  }
  void end() {
    const Visit v(*this);
    running_.pop_back();
  }
  void done() {
    const Visit v(*this);
    done_ = true;
    changed_.notify_all();
  }

  /// In the waiting thread: "" when the planner is done, else what it did instead of ending; from
  /// then on it is left behind.
  std::string wait(Clock::time_point deadline) {
    std::unique_lock lock(m_);
    while (!changed_.wait_for(lock, std::chrono::milliseconds(50), [&] { return done_; })) {
      const auto now = Clock::now();
      const char* why = now - std::max(last_, deadline) > kSilence
                            ? "did not call tick() after the deadline"
                        : now - deadline > kPatience ? "did not stop after the deadline"
                                                     : nullptr;
      if (!why) continue;
      left_ = true;
      return running_.empty() ? why : "planner '" + running_.back() + "': " + why;
    }
    return "";
  }

 private:
  std::mutex m_;
  std::condition_variable changed_;
  Clock::time_point last_ = Clock::now();
  std::vector<std::string> running_;
  bool done_ = false, left_ = false;
};

}  // namespace tenon

#endif
