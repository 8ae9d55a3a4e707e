#include "tenon/kernel.h"

#include <fmt/format.h>

#include <bit>
#include <vector>

#include "tenon/type.h"

namespace tenon::tir {
namespace {

constexpr std::size_t max_nesting = 64;

std::string_view name(Scope s) {
  switch (s) {
    case Scope::input:
      return "input";
    case Scope::output:
      return "output";
    case Scope::shared:
      return "shared";
    case Scope::worker:
      return "worker";
  }
  return "?";
}

/// The laws, in the order of the header. Every function gives the first breach, or "".
class Checker {
 public:
  explicit Checker(const Kernel& k) : k_(k) {}

  std::string run() {
    for (auto part :
         {&Checker::buffers, &Checker::head, &Checker::expressions, &Checker::statements})
      if (std::string why = (this->*part)(); !why.empty()) return why;
    return "";
  }

 private:
  std::string buffers() {
    std::uint32_t arg = 0;
    Scope last = Scope::input;
    for (const Buffer& b : k_.buffers) {
      if (b.scope < last)
        return fmt::format("buffer `{}` ({}) stands after one of scope {}", b.name, name(b.scope),
                           name(last));
      last = b.scope;
      if (!std::has_single_bit(b.align))
        return fmt::format("buffer `{}`: alignment {} is not a power of two", b.name, b.align);
      const std::uint64_t width = bits(b.dtype);
      const auto all = checked_mul(b.elements, width);
      if (!all || *all > UINT64_MAX - 7)
        return fmt::format("buffer `{}`: {} elements pass 64 bits", b.name, b.elements);
      const std::uint64_t bytes = (*all + 7) / 8;
      if (b.scope != Scope::worker) {
        if (b.arg != arg++)
          return fmt::format("buffer `{}` is argument {}, not {}: arguments count up", b.name,
                             b.arg, arg - 1);
        if (b.offset != 0)
          return fmt::format("buffer `{}` has offset {}; only worker scratch has one", b.name,
                             b.offset);
      } else {
        if (b.arg != 0)
          return fmt::format("worker buffer `{}` has argument number {}", b.name, b.arg);
        if (b.offset % b.align != 0)
          return fmt::format("worker buffer `{}`: offset {} is not a multiple of {}", b.name,
                             b.offset, b.align);
        if (b.align > k_.worker_align)
          return fmt::format(
              "worker buffer `{}` asks for alignment {}, the worker's scratch has {}", b.name,
              b.align, k_.worker_align);
        const auto end = checked_add(b.offset, bytes);
        if (!end || *end > k_.worker_bytes)
          return fmt::format(
              "worker buffer `{}`: {} bytes at {} pass the {} bytes of worker scratch", b.name,
              bytes, b.offset, k_.worker_bytes);
      }
    }
    return "";
  }

  std::string head() {
    if (k_.vars.size() < 2) return "variables 0 and 1 (begin and end of the chunk) are missing";
    const Type i64{DType::i64, 1};
    for (std::size_t v = 0; v < k_.vars.size(); ++v) {
      const Type& t = k_.vars[v].type;
      if (t.lanes == 0) return fmt::format("variable `{}` has no lanes", k_.vars[v].name);
      if (v < 2 && t != i64)
        return fmt::format("variable {} is `{}`; begin and end of the chunk are i64", v,
                           k_.vars[v].name);
    }
    if (k_.extent < 0) return fmt::format("extent {} is negative", k_.extent);
    if (k_.grain < 1) return fmt::format("grain {} is less than 1", k_.grain);
    if (!std::has_single_bit(k_.worker_align))
      return fmt::format("alignment {} of worker scratch is not a power of two", k_.worker_align);
    for (const auto& [in, out] : k_.inplace) {
      const Buffer *a = argument(in), *b = argument(out);
      if (a == nullptr || a->scope != Scope::input)
        return fmt::format("in-place pair ({}, {}): {} is not an input", in, out, in);
      if (b == nullptr || b->scope != Scope::output)
        return fmt::format("in-place pair ({}, {}): {} is not an output", in, out, out);
      if (a->elements * bits(a->dtype) != b->elements * bits(b->dtype))
        return fmt::format("in-place pair ({}, {}): `{}` and `{}` differ in size", in, out, a->name,
                           b->name);
    }
    return "";
  }

  const Buffer* argument(std::uint32_t arg) const {
    // Arguments count up from 0 in the order of buffers.
    return arg < k_.buffers.size() && k_.buffers[arg].scope != Scope::worker ? &k_.buffers[arg]
                                                                             : nullptr;
  }

