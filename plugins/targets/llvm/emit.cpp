#include "emit.h"

#include <llvm/IR/IRBuilder.h>

#include <algorithm>
#include <initializer_list>

#include "cpu.h"
#include "memory_ops.h"
#include "scalar_ops.h"
#include "types.h"

namespace tenon::llvm_target {
namespace {

CpuTraits traits_of(const TargetFacts& f) {
  return {.sse41 = f.has("sse4.1"),
          .fma = f.has("fma"),
          .f16c = f.has("f16c"),
          .wide = f.has("avx512f") && f.vector_bytes >= 64,
          .vnni = f.multiplies_bytes() && f.has("avx512vl")};
}

/// "+avx,+avx2". The CPU is always plain x86-64, so that only what the facts list can be used.
std::string feature_string(const TargetFacts& f) {
  std::string out;
  for (std::size_t at = 0; at < f.features.size();) {
    const std::size_t comma = std::min(f.features.find(',', at), f.features.size());
    out += (out.empty() ? "+" : ",+") + f.features.substr(at, comma - at);
    at = comma + 1;
  }
  return out;
}

class KernelEmitter {
 public:
  KernelEmitter(const tir::Kernel& k, const TargetFacts& facts, llvm::Module& m)
      : k_(k),
        facts_(facts),
        m_(m),
        b_(m.getContext()),
        ops_(b_, traits_of(facts)),
        mem_(b_),
        memo_(k.exprs.size()) {}

  void run() {
    llvm::Function* body = make_body();
    make_entry(body);
  }

 private:
  using V = llvm::Value*;

  std::uint32_t n_args() const {
    return static_cast<std::uint32_t>(
        std::count_if(k_.buffers.begin(), k_.buffers.end(),
                      [](auto& b) { return b.scope != tir::Scope::worker; }));
  }

  llvm::Function* make_function(llvm::FunctionType* type, llvm::StringRef name, bool exported) {
    auto* f = llvm::Function::Create(
        type, exported ? llvm::Function::ExternalLinkage : llvm::Function::InternalLinkage, name,
        m_);
    f->setDoesNotThrow();
    f->addFnAttr("target-cpu", "x86-64");
    f->addFnAttr("tune-cpu",
                 llvm::StringRef(facts_.cpu).starts_with("x86-64") ? "generic" : facts_.cpu);
    f->addFnAttr("target-features", feature_string(facts_));
    f->addFnAttr("no-builtins");
    // Vectors stand as written: without these two a 512-bit one would be split on CPUs tuned for
    // 256 bits.
    f->addFnAttr("prefer-vector-width", std::to_string(facts_.vector_bytes * 8));
    f->addFnAttr("min-legal-vector-width", std::to_string(facts_.vector_bytes * 8));
    return f;
  }

  // i32 body(buffers..., worker, begin, end): a function of its own so that what is known of each
  // buffer (noalias, alignment, size) can be said of a parameter.
  llvm::Function* make_body() {
    llvm::SmallVector<llvm::Type*, 8> params(n_args() + 1, b_.getPtrTy());
    params.append(2, b_.getInt64Ty());
    auto* f = make_function(llvm::FunctionType::get(b_.getInt32Ty(), params, false),
                            k_.symbol + ".body", false);
    f->addFnAttr(llvm::Attribute::NoInline);
    bases_.resize(k_.buffers.size());
    llvm::Argument* worker = f->getArg(n_args());
    b_.SetInsertPoint(llvm::BasicBlock::Create(m_.getContext(), "entry", f));
    for (std::size_t i = 0; i < k_.buffers.size(); ++i) {
      const tir::Buffer& buf = k_.buffers[i];
      if (buf.scope == tir::Scope::worker) {
        bases_[i] = b_.CreateConstInBoundsGEP1_64(b_.getInt8Ty(), worker, buf.offset);
        continue;
      }
      bases_[i] = f->getArg(buf.arg);
      describe(*f->getArg(buf.arg), buf);
    }
    if (k_.worker_bytes > 0) {
      worker->addAttr(llvm::Attribute::NoAlias);
      worker->addAttr(
          llvm::Attribute::getWithAlignment(m_.getContext(), llvm::Align(k_.worker_align)));
      worker->addAttr(
          llvm::Attribute::getWithDereferenceableBytes(m_.getContext(), k_.worker_bytes));
    }
    for (const tir::Var& v : k_.vars)
      vars_.push_back(b_.CreateAlloca(register_type(m_.getContext(), v.type)));
    b_.CreateStore(f->getArg(n_args() + 1), vars_[0]);
    b_.CreateStore(f->getArg(n_args() + 2), vars_[1]);
    statements(k_.body);
    b_.CreateRet(b_.getInt32(0));
    return f;
  }

