// What is blamed: the program of an artefact, with the names that its request gives to what the
// steps touch.
#ifndef TENON_CORE_BLAME_SUBJECT_H
#define TENON_CORE_BLAME_SUBJECT_H

#include <string>
#include <vector>

#include "tenon/c/runtime.h"
#include "tenon/storage.h"

namespace tenon::blame {

inline constexpr std::uint32_t none = UINT32_MAX;

/// What stands in one piece: a token of the request, or the caller's memory of an input or output.
struct Block {
  enum class Kind : std::uint8_t { token, input, output } kind = Kind::token;
  std::uint32_t index = 0;  ///< of the token, input or output
  std::string name;
  std::uint64_t bytes = 0, align = 1;
  bool constant = false;
};

/// Memory of the runtime's or the caller's, in which the program places things: pools, then inputs,
/// then outputs.
struct Region {
  std::string name;
  std::uint64_t bytes = 0;
};

/// Bytes that a step touches.
struct Arg {
  std::uint32_t block = none;  ///< none: it has 0 bytes
  std::uint64_t in_block = 0;  ///< bytes from the start of the block
  std::uint32_t region = 0;    ///< where the program has it
  std::uint64_t offset = 0, bytes = 0;
  bool read = false, written = false, scratch = false;
  std::uint32_t member = none;  ///< of its token: the value that it is
};

/// A step of the request. A loop is two: where it is entered, and the turn at the end of its body.
struct Step {
  std::string name, kernel;   ///< kernel: "" of what is no call
  std::vector<Arg> args;      ///< in the order in which tn_run_step takes them
  std::uint32_t number = 0;   ///< for tn_run_step
  bool turn = false;          ///< for tn_run_step
  std::uint32_t last = none;  ///< where a loop is entered: its turn, the last step of its body
};

struct Subject {
  const tn_model* model = nullptr;
  const StorageRequest* request = nullptr;
  const StoragePlan* plan = nullptr;
  std::vector<Region> regions;
  std::vector<Block> blocks;  ///< by token, then those of the caller
  std::vector<Step> steps;
  std::vector<Arg> inputs, outputs;  ///< where the caller writes and reads; state is both

  std::vector<std::uint32_t>
      by_number;  ///< the step that tn_run_step calls so; of a loop: its entry

  /// The step that runs after `step`, when tn_run_step said that it is number `next`.
  std::uint32_t after(std::uint32_t step, std::uint32_t next) const;

  /// `value`, or `token` where an argument is no value of the request.
  const std::string& name(const Arg& a) const;
  const StorageToken* token(std::uint32_t block) const;
};

/// All three must outlive the subject. 4520: the artefact does not say which values its steps
/// touch, or names some that its request has not.
Result<Subject> subject_of(const tn_model* model, const StorageRequest& request,
                           const StoragePlan& plan);

}  // namespace tenon::blame

#endif
