#include <fmt/format.h>

#include <map>
#include <tuple>

#include "core/ir/kernel_order.h"
#include "core/text/token.h"
#include "core/text/write.h"
#include "core/text/write_expr.h"

namespace tenon::text {
namespace {

using tir::Kernel;
using tir::Kind;
using tir::StmtKind;

std::vector<Shape> shapes_of(const Kernel& k) {
  std::map<std::tuple<Kind, DType, unsigned, std::uint32_t, std::uint64_t, std::int64_t>, bool>
      seen;
  std::vector<Shape> out;
  for (const tir::Expr& e : k.exprs) {
    const bool leaf = (e.kind == Kind::imm || e.kind == Kind::var) && e.args.empty();
    const bool first = !leaf || seen.try_emplace({e.kind, e.type.dtype, e.type.lanes, e.n,
                                                  std::bit_cast<std::uint64_t>(e.f), e.i},
                                                 true)
                                    .second;
    out.push_back({e.args, leaf, first});
  }
  return out;
}

std::vector<ExprId> roots_of(const Kernel& k) {
  std::vector<ExprId> out;
  for (const tir::Stmt& s : k.stmts)
    for (ExprId e : tir::slots(s)) out.push_back(e);
  return out;
}

class KernelWriter final : ExprWriter {
 public:
  KernelWriter(std::string& out, const Kernel& k)
      : ExprWriter(out, shapes_of(k), roots_of(k)), k_(k) {
    for (const tir::Var& v : k.vars) vars_.push_back(v.name);
    for (const tir::Buffer& b : k.buffers) buffers_.push_back(b.name);
    bare_vars_ = bare_names(vars_);
    bare_buffers_ = bare_names(buffers_);
  }

  void run(const KernelFunction* f) {
    out_ += "kernel " + at_name(k_.symbol);
    if (f != nullptr)
      out_ += fmt::format(" compute {} target {} uses {}", at_name(f->compute), quoted(f->target),
                          f->uses);
    out_ += " {\n";
    head();
    body();
    rest("  ");
    out_ += "}\n";
  }

 private:
  void head() {
    out_ += fmt::format("  range {} grain {} work {}\n", k_.extent, k_.grain, k_.work);
    if (k_.worker_bytes != 0 || k_.worker_align != 64)
      out_ += fmt::format("  worker {} align {}\n", k_.worker_bytes, k_.worker_align);
    for (std::size_t n = 0; n < k_.buffers.size(); ++n) buffer(n, k_.buffers[n]);
    for (const auto& [in, out] : k_.inplace) out_ += fmt::format("  inplace {} -> {}\n", in, out);
    for (std::size_t n = 0; n < k_.vars.size(); ++n) {
      out_ += fmt::format("  var ${} {}: ", n, quoted(k_.vars[n].name));
      put_element(out_, k_.vars[n].type.dtype, k_.vars[n].type.lanes);
      out_ += "\n";
    }
  }

  void buffer(std::size_t n, const tir::Buffer& b) {
    static constexpr std::string_view scopes[] = {"input", "output", "shared", "worker"};
    const bool worker = b.scope == tir::Scope::worker;
    out_ += fmt::format("  buffer %{} {}: {}[{}] {}", n, quoted(b.name), name(b.dtype), b.elements,
                        scopes[static_cast<std::size_t>(b.scope)]);
    if (!worker || b.arg != 0) out_ += fmt::format(" {}", b.arg);
    if (worker || b.offset != 0) out_ += fmt::format(" at {}", b.offset);
    if (b.align != 64) out_ += fmt::format(" align {}", b.align);
    out_ += "\n";
  }

  /// Open list of statements of `owner`.
  struct Frame {
    const std::vector<tir::StmtId>* list = nullptr;
    const tir::Stmt* owner = nullptr;
    bool in_other = false;
    std::size_t next = 0;
  };

  std::string indent() const { return std::string(frames_.size() * 2, ' '); }

  void body() {
    labelled_ = !tir::statements_in_order(k_);
    std::vector<char> written(k_.stmts.size());
    frames_.push_back({&k_.body});
    while (!frames_.empty()) {
      Frame& f = frames_.back();
      if (f.next == f.list->size()) {
        close();
        continue;
      }
      const tir::StmtId id = (*f.list)[f.next++];
      if (id >= k_.stmts.size() || written[id]) {  // breaks the laws, which the reader reports
        out_ +=
            fmt::format("{}#{}: {}\n", indent(), id, id >= k_.stmts.size() ? "missing" : "again");
        continue;
      }
      written[id] = 1;
      statement(id);
    }
  }

  void close() {
    const Frame f = frames_.back();
    frames_.pop_back();
    if (f.owner == nullptr) return;
    if (f.owner->kind == StmtKind::branch && !f.in_other && !f.owner->other.empty()) {
      out_ += indent() + "} else {\n";
      frames_.push_back({&f.owner->other, f.owner, true});
    } else {
      out_ += indent() + "}\n";
    }
  }

