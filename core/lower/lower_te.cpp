#include "core/lower/lower_te.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <optional>
#include <thread>
#include <unordered_set>

#include "core/lower/names.h"
#include "tenon/op.h"
#include "tenon/rewrite.h"
#include "tenon/text.h"

namespace tenon {
namespace {

/// One primitive that is to be lowered: the node in the caller and the body that says what it
/// computes.
struct Site {
  const Node* node = nullptr;
  const Body* body = nullptr;
  std::string target, hint;
  std::vector<Constant> constants;  // of the body; they become operands
  LoweringKey key;
  std::shared_ptr<const Lowered> lowered;
};

std::string spell(const OptionValues& options) {
  std::string s;
  for (const OptionValue& o : options) {
    s += o.key + "=";
    for (const std::string& i : o.items) s += i + ",";
    s += ";";
  }
  return s;
}

std::string spell(const BoundLowering& b) {
  return b.compute->id + "{" + spell(b.compute_options) + "}" + b.schedule->id + "{" +
         spell(b.schedule_options) + "}" + b.kernel->id + "{" + spell(b.kernel_options) + "}";
}

std::string spell(const TargetFacts& t) {
  return fmt::format("{}|{}|{}|{}|{}|{}|{}", t.id, t.with, t.triple, t.cpu, t.features,
                     t.vector_bytes, t.vector_registers);
}

Result<Lowered> lower_one(const te::Compute& composed, const BoundLowering& b) {
  auto compute = b.compute->compute(composed, b.target, b.compute_options);
  if (!compute) return compute.errors();
  auto schedule = b.schedule->schedule(*compute, b.target, b.schedule_options);
  if (!schedule) return schedule.errors();
  auto kernel = b.kernel->kernel(*compute, *schedule, b.target, b.kernel_options);
  if (!kernel) return kernel.errors();
  if (std::string why = tir::check(*kernel); !why.empty())
    return Diag{.code = 3021,
                .what = fmt::format("lowering '{}' made a kernel that breaks the laws: {}",
                                    b.kernel->id, why)};
  return Lowered{std::move(*compute), std::move(*schedule), tir::renumbered(*kernel)};
}

class LowerTE {
 public:
  LowerTE(Module& m, const LowerConfig& config, LoweringCache& cache)
      : m_(m), config_(config), cache_(cache) {}

  Status run(LowerCounts* counts) {
    for (const Function& f : m_.functions)
      if (!is_primitive(f)) find_sites(f);
    if (!errors_.empty()) return errors_;
    lower_all();
    if (!errors_.empty()) return errors_;
    for (Function& f : m_.functions)
      if (!is_primitive(f)) rewrite_calls(f);
    drop_lowered_functions();
    count_uses();
    m_.compact();
    if (counts)
      *counts = {static_cast<std::uint32_t>(sites_.size()),
                 static_cast<std::uint32_t>(made_.size())};
    return {};
  }

 private:
  static bool is_primitive(const Function& f) { return f.attrs.get_or("primitive", false); }

  void refuse(int code, const Node& n, std::string what, std::string fix) {
    errors_.push_back(
        Diag{.code = code, .loc = n.loc, .what = label(n) + ": " + what, .fix = std::move(fix)});
  }
  std::string label(const Node& n) const {
    const std::string name = n.results.empty()           ? ""
                             : n.results[0].name.empty() ? fmt::format("%{}", n.results[0].id)
                                                         : n.results[0].name;
    return fmt::format("{} '{}'", m_.ops()[n.op].name, name);
  }

  void find_sites(const Function& f) {
    for_each_body(f, [&](const Body& b) {
      for (const Node* n : b.nodes) {
        if (n->op == node::primitive)
          site(*n, n->regions[0], n->attrs);
        else if (n->op == node::call)
          if (const Function* g = m_.function(*n->attrs.get<std::string>("callee"));
              g && is_primitive(*g))
            site(*n, g->body, g->attrs);
        if (n->op == node::primitive) continue;
        if (m_.ops()[n->op].compute && !inside_.contains(n))
          refuse(3201, *n, "a computing node outside a primitive",
                 "insert `fuse-ops` before the step `lower`");
      }
    });
  }

  void site(const Node& n, const Body& body, const Attrs& attrs) {
    for (const Node* x : body.nodes) inside_.insert(x);
    if (attrs.find("vendor") || n.attrs.find("vendor")) return;
    Site s;
    s.node = &n;
    s.body = &body;
    s.target = attrs.get_or("target", config_.default_target);
    if (!config_.by_target.contains(s.target)) {
      std::string known;
      for (const auto& [id, b] : config_.by_target) known += " " + id;
      return refuse(3204, n, fmt::format("target '{}' does not exist", s.target),
                    "the targets are:" + known);
    }
    for (const Node* x : body.nodes) {
      if (x->op == node::primitive || x->op == node::call || x->op == node::call_kernel)
        return refuse(3202, n, "primitives do not nest, it contains " + label(*x),
                      "lower or inline the inner one first");
      for (const NodeResult& r : x->results)
        if (!r.type.is_static())
          return refuse(3203, n, fmt::format("{} has type {}", label(*x), to_string(r.type)),
                        "give the input shapes with --shape");
      if (x->op != node::constant) s.hint += (s.hint.empty() ? "" : "_") + m_.ops()[x->op].name;
    }
    auto compute = compute_of(m_, body, &s.constants);
    if (!compute) {
      errors_.insert(errors_.end(), compute.errors().begin(), compute.errors().end());
      return;
    }
    const BoundLowering& b = config_.by_target.at(s.target);
    s.key = {std::move(*compute), b.target, spell(b)};
    sites_.push_back(std::move(s));
  }