  void describe(llvm::Argument& arg, const tir::Buffer& buf) {
    llvm::LLVMContext& c = m_.getContext();
    const bool paired = std::any_of(k_.inplace.begin(), k_.inplace.end(), [&](auto& p) {
      return p.first == buf.arg || p.second == buf.arg;
    });
    if (!paired) arg.addAttr(llvm::Attribute::NoAlias);
    if (buf.scope == tir::Scope::input) arg.addAttr(llvm::Attribute::ReadOnly);
    arg.addAttr(llvm::Attribute::getWithAlignment(c, llvm::Align(buf.align)));
    if (const auto bytes = checked_mul(buf.elements, element_bytes(buf.dtype)); bytes && *bytes > 0)
      arg.addAttr(llvm::Attribute::getWithDereferenceableBytes(c, *bytes));
  }

  void make_entry(llvm::Function* body) {
    llvm::Type* p = b_.getPtrTy();
    llvm::Type* i = b_.getInt64Ty();
    auto* f = make_function(llvm::FunctionType::get(b_.getInt32Ty(), {p, p, p, i, i}, false),
                            k_.symbol, true);
    b_.SetInsertPoint(llvm::BasicBlock::Create(m_.getContext(), "entry", f));
    llvm::SmallVector<V, 8> args;
    for (std::uint32_t a = 0; a < n_args(); ++a)
      args.push_back(b_.CreateLoad(p, b_.CreateConstInBoundsGEP1_32(p, f->getArg(0), a)));
    for (unsigned a = 2; a < 5; ++a) args.push_back(f->getArg(a));
    b_.CreateRet(b_.CreateCall(body, args));
  }

  // --- expressions
  // --------------------------------------------------------------------------------

  /// Evaluates the roots at this point of the code. Shared subexpressions of one statement are
  /// computed once; those of several statements are left to early-cse, which knows about the stores
  /// between them.
  void evaluate(std::initializer_list<tir::ExprId> roots) {
    for (tir::ExprId id : order_) memo_[id] = nullptr;
    order_.clear();
    std::vector<tir::ExprId> todo;
    for (tir::ExprId r : roots)
      if (r != tir::none) todo.push_back(r);
    std::vector<bool>& seen = seen_;
    seen.resize(k_.exprs.size());
    while (!todo.empty()) {
      const tir::ExprId id = todo.back();
      todo.pop_back();
      if (seen[id]) continue;
      seen[id] = true;
      order_.push_back(id);
      for (tir::ExprId a : k_.exprs[id].args) todo.push_back(a);
    }
    std::sort(order_.begin(), order_.end());  // operands have smaller ids
    for (tir::ExprId id : order_) {
      memo_[id] = expression(k_.exprs[id]);
      seen[id] = false;
    }
  }

