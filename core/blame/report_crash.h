// What a child process says of itself, also when it crashes.
#ifndef TENON_CORE_BLAME_REPORT_CRASH_H
#define TENON_CORE_BLAME_REPORT_CRASH_H

#include <cstdint>
#include <memory>

#include "tenon/diag.h"

namespace tenon::blame {

struct Outcome;

/// An outcome in memory that parent and child share.
class SharedOutcome {
 public:
  /// 8107: no memory.
  static Result<SharedOutcome> make();
  Outcome get() const;
  void set(const Outcome& o);
  /// The child is about to run this step.
  void at(std::uint32_t step, bool second);
  bool started() const;
  /// Of the last crash.
  std::uintptr_t address() const;

  struct Cell;

 private:
  struct Unmap {
    void operator()(Cell* c) const;
  };
  std::unique_ptr<Cell, Unmap> cell_;
  friend void report_crashes(SharedOutcome& outcome);
};

/// From now on a crash of this process fills `outcome` and ends it.
void report_crashes(SharedOutcome& outcome);

}  // namespace tenon::blame

#endif
