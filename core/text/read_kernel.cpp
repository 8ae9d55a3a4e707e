#include <fmt/format.h>

#include "core/text/read_expr.h"
#include "tenon/storage.h"

namespace tenon::text {
namespace {

using tir::Kernel;
using tir::Stmt;
using tir::StmtKind;

class KernelReader final : ExprReader {
 public:
  explicit KernelReader(Reader& r) : ExprReader(r) {}

  KernelFunction run() {
    KernelFunction f;
    r_.expect_word("kernel", "at the start of a kernel");
    k_.symbol = r_.name_after_at("the symbol of the kernel");
    if (r_.accept_word("compute")) {
      f.compute = r_.name_after_at("the compute function of the kernel");
      r_.expect_word("target", "after the compute function");
      f.target = r_.string("the target");
      r_.expect_word("uses", "after the target");
      f.uses = r_.natural32("the number of uses");
    }
    r_.expect("{", "before the kernel");
    head();
    k_.body = statements();
    if (r_.errors().empty()) check_numbers();
    f.kernel = std::move(k_);
    return f;
  }

 private:
  void head() {
    r_.expect_word("range", "and the extent of the parallel range");
    k_.extent = r_.integer("the extent");
    r_.expect_word("grain", "after the extent");
    k_.grain = r_.integer("the grain");
    r_.expect_word("work", "after the grain");
    k_.work = r_.natural("the work");
    if (r_.accept_word("worker")) {
      k_.worker_bytes = r_.natural("the bytes of worker scratch");
      r_.expect_word("align", "after the bytes of worker scratch");
      k_.worker_align = r_.natural("the alignment");
    }
    while (r_.accept_word("buffer")) buffer();
    while (r_.accept_word("inplace")) {
      const std::uint32_t in = r_.natural32("an argument");
      r_.expect("->", "between the arguments");
      k_.inplace.emplace_back(in, r_.natural32("an argument"));
    }
    while (r_.accept_word("var")) var();
  }

  tir::Scope scope() {
    static constexpr std::string_view names[] = {"input", "output", "shared", "worker"};
    for (std::uint8_t s = 0; s < 4; ++s)
      if (r_.accept_word(names[s])) return static_cast<tir::Scope>(s);
    r_.unexpected("a scope: input, output, shared or worker");
  }

  DType element() {
    const auto t = r_.peek().kind == Tok::word ? dtype_of(r_.peek().raw) : std::nullopt;
    if (!t) r_.unexpected("the type of an element");
    r_.take();
    return *t;
  }

  /// Something is introduced whose number must be the next.
  void numbered(Tok kind, std::size_t next, const char* what) {
    const Token& t = r_.peek();
    if (r_.index(kind, what) != next)
      r_.fail(t, code::unknown, fmt::format("{}s count up: this one has number {}", what, next));
  }

  void buffer() {
    tir::Buffer b;
    numbered(Tok::percent, k_.buffers.size(), "buffer");
    b.name = r_.string("the name of the buffer");
    r_.expect(":", "and the type of the buffer");
    b.dtype = element();
    r_.expect("[", "before the number of elements");
    b.elements = r_.natural("a number of elements");
    r_.expect("]", "after the number of elements");
    b.scope = scope();
    if (b.scope != tir::Scope::worker || r_.peek().kind == Tok::integer)
      b.arg = r_.natural32("the number of the argument");
    if (r_.accept_word("at")) b.offset = r_.natural("an offset in bytes");
    if (r_.accept_word("align")) b.align = r_.natural("an alignment in bytes");
    buffers_.try_emplace(b.name, static_cast<std::uint32_t>(k_.buffers.size()));
    k_.buffers.push_back(std::move(b));
  }

  void var() {
    tir::Var v;
    numbered(Tok::dollar, k_.vars.size(), "variable");
    v.name = r_.string("the name of the variable");
    if (!r_.peek().is(":")) r_.unexpected("`:` and the type of the variable");
    v.type = suffix({});
    vars_.try_emplace(v.name, static_cast<std::uint32_t>(k_.vars.size()));
    k_.vars.push_back(std::move(v));
  }

  // ---- statements

  /// Up to and with the closing brace.
  std::vector<tir::StmtId> statements() {
    const Reader::Deeper deeper(r_);
    std::vector<tir::StmtId> out;
    while (!r_.accept("}")) {
      if (r_.at_end()) r_.unexpected("`}` after the statements");
      if (r_.full()) throw Abandon{};
      const std::size_t start = r_.mark();
      try {
        if (at_line())
          line();
        else
          out.push_back(statement());
      } catch (Abandon) {
        lose_line(start);
        r_.resync(start);
        if (r_.mark() == start) r_.take();
      }
    }
    return out;
  }

