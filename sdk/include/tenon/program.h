// ExecProgram: what to run, with every argument resolved. Core builds it once from the lowered
// module and the judged plan; executors only encode it and compute nothing.
#ifndef TENON_PROGRAM_H
#define TENON_PROGRAM_H

#include <cstdint>
#include <string>
#include <vector>

#include "tenon/ir.h"

namespace tenon {

struct ArgPlace {
  enum class Kind : std::uint8_t { pool, input, output } kind = Kind::pool;
  std::uint32_t index = 0;   ///< pool number, input number or output number
  std::uint64_t offset = 0;  ///< bytes from the start of it
  std::uint64_t bytes = 0;
  bool operator==(const ArgPlace&) const = default;
};

/// Bytes of a pool that hold nothing any more: whoever reads them before writing them is wrong.
/// Executors may poison them; no program depends on it.
using DeadRanges = std::vector<ArgPlace>;

struct ExecStep {
  enum class Kind : std::uint8_t { call, copy, branch, loop } kind = Kind::call;
  std::string name;          ///< the step's name in the request, for profiles and messages
  std::uint32_t kernel = 0;  ///< call: index into ExecProgram::kernels
  /// call: inputs, outputs, shared scratch. copy: from, to. branch: condition (1 byte). loop: count
  /// (i64), number of the iteration (i64, written from 0 on), then for each carried value its
  /// initial value, itself, and what the body makes of it. A loop copies initial values to carried
  /// ones, runs its body `count` times (never when that is below 1), and copies from the third to
  /// the second after each; equal places need no copy, others of one step do not overlap.
  std::vector<ArgPlace> args;
  /// Which value each of `args` is, and last, of a call that has it, its worker scratch: ids as in
  /// TokenMember::id. What debuggers go by; no executor needs it.
  std::vector<ValueId> values;
  std::vector<ExecStep> then_steps, else_steps;  ///< branch: its arms. loop: its body, and nothing
  DeadRanges dead;  ///< call, copy: what dies when the step is done; loop: after the last iteration
  DeadRanges then_dead, else_dead;  ///< branch: what dies when that arm is entered; loop: when its
                                    ///< body is entered first, when it is not run at all
  DeadRanges next_dead;             ///< loop: what dies when another iteration begins
};

/// A kernel, once per place of its worker scratch (planners that share give all calls of a kernel
/// one place).
struct ExecKernel {
  std::string symbol;
  std::uint32_t n_inputs = 0, n_outputs = 0, n_shared = 0;
  std::int64_t extent = 1, grain = 1;
  std::uint64_t work = 0;
  std::uint64_t worker_bytes = 0;
  std::uint32_t worker_pool = 0;  ///< pool that holds worker scratch, when worker_bytes > 0
  std::uint64_t worker_offset =
      0;  ///< offset of this kernel's scratch in each worker's instance of it
};

struct ExecPool {
  std::string id;
  std::uint64_t bytes = 0, align = 64;  ///< exactly what the plan needs
  enum class Kind : std::uint8_t { data, constants, worker } kind = Kind::data;
};

struct ExecIo {
  std::string name;
  TensorType type;
  bool planned =
      false;  ///< the bytes stand in a pool (io: planned), at `place`; else the caller owns them
  ArgPlace place;
  std::uint64_t align = 64;  ///< bytes; what kernels need of the caller's memory
  bool state = false;  ///< input: begins as zeros, keeps what the last run left unless it is set
};

struct ExecConstant {
  std::uint32_t pool = 0;
  std::uint64_t offset = 0;
  Constant data;
};

struct ExecProgram {
  std::string model, request_hash;
  std::string target_triple, target_cpu, target_features;
  std::vector<ExecIo> inputs, outputs;
  std::vector<ExecPool> pools;
  std::vector<ExecKernel> kernels;
  std::vector<ExecConstant> constants;
  std::vector<ExecStep> steps;
};

}  // namespace tenon

#endif