  V expression(const tir::Expr& e) {
    switch (e.kind) {
      case tir::Kind::imm:
        return ops_.constant(e.type.dtype, e.f, e.i);
      case tir::Kind::var:
        return b_.CreateLoad(register_type(m_.getContext(), e.type), vars_[e.n]);
      case tir::Kind::load:
        return mem_.load(e.type, bases_[e.n], memo_[e.args[0]], k_.exprs[e.args[0]].type.dtype,
                         std::max<std::int64_t>(e.i, 1),
                         e.args.size() > 1 ? memo_[e.args[1]] : nullptr);
      case tir::Kind::broadcast:
        return broadcast(e);
      case tir::Kind::ramp:
        return ramp(e);
      case tir::Kind::scalar: {
        llvm::SmallVector<V, 3> args;
        for (tir::ExprId a : e.args) args.push_back(memo_[a]);
        return ops_.emit(e.op, k_.exprs[e.args.back()].type, e.type, {args.data(), args.size()});
      }
      case tir::Kind::fold_lanes:
        return fold(e);
      case tir::Kind::dot:
        return ops_.dot(memo_[e.args[0]], memo_[e.args[1]], memo_[e.args[2]]);
    }
    TENON_BUG("unknown kind of expression");
  }

  V broadcast(const tir::Expr& e) {
    const V part = memo_[e.args[0]];
    const unsigned lanes = k_.exprs[e.args[0]].type.lanes;
    if (lanes == e.type.lanes) return part;
    if (lanes == 1) return b_.CreateVectorSplat(e.type.lanes, part);
    llvm::SmallVector<int, 64> which(e.type.lanes);
    for (unsigned l = 0; l < e.type.lanes; ++l) which[l] = static_cast<int>(l % lanes);
    return b_.CreateShuffleVector(part, which);
  }

  V ramp(const tir::Expr& e) {
    if (e.type.lanes == 1) return memo_[e.args[0]];
    llvm::Type* element = register_type(m_.getContext(), e.type.dtype);
    llvm::SmallVector<llvm::Constant*, 16> steps;
    for (std::uint64_t l = 0; l < e.type.lanes; ++l)
      steps.push_back(llvm::ConstantInt::get(element, l * static_cast<std::uint64_t>(e.i)));
    return b_.CreateAdd(b_.CreateVectorSplat(e.type.lanes, memo_[e.args[0]]),
                        llvm::ConstantVector::get(steps));
  }

  V fold(const tir::Expr& e) {
    V all = memo_[e.args[0]];
    int n = k_.exprs[e.args[0]].type.lanes;
    if (n == 1) return all;
    while (n > 2) {
      const int half = (n + 1) / 2;
      llvm::SmallVector<int, 32> low, high, rest;
      for (int l = 0; l < half; ++l) {
        low.push_back(l);
        high.push_back(half + l < n ? half + l : -1);
        rest.push_back(half + l < n ? l : half + l);  // a lane in the middle waits
      }
      const V pair[] = {b_.CreateShuffleVector(all, low), b_.CreateShuffleVector(all, high)};
      const tir::Type type{e.type.dtype, static_cast<std::uint16_t>(half)};
      all = ops_.emit(e.op, type, type, pair);
      if (n % 2 != 0) all = b_.CreateShuffleVector(all, pair[0], rest);
      n = half;
    }
    const V last[] = {b_.CreateExtractElement(all, std::uint64_t{0}),
                      b_.CreateExtractElement(all, std::uint64_t{1})};
    return ops_.emit(e.op, e.type, e.type, last);
  }

  V value(tir::ExprId id) { return id == tir::none ? nullptr : memo_[id]; }

  // --- statements
  // --------------------------------------------------------------------------------

  void statements(const std::vector<tir::StmtId>& list) {
    for (tir::StmtId id : list) statement(k_.stmts[id]);
  }

  void statement(const tir::Stmt& s) {
    switch (s.kind) {
      case tir::StmtKind::assign:
        evaluate({s.value});
        b_.CreateStore(value(s.value), vars_[s.target]);
        return;
      case tir::StmtKind::store:
        evaluate({s.value, s.index, s.mask});
        mem_.store(k_.exprs[s.value].type, bases_[s.target], value(s.index),
                   k_.exprs[s.index].type.dtype, std::max<std::int64_t>(s.stride, 1),
                   value(s.value), value(s.mask));
        return;
      case tir::StmtKind::loop:
        return loop(s);
      case tir::StmtKind::branch:
        return branch(s);
    }
  }