  tir::StmtId statement() {
    const Token& first = r_.peek();
    std::uint32_t label = tir::none;
    if (first.kind == Tok::hash) {
      label = r_.index(Tok::hash, "the number of a statement");
      r_.expect(":", "after the number of a statement");
    }
    Stmt s;
    if (r_.accept_word("for"))
      loop(s);
    else if (r_.accept_word("if"))
      branch(s);
    else if (r_.peek(1).is("["))
      store(s);
    else
      assign(s);
    const auto id = label != tir::none ? label : static_cast<std::uint32_t>(k_.stmts.size());
    numbers_.push_back({id, label != tir::none, &first});
    k_.stmts.push_back(std::move(s));
    return id;
  }

  void assign(Stmt& s) {
    s.target = var_number("a statement");
    r_.expect("=", "after the variable");
    s.value = expr();
  }

  void store(Stmt& s) {
    s.kind = StmtKind::store;
    s.target = buffer_number();
    r_.expect("[", "before the index");
    s.index = expr();
    if (r_.accept_word("by")) s.stride = r_.integer("a stride");
    if (r_.accept_word("if")) s.mask = expr();
    r_.expect("]", "after the index");
    r_.expect("=", "and the value to store");
    s.value = expr();
  }

  void loop(Stmt& s) {
    s.kind = StmtKind::loop;
    s.target = var_number("a loop variable");
    r_.expect("=", "after the loop variable");
    s.begin = expr();
    r_.expect_word("to", "and the end of the loop");
    s.end = expr();
    if (r_.accept_word("step")) s.step = r_.integer("a step");
    r_.expect("{", "before the body of the loop");
    s.body = statements();
  }

  void branch(Stmt& s) {
    s.kind = StmtKind::branch;
    s.value = expr();
    r_.expect("{", "before the statements");
    s.body = statements();
    if (!r_.accept_word("else")) return;
    r_.expect("{", "before the statements");
    s.other = statements();
  }

  std::uint32_t var_number(std::string_view what) {
    const Token& t = r_.peek();
    if (t.kind == Tok::dollar) {
      const std::uint32_t n = r_.index(Tok::dollar, "a variable");
      if (n >= k_.vars.size())
        r_.fail(t, code::unknown, fmt::format("there is no variable ${}", n));
      return n;
    }
    if (t.kind != Tok::word) r_.unexpected(what);
    const auto it = vars_.find(r_.take().raw);
    if (it == vars_.end())
      r_.fail(t, code::unknown, fmt::format("there is no variable `{}`", t.raw));
    return it->second;
  }

  std::uint32_t buffer_number() {
    const Token& t = r_.peek();
    if (t.kind == Tok::percent) {
      const std::uint32_t n = r_.index(Tok::percent, "a buffer, like %0");
      if (n >= k_.buffers.size())
        r_.fail(t, code::unknown, fmt::format("there is no buffer %{}", n));
      return n;
    }
    if (t.kind != Tok::word) r_.unexpected("a buffer");
    const auto it = buffers_.find(r_.take().raw);
    if (it == buffers_.end())
      r_.fail(t, code::unknown, fmt::format("there is no buffer `{}`", t.raw));
    return it->second;
  }

  /// Statements got their numbers from labels: puts them in their places.
  void check_numbers() {
    std::vector<Stmt> ordered(k_.stmts.size());
    std::vector<bool> seen(k_.stmts.size());
    for (std::size_t k = 0; k < numbers_.size(); ++k) {
      const Number& n = numbers_[k];
      if (n.id >= seen.size() || seen[n.id] || n.labelled != numbers_[0].labelled)
        r_.fail(
            *n.token, code::twice,
            fmt::format("statement number {} is taken, past the last, or not given to all", n.id));
      seen[n.id] = true;
      ordered[n.id] = std::move(k_.stmts[k]);
    }
    k_.stmts = std::move(ordered);
  }

  // ---- expressions

  ExprId special() override {
    const Token& t = r_.peek();
    if (t.is_word("broadcast")) return broadcast();
    if (t.is_word("ramp")) return ramp();
    if (t.is_word("fold")) return fold();
    if (t.is_word("dot")) return dot();
    if (r_.peek(1).is("[")) return load();
    const std::uint32_t n = var_number("an expression");
    return leaf(static_cast<std::uint32_t>(tir::Kind::var), suffix(k_.vars[n].type), n, 0, 0);
  }

  ExprId broadcast() {
    r_.take();
    const std::uint16_t lanes = lanes_in_angles();
    r_.expect("(", "before the operand");
    std::vector<ExprId> a = args(")");
    const tir::Type t = suffix({a.empty() ? DType::f32 : type_of(a[0]).dtype, lanes});
    return add({.kind = tir::Kind::broadcast, .type = t, .args = std::move(a)});
  }

