// The simplest lowering there is: each node that computes becomes a call of a kernel of its own,
// whose body is empty and whose facts are right. Enough for planning and for the reference
// executor.
#ifndef TENON_TESTS_SUPPORT_LOWER_TRIVIALLY_H
#define TENON_TESTS_SUPPORT_LOWER_TRIVIALLY_H

#include <fmt/format.h>

#include "tenon/ir.h"
#include "tenon/op.h"
#include "tenon/rewrite.h"

namespace tenon::test {

class TrivialLowering {
 public:
  explicit TrivialLowering(Module& m) : m_(m), f_(*m.function("main")) {}
  void run() { f_.body = body(f_.body); }

 private:
  /// Regions nest to at most 64.
  Body body(const Body& b) {
    Body out{.entry = b.entry};
    for (const Node* n : b.nodes) out.nodes.push_back(node(*n));
    for (Value v : b.results) out.results.push_back(now(v));
    return out;
  }

  const Node* node(const Node& n) {
    Node made = n;
    for (Value& v : made.operands) v = now(v);
    for (Body& r : made.regions) r = body(r);
    if (m_.ops()[n.op].compute) lower(n, made);
    const Node* p = m_.make(std::move(made));
    for (std::uint32_t k = 0; k < p->results.size(); ++k) now_[{&n, k}] = {p, k};
    return p;
  }

  void lower(const Node& n, Node& made) {
    if (const auto view = view_of(n)) {
      made.op = node::view;
      made.attrs = {{"offset", static_cast<std::int64_t>(view->offset)}};
      made.operands = {made.operands[view->operand]};
      return;
    }
    made.op = node::call_kernel;
    made.attrs = {{"callee", kernel(n)}};
  }

  std::optional<ViewFact> view_of(const Node& n) const {
    const OpDef& def = m_.ops()[n.op];
    if (!def.view || n.results.size() != 1) return {};
    std::vector<TensorType> types;
    for (Value v : n.operands) types.push_back(v.type());
    const OpContext ctx{.module = &m_,
                        .operands = types,
                        .attrs = &n.attrs,
                        .regions = n.regions,
                        .loc = n.loc,
                        .op = def.name};
    return def.view(ctx);
  }

  std::string kernel(const Node& n) {
    const std::string id = fmt::format("{}", m_.kernels.size());
    tir::Kernel k{.symbol = "k" + id};
    const auto add = [&](const TensorType& t, tir::Scope scope) {
      const auto arg = static_cast<std::uint32_t>(k.buffers.size());
      k.buffers.push_back({fmt::format("b{}", arg), t.dtype, *elements(t), scope, arg, 0,
                           std::max(1u, bits(t.dtype) / 8)});
    };
    for (Value v : n.operands) add(v.type(), tir::Scope::input);
    for (const NodeResult& r : n.results) add(r.type, tir::Scope::output);
    const FusionKind fusion = m_.ops()[n.op].fusion;
    const bool pointwise = fusion == FusionKind::elementwise || fusion == FusionKind::broadcast;
    for (std::uint32_t j = 0; pointwise && n.results.size() == 1 && j < n.operands.size(); ++j) {
      const TensorType& a = n.operands[j].type();
      const TensorType& r = n.results[0].type;
      if (a.dims == r.dims && bits(a.dtype) == bits(r.dtype))
        k.inplace.emplace_back(j, static_cast<std::uint32_t>(n.operands.size()));
    }
    m_.computes.push_back({"c" + id, *compute_of(m_, n), {}});
    m_.kernels.push_back({std::move(k), "c" + id, "cpu", 1});
    return "k" + id;
  }

  Value now(Value v) const {
    const auto it = now_.find(v);
    return it == now_.end() ? v : it->second;
  }

  Module& m_;
  Function& f_;
  std::unordered_map<Value, Value, ValueHash> now_;
};

inline void lower_trivially(Module& m) { TrivialLowering(m).run(); }

}  // namespace tenon::test

#endif