  llvm::BasicBlock* block(llvm::StringRef name) {
    return llvm::BasicBlock::Create(m_.getContext(), name, b_.GetInsertBlock()->getParent());
  }

  // Test first, then do-while: the form that the passes after us like.
  void loop(const tir::Stmt& s) {
    evaluate({s.begin, s.end});
    V begin = value(s.begin), end = value(s.end);
    llvm::BasicBlock* body = block("loop");
    llvm::BasicBlock* done = block("done");
    b_.CreateStore(begin, vars_[s.target]);
    b_.CreateCondBr(b_.CreateICmpSLT(begin, end), body, done);
    b_.SetInsertPoint(body);
    statements(s.body);
    V next = b_.CreateAdd(b_.CreateLoad(b_.getInt64Ty(), vars_[s.target]),
                          b_.getInt64(static_cast<std::uint64_t>(s.step)));
    b_.CreateStore(next, vars_[s.target]);
    b_.CreateCondBr(b_.CreateICmpSLT(next, end), body, done);
    b_.SetInsertPoint(done);
  }

  void branch(const tir::Stmt& s) {
    evaluate({s.value});
    llvm::BasicBlock* yes = block("then");
    llvm::BasicBlock* no = block("else");
    llvm::BasicBlock* done = block("done");
    b_.CreateCondBr(value(s.value), yes, no);
    b_.SetInsertPoint(yes);
    statements(s.body);
    b_.CreateBr(done);
    b_.SetInsertPoint(no);
    statements(s.other);
    b_.CreateBr(done);
    b_.SetInsertPoint(done);
  }

  const tir::Kernel& k_;
  const TargetFacts& facts_;
  llvm::Module& m_;
  llvm::IRBuilder<> b_;
  ScalarOps ops_;
  MemoryOps mem_;
  std::vector<V> memo_, bases_, vars_;
  std::vector<tir::ExprId> order_;
  std::vector<bool> seen_;
};

/// What `e` needs that is missing, or "".
std::string refuse_expr(const tir::Kernel& k, const tir::Expr& e, CpuTraits cpu) {
  if (bits(e.type.dtype) < 8)
    return "type " + std::string(name(e.type.dtype)) +
           " in a kernel: lowering addresses it as bytes";
  if (e.type.dtype == DType::f16 && !cpu.f16c) return "type f16 needs a cpu with f16c";
  if (e.kind != tir::Kind::scalar) return "";
  if (is_transcendental(e.op)) return std::string(name(e.op)) + " in a kernel: lowering expands it";
  const DType from = k.exprs[e.args.back()].type.dtype;
  if (is_float(from) && (e.op == ScalarOp::mod))
    return "mod of floats in a kernel: lowering expands it";
  if (e.op == ScalarOp::fma && from == DType::f64 && !cpu.fma)
    return "fma of f64 needs a cpu with fma";
  return "";
}

}  // namespace

std::string refuse(const tir::Kernel& k, const TargetFacts& facts) {
  if (std::string why = tir::check(k); !why.empty()) return why;
  const CpuTraits cpu = traits_of(facts);
  for (const tir::Expr& e : k.exprs)
    if (std::string why = refuse_expr(k, e, cpu); !why.empty()) return why;
  for (const tir::Buffer& b : k.buffers)
    if (bits(b.dtype) < 8)
      return "buffer '" + b.name + "' of " + std::string(name(b.dtype)) +
             ": lowering addresses it as bytes";
  return "";
}

std::unique_ptr<llvm::Module> emit(const tir::Kernel& k, const TargetFacts& facts,
                                   llvm::LLVMContext& context) {
  auto m = std::make_unique<llvm::Module>(k.symbol, context);
  KernelEmitter(k, facts, *m).run();
  return m;
}

}  // namespace tenon::llvm_target
