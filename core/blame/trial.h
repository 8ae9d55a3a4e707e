// Trials: the kernels of an artefact, each step run twice, once with everything in storage of its
// own and once as a setup says, and compared byte by byte. Each trial is a child process: a crash
// is an answer.
#ifndef TENON_CORE_BLAME_TRIAL_H
#define TENON_CORE_BLAME_TRIAL_H

#include <memory>
#include <string>

#include "core/blame/memory.h"
#include "core/blame/subject.h"
#include "tenon/eval.h"

namespace tenon::blame {

/// How the second run of a trial differs from the first. Vectors are by block; empty: none.
struct Setup {
  std::vector<bool> together;  ///< stands where the program has it; else in storage of its own
  std::vector<bool> contents;  ///< holds another pattern before anything is written there
  std::vector<bool> margin;    ///< has another pattern behind its end
  std::uint32_t moved = none;  ///< a block that begins `by` bytes behind the start of a page
  std::uint64_t by = 0;
};

/// Plain data: it crosses a process.
struct Outcome {
  enum class Kind : std::uint8_t {
    agrees,
    differs_before,  ///< argument `arg` of the step has lost its bytes
    differs_after,   ///< the step gives argument `arg` other bytes, though it got the same
    differs_at_end,  ///< output number `arg` has lost its bytes after the last step
    outside,         ///< the step wrote bytes [first, end) of `block` that it was not given
    crashed,         ///< by `signal`; `block` and `first` where the address is known
    failed,          ///< the kernel gave another code than 0: `text`
    stuck,           ///< it took longer than all its time
    no_process
  } kind = Kind::agrees;
  std::uint32_t step = 0, arg = 0;
  std::uint32_t block = none;
  std::int64_t first = 0,
               end = 0;     ///< bytes of the argument that differ lie within; or of the block
  std::uint64_t count = 0;  ///< bytes that differ
  int signal = 0;
  bool writing = false, second = false;  ///< crashed while writing; in the second run
  char text[200] = {};
};

class Bench {
 public:
  /// 8107: no memory.
  static Result<Bench> make(const Subject& s, const std::vector<Tensor>& inputs);
  /// The first run alone, with everything that a step was not given to write write-protected.
  Outcome watch();
  Outcome compare(const Setup& setup);
  std::uint32_t trials() const { return trials_; }

 private:
  explicit Bench(const Subject& s) : s_(s) {}
  Status give(const std::vector<Tensor>& inputs);
  Outcome in_child(const std::function<void()>& body);

  const Subject& s_;
  std::uint32_t trials_ = 0;
  struct Memory;
  std::shared_ptr<Memory>
      memory_;  ///< as it is before the first step; children change their copies
};

}  // namespace tenon::blame

#endif