  void statement(tir::StmtId id) {
    const tir::Stmt& s = k_.stmts[id];
    const std::vector<ExprId> roots = tir::slots(s);
    const std::string in = indent();
    lines_before(roots, in);
    out_ += in;
    if (labelled_) out_ += fmt::format("#{}: ", id);
    switch (s.kind) {
      case StmtKind::assign:
        out_ += var(s.target) + " = ";
        slot(s.value);
        break;
      case StmtKind::store:
        out_ += buffer_name(s.target) + "[";
        slot(s.index);
        if (s.stride != 1) out_ += fmt::format(" by {}", s.stride);
        if (s.mask != tir::none) {
          out_ += " if ";
          slot(s.mask);
        }
        out_ += "] = ";
        slot(s.value);
        break;
      case StmtKind::loop:
        out_ += "for " + var(s.target) + " = ";
        slot(s.begin);
        out_ += " to ";
        slot(s.end);
        if (s.step != 1) out_ += fmt::format(" step {}", s.step);
        break;
      case StmtKind::branch:
        out_ += "if ";
        slot(s.value);
        break;
    }
    const bool block = s.kind == StmtKind::loop || s.kind == StmtKind::branch;
    out_ += block ? " {\n" : "\n";
    if (block) frames_.push_back({&s.body, &s});
  }

  std::string var(std::uint32_t n) const {
    return n < vars_.size() && bare_vars_[n] ? vars_[n] : fmt::format("${}", n);
  }
  std::string buffer_name(std::uint32_t n) const {
    return n < buffers_.size() && bare_buffers_[n] ? buffers_[n] : fmt::format("%{}", n);
  }

  void expr(ExprId id, int strength) override {
    const tir::Expr& e = k_.exprs[id];
    switch (e.kind) {
      case Kind::imm:
        return immediate(e.type, e.f, e.i);
      case Kind::var:
        out_ += var(e.n);
        return suffix(e.type, e.n >= k_.vars.size() || e.type != k_.vars[e.n].type);
      case Kind::load:
        return load(e);
      case Kind::broadcast:
        out_ += fmt::format("broadcast<{}>", e.type.lanes);
        call("", e.args);
        return suffix(e.type, e.args.empty() || type_of(e.args[0]).dtype != e.type.dtype);
      case Kind::ramp:
        out_ += fmt::format("ramp<{}>(", e.type.lanes);
        if (!e.args.empty()) operand(e.args[0]);
        out_ += fmt::format(" by {})", e.i);
        return suffix(e.type, e.args.empty() || type_of(e.args[0]).dtype != e.type.dtype);
      case Kind::scalar:
        return scalar(e.op, e.args, e.type, strength);
      case Kind::fold_lanes:
        out_ += fmt::format("fold<{}>", name(e.op));
        call("", e.args);
        return suffix(e.type, e.args.empty() || tir::Type{type_of(e.args[0]).dtype, 1} != e.type);
      case Kind::dot:
        call("dot", e.args);
        return suffix(e.type, e.args.empty() || type_of(e.args.back()) != e.type);
    }
  }

  void load(const tir::Expr& e) {
    out_ += buffer_name(e.n) + "[";
    if (!e.args.empty()) operand(e.args[0]);
    const unsigned lanes = e.args.empty() ? 1 : type_of(e.args[0]).lanes;
    if (e.type.lanes != lanes) out_ += fmt::format("; {}", e.type.lanes);
    if (e.i != 1) out_ += fmt::format(" by {}", e.i);
    if (e.args.size() > 1) {
      out_ += " if ";
      operand(e.args[1]);
    }
    out_ += "]";
    suffix(e.type, e.n >= k_.buffers.size() || k_.buffers[e.n].dtype != e.type.dtype);
  }

  tir::Type type_of(ExprId id) const override {
    return id < k_.exprs.size() ? k_.exprs[id].type : tir::Type{};
  }

  const Kernel& k_;
  std::vector<std::string> vars_, buffers_;
  std::vector<bool> bare_vars_, bare_buffers_;
  std::vector<Frame> frames_;
  bool labelled_ = false;
};

}  // namespace

void put_kernel(std::string& out, const tir::Kernel& k, const KernelFunction* f) {
  KernelWriter(out, k).run(f);
}

void put_plan(std::string& out, const StoragePlan& p) {
  out += fmt::format("plan {} {} request {} {{\n", quoted(p.planner), quoted(p.version),
                     quoted(p.request_hash));
  for (const auto& [key, value] : p.options)
    out += fmt::format("  option {} = {}\n", quoted(key), quoted(value));
  for (const PoolUse& u : p.pools)
    out += fmt::format("  pool peak {} bound {} step {}\n", u.peak, u.bound, u.peak_step);
  for (const Slot& s : p.slots) out += fmt::format("  slot {} at {}\n", s.pool, s.offset);
  out +=
      fmt::format("  cost {} optimal {} reproducible {}\n}}\n", p.cost, p.optimal, p.reproducible);
}

}  // namespace tenon::text
