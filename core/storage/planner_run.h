// One running planner: what the functions of tn_host work on. Judges every offer and keeps the
// best.
#ifndef TENON_CORE_STORAGE_PLANNER_RUN_H
#define TENON_CORE_STORAGE_PLANNER_RUN_H

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "core/storage/solve.h"
#include "core/storage/watch.h"

namespace tenon {

/// One budget for a planner and all that it runs.
struct Budget {
  std::uint64_t left = 0;
  std::optional<std::chrono::steady_clock::time_point> deadline;
  bool out_of_work = false, out_of_time = false;

  bool spend(std::uint64_t work) {
    left -= std::min(left, work);
    out_of_work = out_of_work || left == 0;
    out_of_time = out_of_time || (deadline && std::chrono::steady_clock::now() >= *deadline);
    return !out_of_work && !out_of_time;
  }
};

class PlannerRun {
 public:
  PlannerRun(const StorageRequest& r, const tn_request& view, const PlannerRef& who,
             const SolveSettings& settings, const std::string& hash, Watch* watch, unsigned depth)
      : r_(r), view_(view), who_(who), settings_(settings), watch_(watch), depth_(depth) {
    best_.request_hash = hash;
    best_.planner = who.planner->id;
    best_.version = who.version;
  }

  Result<Solved> solve(Budget& budget);
  /// The answer of a planner that was left behind, for `why`; in the thread that left it.
  Result<Solved> answer_without(const std::string& why) const;

 private:
  Diag diag(int code, std::string what, std::string fix, Severity severity = Severity::error) const;
  void message(Diag d);
  std::optional<Diag> missing_feature() const;
  int call();
  int offer(const tn_slot* slots, std::uint64_t bound);
  void say(std::uint32_t token, const char* text);
  const char* option(const char* key) const;
  int plan(const tn_host* h, const char* id, std::uint64_t work, tn_slot* out);
  void claim(std::uint64_t bound, const StoragePlan& offered);
  Result<Solved> answer(int status);
  Solved solved() const;
  Diag no_plan(int status) const;

  static PlannerRun& self(const tn_host* h) { return *static_cast<PlannerRun*>(h->self); }
  /// What a function of tn_host does; `gone` when nobody waits for the planner any more.
  template <class F>
  static int visit(const tn_host* h, int gone, F what) {
    PlannerRun& run = self(h);
    if (!run.watch_) return what(run);
    const Watch::Visit v(*run.watch_);
    return v.left() ? gone : what(run);
  }

  const StorageRequest& r_;
  const tn_request& view_;
  const PlannerRef& who_;
  const SolveSettings& settings_;
  Watch* watch_;
  unsigned depth_;
  Budget* budget_ = nullptr;
  std::map<std::string, std::string> options_;
  StoragePlan best_;
  bool have_ = false, last_is_best_ = false, wrong_offer_ = false;
  std::string thrown_;
  Diags messages_;
};

}  // namespace tenon

#endif
