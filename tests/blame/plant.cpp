// A pass that plants one wrong fact in each kernel whose symbol holds a text: everything after it,
// the planner too, believes it.
#include "tenon/plugin.h"

namespace {

using tenon::tir::Buffer;
using tenon::tir::Kernel;
using tenon::tir::Scope;

struct Options {
  std::string fault, kernel;
  static constexpr auto fields() {
    return std::tuple{tenon::Field{"fault", &Options::fault, "inplace, scratch or overrun"},
                      tenon::Field{"kernel", &Options::kernel, "part of the kernel's symbol"}};
  }
};

/// The first operand may be overwritten by the result, whatever the code does.
bool inplace(Kernel& k) {
  const std::uint32_t out = k.count(Scope::input);
  if (k.buffers[0].elements != k.buffers[out].elements) return false;
  k.inplace = {{0, out}};
  return true;
}

/// Half of the worker's scratch.
bool scratch(Kernel& k) {
  if (k.buffers.back().scope != Scope::worker || k.buffers.back().elements < 32) return false;
  Buffer& b = k.buffers.back();
  const std::uint64_t before = k.worker_bytes;
  b.elements /= 2;
  k.worker_bytes = (b.offset + b.elements * tenon::bits(b.dtype) / 8 + 63) / 64 * 64;
  return k.worker_bytes < before;
}

/// One element past the end of the result, written by every chunk.
bool overrun(Kernel& k) {
  const std::uint32_t out = k.count(Scope::input);
  const auto imm = [&](tenon::DType type, std::int64_t i) {
    tenon::tir::Expr e;
    e.type = {type, 1};
    e.i = i;
    k.exprs.push_back(e);
    return static_cast<tenon::tir::ExprId>(k.exprs.size() - 1);
  };
  tenon::tir::Stmt store;
  store.kind = tenon::tir::StmtKind::store;
  store.target = out;
  store.value = imm(k.buffers[out].dtype, 0);
  store.index = imm(tenon::DType::i64, static_cast<std::int64_t>(k.buffers[out].elements));
  k.stmts.push_back(store);
  k.body.push_back(static_cast<tenon::tir::StmtId>(k.stmts.size() - 1));
  return true;
}

/// Before: kernels as they were lowered   After: one of their facts is wrong
/// Cost:   O(kernels).
tenon::Status run(tenon::Module& m, tenon::PassContext& ctx) {
  const auto o = tenon::read_options<Options>(ctx.options());
  std::int64_t planted = 0;
  for (tenon::KernelFunction& f : m.kernels) {
    if (f.kernel.symbol.find(o.kernel) == std::string::npos) continue;
    planted += o.fault == "inplace"   ? inplace(f.kernel)
               : o.fault == "scratch" ? scratch(f.kernel)
                                      : overrun(f.kernel);
  }
  ctx.count("planted", planted);
  if (planted > 0) return {};
  return tenon::Diag{.code = 3901, .what = "no kernel to plant it in", .fix = "name another"};
}

void describe(tenon::Registration& r) {
  tenon::PassInfo pass;
  pass.id = "plant.fact";
  pass.doc = "Plant a wrong fact.";
  pass.options = tenon::option_rows<Options>();
  pass.run = run;
  r.add(std::move(pass));
}

}  // namespace

TENON_PLUGIN("plant", "1.0.0", "A pass that lies", describe, TN_KIND_PASS);
