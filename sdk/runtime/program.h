// What program.json says, checked: every index, offset and size of a Program is in range, so that
// running it needs no further checks.
#ifndef TENON_SDK_RUNTIME_PROGRAM_H
#define TENON_SDK_RUNTIME_PROGRAM_H

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tenon/c/runtime.h"

namespace tenon::runtime {

inline constexpr std::uint64_t format_major = 1;
inline constexpr std::uint64_t max_align = std::uint64_t{1} << 30;

enum class PoolKind : std::uint8_t { data, constants, worker };
struct Pool {
  std::string id;
  std::uint64_t bytes = 0, align = 1;
  PoolKind kind = PoolKind::data;
  std::string image;  ///< file with its constants; "" = none
};

/// Bytes of a pool's image that belong to a constant, at the same offset in file and pool.
struct ImageRange {
  std::uint32_t pool = 0;
  std::uint64_t offset = 0, bytes = 0;
};

enum class Base : std::uint8_t { pool, input, output };
struct Place {
  Base base = Base::pool;
  std::uint32_t index = 0;
  std::uint64_t offset = 0, bytes = 0;
};

struct Tensor {
  std::string name;
  tn_dtype dtype = TN_F32;
  std::vector<std::int64_t> dims;
  std::uint64_t bytes = 0, align = 1;
  bool planned = false, state = false;
  Place place;  ///< when planned
};

struct Kernel {
  std::string symbol;
  std::vector<std::uint64_t> args;  ///< bytes that it touches of each argument, as it was compiled
  std::uint32_t n_inputs = 0;       ///< the first ones, which it only reads
  std::int64_t extent = 1, grain = 1;
  std::uint64_t work = 0, worker_bytes = 0, worker_offset = 0;
  std::uint32_t worker_pool = 0;
};

/// Steps in a line: a branch goes on, or jumps to `target`; `jump` ends the first arm. A loop goes
/// on to its body, or jumps to `target`; `turn` ends the body: it jumps to `target`, where the body
/// begins, or goes on. Both have the arguments of the loop.
enum class StepKind : std::uint8_t { call, copy, branch, jump, loop, turn };
struct Step {
  StepKind kind = StepKind::call;
  std::string name;
  std::uint32_t kernel = 0, target = 0;
  std::vector<Place> args;
  std::vector<std::uint32_t> values;  ///< of `args` and the worker scratch, or none: what they are
};

struct Program {
  std::string model, text;
  std::vector<std::string> features, objects;
  std::vector<Tensor> inputs, outputs;
  std::vector<Pool> pools;
  std::vector<ImageRange> constants;
  std::vector<Kernel> kernels;
  std::vector<Step> steps;
};

/// Throws Error (TN_RT_PROGRAM, TN_RT_VERSION).
Program parse_program(std::string text);
std::string_view dtype_name(tn_dtype t);
unsigned dtype_bits(tn_dtype t);

}  // namespace tenon::runtime

#endif
