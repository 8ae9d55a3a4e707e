// The steps of a lowered module, in order, and where the bytes of each value are. What liveness and
// the program builder both start from, so that they cannot disagree about the numbering.
#ifndef TENON_CORE_STORAGE_TIMELINE_H
#define TENON_CORE_STORAGE_TIMELINE_H

#include <cstdint>
#include <string>
#include <vector>

#include "tenon/ir.h"

namespace tenon {

/// A node that executes: a kernel call, a copy, or an `if` (which reads its condition).
struct TimelineStep {
  const Node* node = nullptr;
  const KernelFunction* kernel = nullptr;  ///< of a call_kernel
  std::uint32_t body = 0;                  ///< index into Timeline::bodies
  std::uint32_t next = 0;  ///< step that runs after it; of an `if`: after the whole of it
  ValueId scratch = 0;     ///< first id of its scratch: shared buffers in order, then the worker's
  std::string name;
};

/// `main` (number 0) or an arm of an `if`. Arms have their own steps, right after their `if`: then,
/// else.
struct TimelineBody {
  const Body* body = nullptr;
  std::uint32_t parent = 0;          ///< body that holds the `if`; of `main` itself
  std::uint32_t branch = 0;          ///< step of the `if`; unused for `main`
  std::uint32_t first = 0, end = 0;  ///< steps, with those of arms inside
};

struct Timeline {
  const Function* main = nullptr;
  std::vector<TimelineStep> steps;
  std::vector<TimelineBody> bodies;
  ValueId id_end = 0;  ///< every id, scratch included, is smaller
  std::uint32_t n_steps() const { return static_cast<std::uint32_t>(steps.size()); }
  /// Entry of arm `k` (0 then, 1 else) of the `if` that is step `s`: what runs next when it is
  /// taken.
  std::uint32_t arm_entry(std::uint32_t s, std::uint32_t k) const;
  std::uint32_t arm_body(std::uint32_t s, std::uint32_t k) const;
  std::vector<std::uint32_t>
      then_body;  ///< per step: body of its then arm (else is arm_body(s, 1)), or 0
  std::vector<std::uint32_t> else_body;
};

/// 4201: the module is not lowered (no `main`, a node that does not execute as a step, a loop, an
/// unknown kernel, a call that does not fit its kernel).
Result<Timeline> timeline_of(const Module& m);

/// Where a value's bytes are. Views and `debug` are bytes of their source; results of the arms of
/// an `if` are bytes of its result; identical constants are one.
struct ValueHome {
  enum class Kind : std::uint8_t {
    unused,   ///< an id that no value of `main` has, or a constant that nothing reads
    empty,    ///< 0 bytes
    storage,  ///< bytes of the value `owner`, which the plan places
    input,    ///< bytes of the caller's input `index`
    output,   ///< bytes of the caller's output `index`
  } kind = Kind::unused;
  Value value;
  ValueId source = 0;  ///< the value that a step, the caller or the module wrote; through views
  ValueId owner = 0;   ///< `source`, or what it is the same as
  std::uint32_t index = 0;
  std::uint64_t offset = 0;  ///< bytes from the start of the owner
  std::uint64_t size = 0;    ///< bytes
  std::uint32_t body = 0;    ///< where the source is defined
  std::uint32_t def = 0;     ///< step from which the source holds its bytes
};

/// By value id. 4202: a size is not known at compile time or passes 64 bits, or a view leaves its
/// base. 4203: a result has no storage of its own: make_outputs_ownable() was not run.
Result<std::vector<ValueHome>> homes_of(const Timeline& t, bool io_planned);

/// The name for people: the model's, else `%<id>`.
std::string value_name(const NodeResult& r);

}  // namespace tenon

#endif
