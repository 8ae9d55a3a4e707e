// te::Builder: interning and folding. Every expression of a Compute passes through Builder::add, so
// equal ones are one.
#include <bit>
#include <optional>

#include "core/te/fold.h"
#include "tenon/diag.h"
#include "tenon/te.h"

namespace tenon::te {

bool Expr::operator==(const Expr& o) const {
  return kind == o.kind && op == o.op && fold == o.fold && dtype == o.dtype && n == o.n &&
         std::bit_cast<std::uint64_t>(f) == std::bit_cast<std::uint64_t>(o.f) && i == o.i &&
         args == o.args;
}

Shape Stage::shape() const {
  Shape s;
  for (const Axis& a : axes) s.push_back(a.extent);
  return s;
}

Shape Compute::shape_of(std::uint32_t tensor) const {
  return is_input(tensor) ? inputs[tensor].shape() : stage_of(tensor).shape();
}
DType Compute::dtype_of(std::uint32_t tensor) const {
  return is_input(tensor) ? inputs[tensor].dtype : stage_of(tensor).dtype;
}
TensorType Compute::output_type(std::uint32_t k) const {
  const Stage& s = stages[outputs[k]];
  return TensorType(s.dtype, s.shape());
}

DType E::dtype() const { return b->c_.exprs[id].dtype; }

E T::operator()(std::span<const E> index) const { return b->load(tensor, index); }
Shape T::shape() const { return b->c_.shape_of(tensor); }
DType T::dtype() const { return b->c_.dtype_of(tensor); }

ExprId Builder::add(Expr e) {
  Key key{e.kind, e.op, e.fold, e.dtype, e.n, std::bit_cast<std::uint64_t>(e.f), e.i, e.args};
  auto [it, fresh] = interned_.try_emplace(std::move(key), static_cast<ExprId>(c_.exprs.size()));
  if (fresh) c_.exprs.push_back(std::move(e));
  return it->second;
}

T Builder::stage(std::string name, const Shape& shape, const Fn& fn) {
  TENON_CHECK(reduce_axes_ == nullptr);  // stages do not nest
  Stage s;
  s.name = std::move(name);
  std::vector<E> axes;
  for (std::size_t k = 0; k < shape.size(); ++k) {
    s.axes.push_back({"i" + std::to_string(k), shape[k]});
    Expr e{.kind = Kind::axis, .dtype = DType::i64, .n = static_cast<std::uint32_t>(k)};
    axes.push_back({this, add(std::move(e))});
  }
  reduce_axes_ = &s.reduce;
  open_rank_ = shape.size();
  E value = fn(axes);
  reduce_axes_ = nullptr;
  s.value = value.id;
  s.dtype = value.dtype();
  c_.stages.push_back(std::move(s));
  return {this, static_cast<std::uint32_t>(c_.inputs.size() + c_.stages.size() - 1)};
}

E Builder::reduce(Fold fold, const std::vector<Axis>& axes, const Fn& fn) {
  TENON_CHECK(reduce_axes_ != nullptr && reduce_axes_->empty());  // inside stage(), once
  if (axes.empty()) return fn({});
  *reduce_axes_ = axes;
  std::vector<E> handles;
  for (std::size_t k = 0; k < axes.size(); ++k) {
    Expr e{
        .kind = Kind::axis, .dtype = DType::i64, .n = static_cast<std::uint32_t>(open_rank_ + k)};
    handles.push_back({this, add(std::move(e))});
  }
  E body = fn(handles);
  return {this,
          add(Expr{.kind = Kind::reduce, .fold = fold, .dtype = body.dtype(), .args = {body.id}})};
}

void Builder::output(T stage) {
  TENON_CHECK(stage.tensor >= c_.inputs.size());
  c_.outputs.push_back(static_cast<std::uint32_t>(stage.tensor - c_.inputs.size()));
}

void Builder::place(T stage, std::vector<std::string> pools, std::uint64_t align) {
  TENON_CHECK(stage.tensor >= c_.inputs.size() && std::has_single_bit(align));
  Stage& s = c_.stages[stage.tensor - c_.inputs.size()];
  s.pools = std::move(pools);
  s.align = align;
}

E Builder::imm(DType t, double v) {
  if (!is_float(t)) return imm_int(t, static_cast<std::int64_t>(v));
  return {this, add(Expr{.kind = Kind::imm, .dtype = t, .f = v})};
}

E Builder::imm_int(DType t, std::int64_t v) {
  if (is_float(t)) return imm(t, static_cast<double>(v));
  return {this, add(Expr{.kind = Kind::imm, .dtype = t, .i = wrap(t, v)})};
}

E Builder::load(std::uint32_t tensor, std::span<const E> index) {
  Expr e{.kind = Kind::load, .dtype = c_.dtype_of(tensor), .n = tensor};
  for (E i : index) e.args.push_back(cast(i, DType::i64).id);
  return {this, add(std::move(e))};
}

E Builder::cast(E e, DType t) {
  return e.dtype() == t ? e : scalar(ScalarOp::cast, t, std::span<const E>(&e, 1));
}

namespace {

/// The constant value of an integer or boolean expression.
const std::int64_t* int_imm(const Compute& c, ExprId id) {
  const Expr& e = c.exprs[id];
  return e.kind == Kind::imm && !is_float(e.dtype) ? &e.i : nullptr;
}

/// x + 0, x - 0, x * 1, x / 1, x && true, ... of integers and booleans: the operand that is the
/// result, or `none`.
ExprId identity_operand(const Compute& c, ScalarOp op, ExprId a, ExprId b) {
  const std::int64_t *ka = int_imm(c, a), *kb = int_imm(c, b);
  auto is = [](const std::int64_t* k, std::int64_t v) { return k && *k == v; };
  switch (op) {
    case ScalarOp::add:
      return is(kb, 0) ? a : is(ka, 0) ? b : none;
    case ScalarOp::sub:
      return is(kb, 0) ? a : none;
    case ScalarOp::mul:
      return is(kb, 1) || is(ka, 0) ? a : is(ka, 1) || is(kb, 0) ? b : none;
    case ScalarOp::div:
      return is(kb, 1) ? a : none;
    case ScalarOp::logical_and:
      return is(kb, 1) || is(ka, 0) ? a : is(ka, 1) || is(kb, 0) ? b : none;
    case ScalarOp::logical_or:
      return is(kb, 0) || is(ka, 1) ? a : is(ka, 0) || is(kb, 1) ? b : none;
    default:
      return none;
  }
}

/// x / k < c of integers -> x < c * k, for k > 0, and so on: the condition says what x is.
std::optional<E> compare_of_quotient(Builder& b, ScalarOp op, E quotient, E bound) {
  const Compute& c = b.get();
  const Expr& q = c.exprs[quotient.id];
  const std::int64_t* n = int_imm(c, bound.id);
  if (!n || q.kind != Kind::scalar || q.op != ScalarOp::div || q.dtype != DType::i64)
    return std::nullopt;
  const std::int64_t* k = int_imm(c, q.args[1]);
  std::int64_t from = 0, to = 0;  // [from, to): what x / k = n means
  if (!k || *k <= 0 || __builtin_mul_overflow(*n, *k, &from) ||
      __builtin_add_overflow(from, *k, &to))
    return std::nullopt;
  const E x{&b, q.args[0]};
  switch (op) {
    case ScalarOp::lt:
      return x < from;
    case ScalarOp::le:
      return x < to;
    case ScalarOp::gt:
      return x >= to;
    case ScalarOp::ge:
      return x >= from;
    case ScalarOp::eq:
      return x >= from && x < to;
    default:
      return std::nullopt;
  }
}

}  // namespace

E Builder::scalar(ScalarOp op, DType result, std::span<const E> args) {
  if (op == ScalarOp::select) {
    if (const std::int64_t* cond = int_imm(c_, args[0].id)) return *cond ? args[1] : args[2];
    // Both sides equal: the condition decides nothing, unless it guards a load.
    if (args[1].id == args[2].id && c_.exprs[args[1].id].kind == Kind::imm) return args[1];
  }
  std::vector<std::int64_t> known;
  for (E a : args)
    if (const std::int64_t* k = int_imm(c_, a.id)) known.push_back(*k);
  if (known.size() == args.size() && !is_float(result))
    if (auto v = fold_int(op, args[0].dtype(), result, known)) return imm_int(result, *v);
  if (args.size() == 2 && !is_float(args[0].dtype()))
    if (ExprId same = identity_operand(c_, op, args[0].id, args[1].id); same != none)
      return {this, same};
  if (is_comparison(op))
    if (const auto plain = compare_of_quotient(*this, op, args[0], args[1])) return *plain;
  Expr e{.kind = Kind::scalar, .op = op, .dtype = result};
  for (E a : args) e.args.push_back(a.id);
  return {this, add(std::move(e))};
}

E unary(ScalarOp op, E a) {
  DType t = op == ScalarOp::logical_not || op == ScalarOp::is_nan ? DType::boolean : a.dtype();
  return a.b->scalar(op, t, std::span<const E>(&a, 1));
}

E binary(ScalarOp op, E a, E b) {
  bool logic = is_comparison(op) || op == ScalarOp::logical_and || op == ScalarOp::logical_or;
  const E args[] = {a, b};
  return a.b->scalar(op, logic ? DType::boolean : a.dtype(), args);
}

E select(E cond, E a, E b) {
  const E args[] = {cond, a, b};
  return a.b->scalar(ScalarOp::select, a.dtype(), args);
}

E operator+(E a, std::int64_t k) { return a + a.b->imm_int(a.dtype(), k); }
E operator-(E a, std::int64_t k) { return a - a.b->imm_int(a.dtype(), k); }
E operator*(E a, std::int64_t k) { return a * a.b->imm_int(a.dtype(), k); }
E operator/(E a, std::int64_t k) { return a / a.b->imm_int(a.dtype(), k); }
E operator%(E a, std::int64_t k) { return a % a.b->imm_int(a.dtype(), k); }
E operator<(E a, std::int64_t k) { return a < a.b->imm_int(a.dtype(), k); }
E operator>=(E a, std::int64_t k) { return a >= a.b->imm_int(a.dtype(), k); }

}  // namespace tenon::te
