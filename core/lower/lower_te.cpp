#include "core/lower/lower_te.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <optional>
#include <ranges>
#include <thread>
#include <unordered_set>

#include "core/lower/names.h"
#include "tenon/op.h"
#include "tenon/rewrite.h"
#include "tenon/text.h"

namespace tenon {
namespace {

/// What primitives with equal bodies share: a model of many equal layers is lowered once.
struct Form {
  const Body* body = nullptr;
  const Node* first = nullptr;  // the first of them
  std::string target, hint;
  const BoundLowering* lowering = nullptr;
  LoweringKey key;
  std::shared_ptr<const Lowered> lowered;
  std::string symbol;
};

/// One primitive that is to be lowered: the node in the caller and the body that says what it
/// computes.
struct Site {
  const Node* node = nullptr;
  const Body* body = nullptr;
  std::uint32_t form = 0;
};

/// Place of a value's node in a body: 0 is the entry.
std::size_t place_in(const Body& b, const Node* n) {
  if (n == b.entry) return 0;
  const auto at = std::ranges::find(b.nodes, n);
  return static_cast<std::size_t>(at - b.nodes.begin()) + 1;
}

/// Do two bodies describe one computation? Constants inside may differ: they become operands. May
/// say no where they do: then equal computes are found later.
bool same_form(const Body& a, const Body& b) {
  const auto same_types = [](const Node& x, const Node& y) {
    return std::ranges::equal(x.results, y.results, {}, &NodeResult::type, &NodeResult::type);
  };
  const auto same_value = [&](Value x, Value y) {
    return x.index == y.index && place_in(a, x.node) == place_in(b, y.node);
  };
  const auto same_node = [&](const Node* x, const Node* y) {
    return x->op == y->op && same_types(*x, *y) && x->regions.empty() && y->regions.empty() &&
           (x->op == node::constant || x->attrs == y->attrs) &&
           std::ranges::equal(x->operands, y->operands, same_value);
  };
  return same_types(*a.entry, *b.entry) && std::ranges::equal(a.nodes, b.nodes, same_node) &&
         std::ranges::equal(a.results, b.results, same_value);
}

std::size_t hash_of(const Body& b, const std::string& target) {
  std::size_t h = std::hash<std::string>()(target);
  const auto mix = [&](std::size_t v) { h = (h ^ v) * 0x9E3779B97F4A7C15ull + (h >> 7); };
  const auto types = [&](const Node& n) {
    for (const NodeResult& r : n.results) {
      mix(static_cast<std::size_t>(r.type.dtype));
      for (Dim d : r.type.dims) mix(static_cast<std::size_t>(d.is_static() ? d.value() : -1));
    }
  };
  types(*b.entry);
  for (const Node* n : b.nodes) {
    mix(n->op.v);
    types(*n);
  }
  return h;
}

std::string spell(const OptionValues& options) {
  std::string s;
  for (const OptionValue& o : options) {
    s += o.key + "=";
    for (const std::string& i : o.items) s += i + ",";
    s += ";";
  }
  return s;
}

/// `b` for primitives with the attribute `fast_math`: with that option, if the lowering has it.
BoundLowering with_fast_math(BoundLowering b) {
  const auto is_it = [](const auto& o) { return o.key == "fast_math"; };
  if (std::ranges::none_of(b.kernel->options, is_it)) return b;
  std::erase_if(b.kernel_options, is_it);
  b.kernel_options.push_back({.key = "fast_math", .items = {"true"}});
  return b;
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
      : m_(m), config_(config), cache_(cache) {
    for (const auto& [id, b] : config.by_target) fast_[id] = with_fast_math(b);
  }

  Status run(LowerCounts* counts) {
    std::vector<std::size_t> first_site;  // of each function
    for (const Function& f : m_.functions) {
      first_site.push_back(sites_.size());
      if (!is_primitive(f)) find_sites(f);
    }
    first_site.push_back(sites_.size());
    if (!errors_.empty()) return errors_;
    lower_all();
    if (!errors_.empty()) return errors_;
    for (std::size_t f = 0; f < m_.functions.size(); ++f)
      if (!is_primitive(m_.functions[f]))
        rewrite_calls(m_.functions[f],
                      std::span(sites_).subspan(first_site[f], first_site[f + 1] - first_site[f]));
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

  // What stands in a primitive belongs to its site.
  void find_sites(const Function& f) {
    std::vector<const Body*> bodies{&f.body};
    while (!bodies.empty()) {
      const Body& b = *bodies.back();
      bodies.pop_back();
      for (const Node* n : b.nodes) find_site(*n);
      for (const Node* n : b.nodes | std::views::reverse)
        if (n->op != node::primitive)
          for (const Body& r : n->regions | std::views::reverse) bodies.push_back(&r);
    }
  }

  void find_site(const Node& n) {
    if (n.op == node::primitive) return site(n, n.regions[0], n.attrs);
    if (n.op == node::call)
      if (const Function* g = m_.function(*n.attrs.get<std::string>("callee"));
          g && is_primitive(*g))
        site(n, g->body, g->attrs);
    if (m_.ops()[n.op].compute)
      refuse(3201, n, "a computing node outside a primitive",
             "insert `fuse-ops` before the step `lower`");
  }

  void site(const Node& n, const Body& body, const Attrs& attrs) {
    if (attrs.find("vendor") || n.attrs.find("vendor")) return;
    const std::string target = attrs.get_or("target", config_.default_target);
    const auto bound = config_.by_target.find(target);
    if (bound == config_.by_target.end()) {
      std::string known;
      for (const auto& [id, b] : config_.by_target) known += " " + id;
      return refuse(3204, n, fmt::format("target '{}' does not exist", target),
                    "the targets are:" + known);
    }
    const bool fast = attrs.get_or("fast_math", false) || n.attrs.get_or("fast_math", false);
    const BoundLowering& lowering = fast ? fast_.at(target) : bound->second;
    const std::size_t hash = hash_of(body, target);
    const auto [first, last] = forms_by_hash_.equal_range(hash);
    for (auto it = first; it != last; ++it)
      if (const Form& f = forms_[it->second]; f.lowering == &lowering && same_form(*f.body, body)) {
        sites_.push_back({&n, &body, it->second});
        return;
      }
    Form f{.body = &body, .first = &n, .target = target, .lowering = &lowering};
    for (const Node* x : body.nodes) {
      if (x->op == node::primitive || x->op == node::call || x->op == node::call_kernel)
        return refuse(3202, n, "primitives do not nest, it contains " + label(*x),
                      "lower or inline the inner one first");
      for (const NodeResult& r : x->results)
        if (!r.type.is_static())
          return refuse(3203, n, fmt::format("{} has type {}", label(*x), to_string(r.type)),
                        "give the input shapes with --shape");
      if (x->op != node::constant) f.hint += (f.hint.empty() ? "" : "_") + m_.ops()[x->op].name;
    }
    std::vector<Constant> constants;
    auto compute = compute_of(m_, body, &constants);
    if (!compute) {
      errors_.insert(errors_.end(), compute.errors().begin(), compute.errors().end());
      return;
    }
    f.key = {std::move(*compute), lowering.target, spell(lowering)};
    const auto form = static_cast<std::uint32_t>(forms_.size());
    forms_.push_back(std::move(f));
    forms_by_hash_.emplace(hash, form);
    sites_.push_back({&n, &body, form});
  }

  // Forms in parallel; what one becomes depends on its key alone.
  void lower_all() {
    std::vector<Diags> failed(forms_.size());
    std::atomic<std::size_t> next{0};
    const auto work = [&] {
      for (std::size_t i = next++; i < forms_.size(); i = next++) {
        Form& f = forms_[i];
        auto r = cache_.get(f.key, [&] { return lower_one(f.key.compute, *f.lowering); });
        if (r)
          f.lowered = *r;
        else
          failed[i] = r.errors();
      }
    };
    std::vector<std::thread> pool;
    for (unsigned t = 1; t < std::min<std::size_t>(config_.threads, forms_.size()); ++t)
      pool.emplace_back(work);
    work();
    for (std::thread& t : pool) t.join();
    for (std::size_t i = 0; i < forms_.size(); ++i)
      for (Diag d : failed[i]) {
        if (d.loc.file.empty()) d.loc = forms_[i].first->loc;
        d.notes.push_back("while lowering " + label(*forms_[i].first));
        errors_.push_back(std::move(d));
      }
    for (Form& f : forms_)
      if (f.lowered) f.symbol = symbol(f);
  }

  // The kernel function of a form, made once per content.
  std::string symbol(const Form& s) {
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

  void rewrite_calls(Function& f, std::span<const Site> sites) {
    // The driver hands rules a node over new operands, so sites are found by value id.
    std::vector<const Site*> by_id(f.next_id);
    for (const Site& s : sites)
      if (!s.node->results.empty()) by_id[s.node->results[0].id] = &s;
    const Rule to_call = [&](Builder& b, const Node& n) -> std::vector<Value> {
      if (n.results.empty() || (n.op != node::primitive && n.op != node::call)) return {};
      const ValueId id = n.results[0].id;
      if (const Site* s = id < by_id.size() ? by_id[id] : nullptr) {
        std::vector<Value> operands = n.operands;
        for (const Node* x : s->body->nodes)
          if (x->op == node::constant)
            operands.push_back(b.constant(*x->attrs.get<Constant>("value"), n.loc));
        return b.raw(node::call_kernel, std::move(operands), {{"callee", forms_[s->form].symbol}},
                     n.results, n.loc);
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
  std::map<std::string, BoundLowering> fast_;  // by target id
  LoweringCache& cache_;
  std::vector<Form> forms_;
  std::unordered_multimap<std::size_t, std::uint32_t> forms_by_hash_;
  std::vector<Site> sites_;
  std::unordered_map<const Lowered*, std::string> made_;
  Diags errors_;
};

}  // namespace

Status lower_te(Module& m, const LowerConfig& config, LoweringCache& cache, LowerCounts* counts) {
  return LowerTE(m, config, cache).run(counts);
}

}  // namespace tenon