  // Sites in parallel; what a site becomes depends on its key alone.
  void lower_all() {
    std::vector<Diags> failed(sites_.size());
    std::atomic<std::size_t> next{0};
    const auto work = [&] {
      for (std::size_t i = next++; i < sites_.size(); i = next++) {
        Site& s = sites_[i];
        auto r = cache_.get(
            s.key, [&] { return lower_one(s.key.compute, config_.by_target.at(s.target)); });
        if (r)
          s.lowered = *r;
        else
          failed[i] = r.errors();
      }
    };
    std::vector<std::thread> pool;
    for (unsigned t = 1; t < config_.threads; ++t) pool.emplace_back(work);
    work();
    for (std::thread& t : pool) t.join();
    for (std::size_t i = 0; i < sites_.size(); ++i)
      for (Diag d : failed[i]) {
        if (d.loc.file.empty()) d.loc = sites_[i].node->loc;
        d.notes.push_back("while lowering " + label(*sites_[i].node));
        errors_.push_back(std::move(d));
      }
    for (Site& s : sites_)
      if (s.lowered) symbol_of_[s.node] = symbol(s);
  }

  // The kernel function of a site, made once per content.
  std::string symbol(const Site& s) {
    if (auto it = made_.find(s.lowered.get()); it != made_.end()) return it->second;
    const std::string content =
        print(s.lowered->kernel) + print(s.lowered->compute) + spell(s.key.target);
    const std::string sym = content_symbol(m_.name, s.hint, content);
    made_[s.lowered.get()] = sym;
    if (m_.kernel(sym)) return sym;  // from an earlier run over the same module
    const std::string compute = "c" + sym.substr(2);
    m_.computes.push_back({compute, s.lowered->compute, s.lowered->schedule});
    KernelFunction k{s.lowered->kernel, compute, s.target, 0};
    k.kernel.symbol = sym;
    m_.kernels.push_back(std::move(k));
    return sym;
  }

  void rewrite_calls(Function& f) {
    std::unordered_map<const Node*, const Site*> by_node;
    for (const Site& s : sites_) by_node[s.node] = &s;
    // The driver hands rules a node over new operands, so sites are found by value id.
    std::unordered_map<ValueId, const Site*> by_id;
    for_each_node(f, [&](const Node& n) {
      if (auto it = by_node.find(&n); it != by_node.end() && !n.results.empty())
        by_id[n.results[0].id] = it->second;
    });
    const Rule to_call = [&](Builder& b, const Node& n) -> std::vector<Value> {
      if (n.results.empty() || (n.op != node::primitive && n.op != node::call)) return {};
      if (auto it = by_id.find(n.results[0].id); it != by_id.end()) {
        std::vector<Value> operands = n.operands;
        for (const Constant& c : it->second->constants) operands.push_back(b.constant(c, n.loc));
        return b.raw(node::call_kernel, std::move(operands),
                     {{"callee", symbol_of_.at(it->second->node)}}, n.results, n.loc);
      }
      const auto* callee = n.attrs.get<std::string>("callee");
      if (n.op != node::call || !callee || m_.function(*callee) || !m_.kernel(*callee)) return {};
      return b.raw(node::call_kernel, n.operands, {{"callee", *callee}}, n.results, n.loc);
    };
    rewrite(m_, f, std::span(&to_call, 1));
  }

  // Global primitives that nothing calls any more.
  void drop_lowered_functions() {
    std::unordered_set<std::string> called;
    for (const Function& f : m_.functions)
      for_each_node(f, [&](const Node& n) {
        if (const auto* c = n.attrs.get<std::string>("callee"); c && n.op == node::call)
          called.insert(*c);
      });
    std::erase_if(m_.functions,
                  [&](const Function& f) { return is_primitive(f) && !called.contains(f.name); });
  }

  void count_uses() {
    std::unordered_map<std::string, std::uint32_t> uses;
    for (const Function& f : m_.functions)
      for_each_node(f, [&](const Node& n) {
        if (n.op == node::call_kernel) ++uses[*n.attrs.get<std::string>("callee")];
      });
    for (KernelFunction& k : m_.kernels) k.uses = uses[k.kernel.symbol];
  }

  Module& m_;
  const LowerConfig& config_;
  LoweringCache& cache_;
  std::vector<Site> sites_;
  std::unordered_set<const Node*> inside_;
  std::unordered_map<const Lowered*, std::string> made_;
  std::unordered_map<const Node*, std::string> symbol_of_;
  Diags errors_;
};

}  // namespace

Status lower_te(Module& m, const LowerConfig& config, LoweringCache& cache, LowerCounts* counts) {
  return LowerTE(m, config, cache).run(counts);
}

}  // namespace tenon
