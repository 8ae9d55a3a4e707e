// Kernels (tensor IR, TIR): destination-passing code over buffers, with explicit vector types. A
// target lowers it one to one; nothing is left to an auto-vectoriser.
//
// ABI of every kernel, whoever makes it:
//   int32_t k(void* const* buf, const int64_t* dim, void* worker, int64_t begin, int64_t end)
// buf = inputs, outputs, shared scratch, in that order; dim = shape symbols (null when there are
// none); worker = scratch of the calling worker; [begin, end) = chunk of the parallel range [0,
// extent). 0 = success; anything else stops the run with that code. Chunks may run at once, in any
// order, in any number; the result does not depend on how the range is cut. Buffers are disjoint
// except in-place pairs.
#ifndef TENON_KERNEL_H
#define TENON_KERNEL_H

#include <bit>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "tenon/scalar.h"
#include "tenon/type.h"

namespace tenon::tir {

using ExprId = std::uint32_t;
using StmtId = std::uint32_t;
using VarId = std::uint32_t;
using BufferId = std::uint32_t;
inline constexpr std::uint32_t none = UINT32_MAX;

struct Type {
  DType dtype = DType::f32;
  std::uint16_t lanes = 1;
  bool operator==(const Type&) const = default;
};

enum class Kind : std::uint8_t {
  imm,        // scalar constant `f` or `i`
  var,        // variable `n`
  load,       // buffer `n`; args: index [, mask]. See below
  broadcast,  // args[0], again and again: its lanes divide those of the result
  ramp,       // args[0] + lane * `i`; integer
  scalar,  // `op`, lane by lane, of operands with equal lanes. No transcendentals: lowering expands
           // them
  fold_lanes,  // `op` in {add, mul, min, max}: of n lanes, the last n / 2 are folded onto the first
               // n / 2 lane by lane (of odd n the one between waits), until one is left; scalar
  dot,  // i32, of n lanes: lane l is args[2] plus the products of args[0] (u8) and args[1] (i8), of
        // 4 n lanes each, at lanes 4 l to 4 l + 3; the sum wraps
};
/// load: index counts elements of the buffer.
///  - scalar index, lanes 1: one element. Scalar index, lanes L: elements index + lane * `i` (`i` =
///  stride >= 1).
///  - index with L lanes: gather, lane by lane.
///  - a mask (boolean, L lanes; for one lane a boolean) makes lanes that are off 0 and does not
///  touch their memory.
/// No access touches a byte outside the elements it names. Buffers hold whole bytes: lowering
/// addresses i4 and u4 as u8.
struct Expr {
  Kind kind = Kind::imm;
  ScalarOp op = ScalarOp::add;
  Type type;
  std::uint32_t n = 0;
  double f = 0;
  std::int64_t i = 0;
  std::vector<ExprId> args;
  /// `f` by its bits: NaN equals itself, -0 is not 0.
  bool operator==(const Expr& o) const {
    return kind == o.kind && op == o.op && type == o.type && n == o.n && i == o.i &&
           args == o.args && std::bit_cast<std::uint64_t>(f) == std::bit_cast<std::uint64_t>(o.f);
  }
};

/// A variable: a loop counter (i64), or a register that `assign` may set any number of times (an
/// accumulator).
struct Var {
  std::string name;
  Type type;
  bool operator==(const Var&) const = default;
};

enum class StmtKind : std::uint8_t {
  assign,  // var = value
  store,  // buffer[index .. + lanes * stride] = value, where mask (if any); index and stride as for
          // load
  loop,   // for var in [begin, end) step `step` (> 0, an immediate): body. Not unrolled by anyone.
          // Bounds are evaluated once, before the first trip; afterwards the variable is not read
  branch,  // if value (boolean scalar): body, else other
};
struct Stmt {
  StmtKind kind = StmtKind::assign;
  std::uint32_t target = none;                     ///< var or buffer
  ExprId value = none, index = none, mask = none;  ///< value: also the condition of branch
  ExprId begin = none, end = none;
  std::int64_t step = 1, stride = 1;
  std::vector<StmtId> body, other;
  bool operator==(const Stmt&) const = default;
};

enum class Scope : std::uint8_t { input, output, shared, worker };

struct Buffer {
  std::string name;
  DType dtype = DType::f32;
  std::uint64_t elements = 0;
  Scope scope = Scope::input;
  std::uint32_t arg = 0;     ///< position in buf[]; not for worker
  std::uint64_t offset = 0;  ///< bytes from the start of the worker's scratch; only for worker
  std::uint64_t align = 64;  ///< bytes; the address is a multiple of it. Power of two
  bool operator==(const Buffer&) const = default;
};

struct Kernel {
  std::string symbol;  ///< C identifier, unique in the artefact
  std::vector<Buffer>
      buffers;  ///< inputs, outputs, shared scratch (arg = 0, 1, 2, ...), then worker scratch
  std::vector<Var> vars;    ///< vars[0] = begin, vars[1] = end of the chunk
  std::vector<Expr> exprs;  ///< args are smaller than the id; an expression has no effect
  std::vector<Stmt> stmts;
  std::vector<StmtId> body;
  std::int64_t extent = 1;  ///< of the parallel range; 0 = nothing to do
  std::int64_t grain = 1;   ///< least chunk that is worth a dispatch
  std::uint64_t worker_bytes = 0, worker_align = 64;
  std::uint64_t work = 0;  ///< estimated scalar operations of the whole range
  /// (input argument, output argument) that may be one buffer: each input element is read only
  /// where its output element is written, before the write, by the same chunk; sizes are equal.
  std::vector<std::pair<std::uint32_t, std::uint32_t>> inplace;

  std::uint32_t count(Scope s) const;
  bool operator==(const Kernel&) const = default;
};

/// Laws of kernels (types agree, ids in range, masks boolean, ...); empty when they hold, else the
/// first breach.
std::string check(const Kernel& k);

/// The same kernel with expressions and statements numbered in the order of the text form, without
/// those that nothing uses. Equal code gets equal numbers, however it was built. Only for kernels
/// that keep the laws.
Kernel renumbered(const Kernel& k);

}  // namespace tenon::tir

#endif