  std::string expressions() {
    for (std::size_t id = 0; id < k_.exprs.size(); ++id) {
      const Expr& e = k_.exprs[id];
      for (ExprId a : e.args)
        if (a >= id) return fmt::format("%e{}: operand %e{} is not defined before it", id, a);
      std::string why = e.type.lanes == 0 ? "has no lanes"
                        : plain(e)        ? expression(e)
                                          : "sets a field that its kind does not use";
      if (!why.empty()) return fmt::format("%e{}: {}", id, why);
    }
    return "";
  }

  /// Fields that the kind does not use have their default.
  static bool plain(const Expr& e) {
    const bool real = e.kind == Kind::imm && is_float(e.type.dtype),
               whole = e.kind == Kind::imm && !real;
    const bool uses_i = whole || e.kind == Kind::ramp || e.kind == Kind::load;
    const bool uses_n = e.kind == Kind::var || e.kind == Kind::load;
    const bool uses_op = e.kind == Kind::scalar || e.kind == Kind::fold_lanes;
    return (uses_op || e.op == ScalarOp::add) && (uses_n || e.n == 0) && (real || e.f == 0) &&
           (uses_i || e.i == 0);
  }

  const Type& type(ExprId id) const { return k_.exprs[id].type; }

  std::string expression(const Expr& e) {
    switch (e.kind) {
      case Kind::imm:
        return !e.args.empty()     ? "a constant has operands"
               : e.type.lanes != 1 ? "a constant has lanes; broadcast it"
                                   : "";
      case Kind::var:
        if (!e.args.empty()) return "a variable has operands";
        if (e.n >= k_.vars.size())
          return fmt::format("variable {} does not exist; there are {}", e.n, k_.vars.size());
        return e.type == k_.vars[e.n].type
                   ? ""
                   : fmt::format("its type is not that of variable `{}`", k_.vars[e.n].name);
      case Kind::load:
        return load(e);
      case Kind::broadcast:
        if (e.args.size() != 1) return "broadcast takes one operand";
        return type(e.args[0]).dtype == e.type.dtype && type(e.args[0]).lanes != 0 &&
                       e.type.lanes % type(e.args[0]).lanes == 0
                   ? ""
                   : "broadcast takes its own element type, in lanes that divide its own";
      case Kind::ramp:
        if (e.args.size() != 1) return "ramp takes one operand";
        return is_int(e.type.dtype) && type(e.args[0]) == Type{e.type.dtype, 1}
                   ? ""
                   : "ramp takes an integer scalar of its own element type";
      case Kind::scalar:
        return scalar(e);
      case Kind::fold_lanes:
        if (e.args.size() != 1) return "fold_lanes takes one operand";
        if (e.op != ScalarOp::add && e.op != ScalarOp::mul && e.op != ScalarOp::min &&
            e.op != ScalarOp::max)
          return "fold_lanes folds with add, mul, min or max";
        return e.type == Type{type(e.args[0]).dtype, 1}
                   ? ""
                   : "fold_lanes gives a scalar of its operand's element type";
      case Kind::dot: {
        if (e.args.size() != 3) return "dot takes three operands";
        const unsigned lanes = 4u * e.type.lanes;
        const auto is = [&](ExprId x, DType t) {
          return type(x).dtype == t && type(x).lanes == lanes;
        };
        return e.type.dtype == DType::i32 && type(e.args[2]) == e.type &&
                       is(e.args[0], DType::u8) && is(e.args[1], DType::i8)
                   ? ""
                   : "dot takes u8 and i8 of four times its lanes, and i32 of its own";
      }
    }
    return "its kind is unknown";
  }

  std::string load(const Expr& e) {
    if (e.args.empty() || e.args.size() > 2) return "load takes an index and perhaps a mask";
    if (e.n >= k_.buffers.size())
      return fmt::format("buffer {} does not exist; there are {}", e.n, k_.buffers.size());
    if (e.type.dtype != k_.buffers[e.n].dtype)
      return fmt::format("it loads another type than buffer `{}` holds", k_.buffers[e.n].name);
    return access(type(e.args[0]), e.type, e.i, e.args.size() == 2 ? &type(e.args[1]) : nullptr);
  }

  /// The laws that load and store share.
  static std::string access(const Type& index, const Type& element, std::int64_t stride,
                            const Type* mask) {
    if (!is_int(index.dtype)) return "the index is not an integer";
    if (index.lanes != 1 && index.lanes != element.lanes)
      return fmt::format("an index of {} lanes for {} elements", index.lanes, element.lanes);
    const bool strided = index.lanes == 1 && element.lanes > 1;
    if (strided ? stride < 1 : stride != 0 && stride != 1)
      return fmt::format("stride {} is {}", stride,
                         strided ? "less than 1" : "given, but not used");
    if (mask != nullptr && *mask != Type{DType::boolean, element.lanes})
      return "the mask is not boolean with one lane per element";
    return "";
  }

