// Tensor expressions (TE): what an op or a fused group computes, as data.
//
// A Compute is an ordered list of stages over input tensors. A stage defines every element of one
// tensor by a scalar expression over its axes; at most one reduction stands in a stage's
// expression, over axes of its own; what surrounds the reduction is its epilogue. Later stages may
// load earlier ones at any index. All extents are static. Laws: index expressions are i64; a load
// gives exactly as many indices as its tensor has axes; every load that is evaluated is in bounds,
// except a load that stands directly as operand 1 of a `select` whose condition implies that it is
// in bounds (padding): implementations evaluate such a load only where the condition holds. An
// empty reduction gives the identity. Reductions accumulate in the type of their expression, in any
// order that does not depend on a thread count.
#ifndef TENON_TE_H
#define TENON_TE_H

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <map>
#include <span>
#include <string>
#include <tuple>
#include <vector>

#include "tenon/scalar.h"
#include "tenon/type.h"

namespace tenon::te {

using ExprId = std::uint32_t;
inline constexpr ExprId none = UINT32_MAX;

enum class Kind : std::uint8_t {
  imm,     // a scalar constant
  axis,    // axis number `n` of the stage: output axes first, then reduction axes; i64
  load,    // tensor `n` at the indices `args`
  scalar,  // `op` of `args`
  reduce,  // fold `args[0]` over all reduction axes of the stage with `fold`
};
enum class Fold : std::uint8_t {
  sum,
  prod,
  max,
  min
};  // identity 0, 1, lowest, highest (floats: -inf, +inf)

struct Expr {
  Kind kind = Kind::imm;
  ScalarOp op = ScalarOp::add;
  Fold fold = Fold::sum;
  DType dtype = DType::f32;
  std::uint32_t n = 0;       ///< axis or tensor number
  double f = 0;              ///< imm of a float type
  std::int64_t i = 0;        ///< imm of an integer or boolean type
  std::vector<ExprId> args;  ///< smaller than the expression's own id: a DAG by construction
  bool operator==(const Expr& o) const;  ///< `f` bit for bit: NaN equals itself, +0 and -0 differ
};

struct Axis {
  std::string name;
  std::int64_t extent = 0;
  bool operator==(const Axis&) const = default;
};

struct Stage {
  std::string name;
  DType dtype = DType::f32;
  std::vector<Axis> axes;    ///< output axes = the shape, outermost first
  std::vector<Axis> reduce;  ///< reduction axes; empty unless `value` contains a reduce
  ExprId value = none;
  // What storage its tensor asks for when it is an output of a kernel; inlining drops it.
  std::uint64_t align = 1;         ///< bytes; a power of two
  std::vector<std::string> pools;  ///< ids, in order of preference; empty: as the pipeline says
  Shape shape() const;
  bool operator==(const Stage&) const = default;
};

/// Tensor number t: inputs[t], or stages[t - inputs.size()].
struct Compute {
  std::vector<TensorType> inputs;  // static
  std::vector<Stage> stages;
  std::vector<std::uint32_t> outputs;  ///< stage indices, in result order; no stage twice
  std::vector<Expr> exprs;             ///< interned: no two are equal

  std::uint32_t tensor_of_stage(std::uint32_t s) const {
    return static_cast<std::uint32_t>(inputs.size()) + s;
  }
  bool is_input(std::uint32_t tensor) const { return tensor < inputs.size(); }
  const Stage& stage_of(std::uint32_t tensor) const { return stages[tensor - inputs.size()]; }
  Shape shape_of(std::uint32_t tensor) const;
  DType dtype_of(std::uint32_t tensor) const;
  TensorType output_type(std::uint32_t k) const;
  bool operator==(const Compute&) const = default;
};

/// Laws of TE; empty when they hold, else the first breach in words. A load that is provably out of
/// bounds (affine index, not guarded) is a breach.
std::string check(const Compute& c);

/// What `root` is made of, itself included: ascending, so operands come first.
std::vector<ExprId> reachable(const Compute& c, ExprId root);
/// Whether operand 1 of this expression is a load that only happens where operand 0 holds
/// (padding).
inline bool is_guarded_load(const Compute& c, const Expr& e) {
  return e.kind == Kind::scalar && e.op == ScalarOp::select &&
         c.exprs[e.args[1]].kind == Kind::load;
}

class Builder;

/// A scalar expression under construction. A handle; operators build.
struct E {
  Builder* b = nullptr;
  ExprId id = none;
  DType dtype() const;
};
/// A tensor: an input or an earlier stage.
struct T {
  Builder* b = nullptr;
  std::uint32_t tensor = 0;
  E operator()(std::span<const E> index) const;
  E operator()(std::initializer_list<E> index) const {
    return (*this)(std::span<const E>(index.begin(), index.size()));
  }
  Shape shape() const;
  DType dtype() const;
};

/// Builds a Compute. Constant sub-expressions of integers are folded, x+0 and x*1 dropped, equal
/// expressions made one. Usage:
///   T a = b.input(0), w = b.input(1);
///   auto product = [&](auto i) {
///     return b.reduce(Fold::sum, {{"k", k}},
///                     [&](auto r) { return a({i[0], r[0]}) * w({r[0], i[1]}); });
///   };
///   b.output(b.stage("out", {m, n}, product));
class Builder {
 public:
  Builder() = default;
  explicit Builder(std::vector<TensorType> inputs) { c_.inputs = std::move(inputs); }
  T input(std::uint32_t k) { return {this, k}; }
  std::size_t n_inputs() const { return c_.inputs.size(); }