  ExprId ramp() {
    r_.take();
    const std::uint16_t lanes = lanes_in_angles();
    r_.expect("(", "before the operand");
    const ExprId base = expr();
    r_.expect_word("by", "and the step between lanes");
    const std::int64_t step = r_.integer("the step between lanes");
    r_.expect(")", "after the step");
    return add({.kind = tir::Kind::ramp,
                .type = suffix({type_of(base).dtype, lanes}),
                .i = step,
                .args = {base}});
  }

  ExprId fold() {
    const Token& t = r_.take();
    const auto op = scalar_op_of(word_in_angles("an operation"));
    if (!op) r_.fail(t, code::unknown, "there is no such operation to fold with");
    r_.expect("(", "before the operand");
    std::vector<ExprId> a = args(")");
    const tir::Type type = suffix({a.empty() ? DType::f32 : type_of(a[0]).dtype, 1});
    return add({.kind = tir::Kind::fold_lanes, .op = *op, .type = type, .args = std::move(a)});
  }

  ExprId dot() {
    r_.take();
    r_.expect("(", "before the operands");
    std::vector<ExprId> a = args(")");
    const tir::Type type = suffix(a.empty() ? tir::Type{DType::i32, 1} : type_of(a.back()));
    return add({.kind = tir::Kind::dot, .type = type, .args = std::move(a)});
  }

  ExprId load() {
    tir::Expr e{.kind = tir::Kind::load, .n = buffer_number(), .i = 1};
    r_.expect("[", "before the index");
    e.args.push_back(expr());
    e.type = {k_.buffers[e.n].dtype, type_of(e.args[0]).lanes};
    if (r_.accept(";")) {
      const Token& t = r_.peek();
      const std::uint64_t lanes = r_.natural("a number of lanes");
      if (lanes > UINT16_MAX) r_.fail(t, code::number, fmt::format("{} lanes are too many", lanes));
      e.type.lanes = static_cast<std::uint16_t>(lanes);
    }
    if (r_.accept_word("by")) e.i = r_.integer("a stride");
    if (r_.accept_word("if")) e.args.push_back(expr());
    r_.expect("]", "after the index");
    e.type = suffix(e.type);
    return add(std::move(e));
  }

  ExprId add(tir::Expr e) {
    k_.exprs.push_back(std::move(e));
    return count() - 1;
  }
  ExprId add_leaf(std::uint32_t kind, const tir::Type& t, std::uint32_t n, double f,
                  std::int64_t i) override {
    return add({.kind = static_cast<tir::Kind>(kind), .type = t, .n = n, .f = f, .i = i});
  }
  ExprId add_scalar(ScalarOp op, const tir::Type& t, std::vector<ExprId> a) override {
    return add({.kind = tir::Kind::scalar, .op = op, .type = t, .args = std::move(a)});
  }
  ExprId add_copy(ExprId id) override { return add(tir::Expr(k_.exprs[id])); }
  tir::Type type_of(ExprId id) const override { return k_.exprs[id].type; }
  void set_type(ExprId id, const tir::Type& t) override { k_.exprs[id].type = t; }
  ExprId count() const override { return static_cast<ExprId>(k_.exprs.size()); }

  struct Number {
    tir::StmtId id;
    bool labelled;
    const Token* token;
  };
  Kernel k_;
  std::map<std::string, std::uint32_t, std::less<>> vars_, buffers_;
  std::vector<Number> numbers_;
};

}  // namespace

KernelFunction read_kernel(Reader& r) { return KernelReader(r).run(); }

StoragePlan read_plan(Reader& r) {
  StoragePlan p;
  const auto flag = [&](std::string_view what) {
    r.expect_word(what, "of the plan");
    if (!r.peek().is_word("true") && !r.peek().is_word("false")) r.unexpected("true or false");
    return r.take().raw == "true";
  };
  r.expect_word("plan", "at the start of a plan");
  p.planner = r.string("the planner");
  p.version = r.string("its version");
  r.expect_word("request", "after the version");
  p.request_hash = r.string("the hash of the request");
  r.expect("{", "before the plan");
  while (r.accept_word("option")) {
    std::string key = r.string("an option");
    r.expect("=", "after an option");
    p.options[std::move(key)] = r.string("the value of an option");
  }
  while (r.accept_word("pool")) {
    PoolUse u;
    r.expect_word("peak", "of the pool");
    u.peak = r.natural("a peak");
    r.expect_word("bound", "of the pool");
    u.bound = r.natural("a bound");
    r.expect_word("step", "of the peak");
    u.peak_step = r.natural32("a step");
    p.pools.push_back(u);
  }
  while (r.accept_word("slot")) {
    const std::uint32_t pool = r.natural32("a pool");
    r.expect_word("at", "and the offset");
    p.slots.push_back({pool, r.natural("an offset")});
  }
  r.expect_word("cost", "of the plan");
  p.cost = r.natural("a cost");
  p.optimal = flag("optimal");
  p.reproducible = flag("reproducible");
  r.expect("}", "after the plan");
  return p;
}

}  // namespace tenon::text