  std::string scalar(const Expr& e) {
    const ScalarOp op = e.op;
    if (op > ScalarOp::fma) return "its operation is unknown";
    if (is_transcendental(op))
      return fmt::format("{} must be expanded by the lowering", tenon::name(op));
    if (e.args.size() != arity(op))
      return fmt::format("{} takes {} operands, got {}", tenon::name(op), arity(op), e.args.size());
    const Type& a = type(e.args[0]);
    const auto fails = [&](const char* what) {
      return fmt::format("{}: {}", tenon::name(op), what);
    };
    for (ExprId x : e.args)
      if (type(x).lanes != e.type.lanes) return fails("lanes of operands and result differ");
    if (op == ScalarOp::cast) return "";
    if (op == ScalarOp::bitcast)
      return bits(a.dtype) == bits(e.type.dtype) ? "" : fails("the types differ in width");
    if (op == ScalarOp::select) {
      if (a.dtype != DType::boolean) return fails("the condition is not boolean");
      return type(e.args[1]) == e.type && type(e.args[2]) == e.type
                 ? ""
                 : fails("the operands have other types than the result");
    }
    for (ExprId x : e.args)
      if (type(x) != a) return fails("the types of the operands differ");
    const bool logic =
        op == ScalarOp::logical_not || op == ScalarOp::logical_and || op == ScalarOp::logical_or;
    if (logic && a.dtype != DType::boolean) return fails("the operands are not boolean");
    if (op == ScalarOp::is_nan && !is_float(a.dtype)) return fails("the operand is not a float");
    if (op == ScalarOp::sqrt && !is_float(a.dtype)) return fails("the operand is not a float");
    if (op == ScalarOp::ldexp && (!is_float(a.dtype) || a.dtype == DType::f64))
      return fails("the operands are not floats of at most 32 bits");
    const bool of_bits =
        op == ScalarOp::bit_not || (op >= ScalarOp::bit_and && op <= ScalarOp::shr);
    if (of_bits && is_float(a.dtype)) return fails("the operands are floats");
    const bool gives_bool = logic || op == ScalarOp::is_nan || is_comparison(op);
    return e.type.dtype == (gives_bool ? DType::boolean : a.dtype)
               ? ""
               : fails("the result has another type");
  }

  /// Open list of statements. `owner` = the loop or branch it belongs to (none: the kernel's body).
  struct Frame {
    const std::vector<StmtId>* list = nullptr;
    StmtId owner = none;
    bool in_other = false;
    std::size_t next = 0;
    std::size_t undo = 0;          // assignments that end with this list
    std::vector<VarId> first_arm;  // assigned by the arm before `else`
  };

  std::string statements() {
    placed_.assign(k_.stmts.size(), false);
    assigned_.assign(k_.vars.size(), false);
    assigned_[0] = assigned_[1] = true;
    looping_.assign(k_.vars.size(), false);
    looping_[0] = looping_[1] = true;
    fine_at_.assign(k_.exprs.size(), 0);
    frames_.push_back({&k_.body});
    while (!frames_.empty()) {
      Frame& f = frames_.back();
      if (f.next == f.list->size()) {
        leave();
        continue;
      }
      const StmtId id = (*f.list)[f.next++];
      if (id >= k_.stmts.size())
        return fmt::format("statement {} does not exist; there are {}", id, k_.stmts.size());
      if (placed_[id]) return fmt::format("statement {} stands in two places", id);
      placed_[id] = true;
      if (std::string why = statement(k_.stmts[id], id); !why.empty())
        return fmt::format("statement {}: {}", id, why);
      if (frames_.size() > max_nesting)
        return fmt::format("loops and branches nest deeper than {}", max_nesting);
    }
    for (std::size_t id = 0; id < placed_.size(); ++id)
      if (!placed_[id]) return fmt::format("statement {} stands nowhere", id);
    return "";
  }

  void leave() {
    const Frame f = std::move(frames_.back());
    frames_.pop_back();
    // What a loop or an arm assigns is certain only inside of it; both arms together make it
    // certain.
    std::vector<VarId> made(trail_.begin() + static_cast<std::ptrdiff_t>(f.undo), trail_.end());
    for (VarId v : made) assigned_[v] = false;
    if (!made.empty()) ++epoch_;
    trail_.resize(f.undo);
    if (f.owner == none) return;
    const Stmt& s = k_.stmts[f.owner];
    if (s.kind == StmtKind::loop) {
      looping_[s.target] = false;
    } else if (!f.in_other) {
      frames_.push_back({&s.other, f.owner, true, 0, trail_.size(), std::move(made)});
    } else {
      std::vector<bool> in_first(k_.vars.size(), false);
      for (VarId v : f.first_arm) in_first[v] = true;
      for (VarId v : made)
        if (in_first[v]) assign(v);
    }
  }

  void assign(VarId v) {
    if (assigned_[v]) return;
    assigned_[v] = true;
    trail_.push_back(v);
  }