  using Fn = std::function<E(std::span<const E>)>;
  /// A new stage of `shape`; `fn` gets its axes and gives the element.
  T stage(std::string name, const Shape& shape, const Fn& fn);
  /// Only inside the `fn` of stage(), at most once per stage: folds over new reduction axes.
  E reduce(Fold fold, const std::vector<Axis>& axes, const Fn& fn);
  void output(T stage);
  /// Asks for storage of `stage`: pools by id, in order of preference, and bytes of alignment.
  void place(T stage, std::vector<std::string> pools, std::uint64_t align = 1);

  E imm(DType t, double v);
  E imm_int(DType t, std::int64_t v);
  E i64(std::int64_t v) { return imm_int(DType::i64, v); }
  E scalar(ScalarOp op, DType result, std::span<const E> args);
  E load(std::uint32_t tensor, std::span<const E> index);
  E cast(E e, DType t);
  /// Takes a raw expression; interning makes equal ones one.
  ExprId add(Expr e);

  const Compute& get() const { return c_; }
  Compute take() { return std::move(c_); }

 private:
  friend struct E;
  friend struct T;
  Compute c_;
  std::vector<Axis>* reduce_axes_ = nullptr;  // of the stage under construction
  std::size_t open_rank_ = 0;
  using Key = std::tuple<Kind, ScalarOp, Fold, DType, std::uint32_t, std::uint64_t, std::int64_t,
                         std::vector<ExprId>>;
  std::map<Key, ExprId> interned_;
};

E unary(ScalarOp op, E a);
E binary(ScalarOp op, E a, E b);
E select(E cond, E a, E b);
inline E operator+(E a, E b) { return binary(ScalarOp::add, a, b); }
inline E operator-(E a, E b) { return binary(ScalarOp::sub, a, b); }
inline E operator*(E a, E b) { return binary(ScalarOp::mul, a, b); }
inline E operator/(E a, E b) { return binary(ScalarOp::div, a, b); }  // integers: floor
inline E operator%(E a, E b) { return binary(ScalarOp::mod, a, b); }
inline E operator<(E a, E b) { return binary(ScalarOp::lt, a, b); }
inline E operator<=(E a, E b) { return binary(ScalarOp::le, a, b); }
inline E operator>(E a, E b) { return binary(ScalarOp::gt, a, b); }
inline E operator>=(E a, E b) { return binary(ScalarOp::ge, a, b); }
inline E operator&&(E a, E b) { return binary(ScalarOp::logical_and, a, b); }
inline E operator||(E a, E b) { return binary(ScalarOp::logical_or, a, b); }
inline E min(E a, E b) { return binary(ScalarOp::min, a, b); }
inline E max(E a, E b) { return binary(ScalarOp::max, a, b); }
E operator+(E a, std::int64_t k);  // k converts to the type of `a`
E operator-(E a, std::int64_t k);
E operator*(E a, std::int64_t k);
E operator/(E a, std::int64_t k);
E operator%(E a, std::int64_t k);
E operator<(E a, std::int64_t k);
E operator>=(E a, std::int64_t k);

/// An index expression as  constant + sum of coeff[k] * axis k ; `ok` is false when it is not
/// affine. Division and remainder by a constant are affine where the extents of the stage make them
/// exact: (28 i + j) / 28 = i for j < 28.
struct Affine {
  bool ok = false;
  std::int64_t constant = 0;
  std::vector<std::int64_t> coeff;  ///< by axis number; as long as the stage has axes in all
};
Affine affine_of(const Compute& c, const Stage& s, ExprId index);

/// A member of a composition, and where each of its inputs comes from.
struct Part {
  const Compute* compute = nullptr;
  std::vector<std::pair<std::int32_t, std::uint32_t>>
      inputs;  ///< per input: (part, output of it) or (-1, outer input)
};
/// One Compute out of several, in order: the compute description of a fused group. `results` names
/// the outputs as (part, output); one named twice is copied by a stage of its own. Stages are
/// concatenated, nothing is inlined.
Compute compose(std::vector<TensorType> inputs, std::span<const Part> parts,
                std::span<const std::pair<std::uint32_t, std::uint32_t>> results);

/// Inlines stages that need no storage: a stage without a reduction goes into each stage that loads
/// it, unless it is an output; or it has a transcendental and would be evaluated more often (loaded
/// from more than one place, under a reduction, by a larger stage); or it has a guarded load and is
/// loaded under a reduction. An elementwise stage over a reduction of equal shape, its axes perhaps
/// in another order, absorbs that reduction as its epilogue, if nothing else loads it. Guards of
/// padding are pushed into what is inlined below them. Dead stages and expressions go. Idempotent.
Compute inline_stages(const Compute& c);

}  // namespace tenon::te

#endif
