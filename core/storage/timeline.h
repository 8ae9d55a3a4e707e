// The steps of a lowered module, in order, and where the bytes of each value are. What liveness and
// the program builder both start from, so that they cannot disagree about the numbering.
#ifndef TENON_CORE_STORAGE_TIMELINE_H
#define TENON_CORE_STORAGE_TIMELINE_H

#include <cstdint>
#include <string>
#include <vector>

#include "tenon/ir.h"
#include "tenon/storage.h"

namespace tenon {

/// A node that executes: a kernel call, a copy, an `if` (which reads its condition), or a `loop`,
/// which has two: its opener, which writes the carried values from the initial ones, and the back
/// edge, the last step of its body, which writes them from the body's results.
struct TimelineStep {
  const Node* node = nullptr;
  const KernelFunction* kernel = nullptr;  ///< of a call_kernel
  std::uint32_t body = 0;                  ///< index into Timeline::bodies
  std::uint32_t next = 0;  ///< step that runs after it; of an `if` or `loop`: after the whole of
                           ///< it; of a back edge: the first step of the body
  bool back_edge = false;
  ValueId scratch = 0;  ///< first id of its scratch: shared buffers in order, then the worker's
  std::string name;
};

/// `main` (number 0), an arm of an `if`, or the body of a `loop`. They have their own steps, right
/// after their opener: then, else.
struct TimelineBody {
  const Body* body = nullptr;
  std::uint32_t parent = 0;          ///< body that holds the opener; of `main` itself
  std::uint32_t opener = 0;          ///< step of the `if` or `loop`; unused for `main`
  std::uint32_t first = 0, end = 0;  ///< steps, with those of bodies inside and of the back edge
  bool loop = false;
};

struct Timeline {
  const Function* main = nullptr;
  std::vector<TimelineStep> steps;
  std::vector<TimelineBody> bodies;
  ValueId id_end = 0;  ///< every id, scratch included, is smaller
  std::uint32_t n_steps() const { return static_cast<std::uint32_t>(steps.size()); }
  /// Entry of arm `k` (0 then, 1 else) of the `if` that is step `s`: what runs next when it is
  /// taken. Of a `loop`: 0 when it runs its body, 1 when it does not.
  std::uint32_t arm_entry(std::uint32_t s, std::uint32_t k) const;
  std::uint32_t arm_body(std::uint32_t s, std::uint32_t k) const;
  std::uint32_t after(std::uint32_t s) const;  ///< first step past all of `s`
  std::vector<std::uint32_t> then_body;        ///< per step: body of its then arm or loop, or 0
  std::vector<std::uint32_t> else_body;
};

/// 4201: the module is not lowered (no `main`, a node that does not execute as a step, an unknown
/// kernel, a call that does not fit its kernel).
Result<Timeline> timeline_of(const Module& m);

/// Where a value's bytes are. Views and `debug` are bytes of their source; results of the arms of
/// an `if` are bytes of its result; identical constants are one. A value that a loop carries is
/// bytes of the loop's result; what the body makes of it is too, where nothing reads the old one
/// any more when it is written, else the back edge copies it there. Operands of a `join` are bytes
/// of its result.
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
  ValueId owner = 0;   ///< `source`, or what it is the same as, or inside of
  std::uint32_t index = 0;
  std::uint64_t offset = 0;  ///< bytes from the start of the owner
  std::uint64_t size = 0;    ///< bytes
  std::uint32_t body = 0;    ///< where the source is defined
  std::uint32_t def = 0;     ///< step from which the source holds its bytes
};

/// Which inputs and outputs of `main` stand in pools.
struct IoBinding {
  bool planned = false;                                        ///< all of them
  std::vector<std::pair<std::uint32_t, std::uint32_t>> state;  ///< (input, output): what is kept
  bool input_planned(std::uint32_t i) const;
  bool output_planned(std::uint32_t j) const;
};

/// By value id. An output of the state is bytes of its input, like what a loop carries: where the
/// input is still read when it is written, it is copied there after the last step. 4202: a size is
/// not known at compile time or passes 64 bits, or a view leaves its base. 4203: a result has no
/// storage of its own: make_outputs_ownable() was not run.
Result<std::vector<ValueHome>> homes_of(const Timeline& t, const IoBinding& io);

/// 4209: `state:` names no input or output, one twice, or two of different types.
Result<IoBinding> io_binding(const Function& main, const MemoryConfig& config);

/// The name for people: the model's, else `%<id>`.
std::string value_name(const NodeResult& r);

}  // namespace tenon

#endif