  std::string statement(const Stmt& s, StmtId id) {
    const bool store = s.kind == StmtKind::store, loop = s.kind == StmtKind::loop,
               branch = s.kind == StmtKind::branch;
    if (s.kind > StmtKind::branch) return "its kind is unknown";
    if ((!store && (s.index != none || s.mask != none || s.stride != 1)) ||
        (!loop && (s.begin != none || s.end != none || s.step != 1)) ||
        (!loop && !branch && !s.body.empty()) || (!branch && !s.other.empty()) ||
        (loop && s.value != none) || (branch && s.target != none))
      return "it sets a field that its kind does not use";
    for (ExprId e : {s.value, s.index, s.mask, s.begin, s.end}) {
      if (e == none) continue;
      if (e >= k_.exprs.size())
        return fmt::format("expression %e{} does not exist; there are {}", e, k_.exprs.size());
      if (const VarId v = first_unset(e); v != none)
        return fmt::format("variable `{}` is read before it is assigned", k_.vars[v].name);
    }
    if (!loop && s.value == none) return "it has no value";
    switch (s.kind) {
      case StmtKind::assign:
        return assignment(s);
      case StmtKind::store:
        return storing(s);
      case StmtKind::loop:
        return looping(s, id);
      case StmtKind::branch:
        if (type(s.value) != Type{DType::boolean, 1})
          return "the condition is not a boolean scalar";
        frames_.push_back({&s.body, id, false, 0, trail_.size(), {}});
        return "";
    }
    return "";
  }

  std::string assignment(const Stmt& s) {
    if (s.target >= k_.vars.size())
      return fmt::format("variable {} does not exist; there are {}", s.target, k_.vars.size());
    const Var& v = k_.vars[s.target];
    if (looping_[s.target])
      return fmt::format("it assigns `{}`, which a loop or the chunk sets", v.name);
    if (type(s.value) != v.type)
      return fmt::format("the value has another type than variable `{}`", v.name);
    assign(s.target);
    return "";
  }

  std::string storing(const Stmt& s) {
    if (s.target >= k_.buffers.size())
      return fmt::format("buffer {} does not exist; there are {}", s.target, k_.buffers.size());
    const Buffer& b = k_.buffers[s.target];
    if (b.scope == Scope::input) return fmt::format("it writes input `{}`", b.name);
    if (s.index == none) return "it has no index";
    if (type(s.value).dtype != b.dtype)
      return fmt::format("the value has another type than buffer `{}` holds", b.name);
    return access(type(s.index), type(s.value), s.stride, s.mask == none ? nullptr : &type(s.mask));
  }

  std::string looping(const Stmt& s, StmtId id) {
    const Type i64{DType::i64, 1};
    if (s.target >= k_.vars.size())
      return fmt::format("variable {} does not exist; there are {}", s.target, k_.vars.size());
    if (k_.vars[s.target].type != i64)
      return fmt::format("loop variable `{}` is not i64", k_.vars[s.target].name);
    if (looping_[s.target])
      return fmt::format("`{}` is already set by a loop or the chunk", k_.vars[s.target].name);
    if (s.step <= 0) return fmt::format("step {} is not positive", s.step);
    if (s.begin == none || s.end == none) return "a bound of the loop is missing";
    if (type(s.begin) != i64 || type(s.end) != i64) return "a bound of the loop is not i64";
    frames_.push_back({&s.body, id, false, 0, trail_.size(), {}});
    looping_[s.target] = true;
    assign(s.target);
    return "";
  }

  /// A variable that `root` reads and that is not assigned here; none when there is none. An
  /// expression that was found fine is not looked at again while no variable has lost its value;
  /// its operands are found through their own mark.
  VarId first_unset(ExprId root) {
    std::vector<ExprId> stack{root};
    while (!stack.empty()) {
      const ExprId id = stack.back();
      stack.pop_back();
      if (fine_at_[id] == epoch_) continue;
      fine_at_[id] = epoch_;
      const Expr& e = k_.exprs[id];
      if (e.kind == Kind::var && !assigned_[e.n]) return e.n;
      stack.insert(stack.end(), e.args.begin(), e.args.end());
    }
    return none;
  }

  const Kernel& k_;
  std::vector<bool> placed_, assigned_, looping_;
  std::vector<VarId> trail_;            // assigned variables, in order
  std::vector<std::uint64_t> fine_at_;  // per expression: epoch in which all it reads was assigned
  std::uint64_t epoch_ = 1;             // grows whenever a variable loses its value
  std::vector<Frame> frames_;
};

}  // namespace

std::uint32_t Kernel::count(Scope s) const {
  std::uint32_t n = 0;
  for (const Buffer& b : buffers) n += b.scope == s;
  return n;
}

std::string check(const Kernel& k) { return Checker(k).run(); }

}  // namespace tenon::tir
