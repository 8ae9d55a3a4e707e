// evaluate(Module, Function): one node after the other. Regions and calls nest in C++ calls, to a
// stated depth; chains do not nest.
#include <fmt/format.h>
#include <sys/mman.h>

#include <algorithm>
#include <cstring>
#include <new>
#include <unordered_map>

#include "core/eval/compute.h"
#include "tenon/eval.h"
#include "tenon/op.h"

namespace tenon {

namespace {

/// Regions (at most 64 deep) and calls of graph functions together.
constexpr int max_depth = 400;

/// A value that has been computed. Constants are not copied: `bytes` points into them.
struct Held {
  TensorType type;
  const std::byte* bytes = nullptr;
  std::shared_ptr<const void> owner;
};

Held hold(Tensor t) {
  auto owner = std::make_shared<Tensor>(std::move(t));
  return {owner->type, owner->bytes.data(), owner};
}
Held hold(const Constant& c) { return {c->type, c->bytes.data(), c}; }
Held borrow(const Tensor& t) { return {t.type, t.bytes.data(), nullptr}; }
Tensor copy_of(const Held& h) { return {h.type, {h.bytes, h.bytes + *byte_size(h.type)}}; }

using Helds = std::vector<Held>;

/// Memory for a result. To touch large ones page by page would cost more than to compute them.
std::shared_ptr<std::byte[]> memory_for(std::uint64_t bytes) {
  constexpr std::uint64_t large = 2 << 20;
  if (bytes < large) return std::make_shared_for_overwrite<std::byte[]>(bytes);
  const std::uint64_t length = bytes + large;  // so that it can start at a large page
  void* const at =
      mmap(nullptr, length, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (at == MAP_FAILED) throw std::bad_alloc();
  const auto start = reinterpret_cast<std::uintptr_t>(at);
  auto* const data = static_cast<std::byte*>(at) + ((start + large - 1) / large * large - start);
  madvise(data, bytes, MADV_HUGEPAGE);  // a hint: refused, it changes nothing
  return {data, [=](std::byte*) { munmap(at, length); }};
}

/// Per body: which values die after which node. Values of outer bodies count as used by the node
/// that has the region.
struct Deaths {
  std::vector<std::vector<Value>> after;  // by position of the node
};

/// Values computed so far in one body; regions see those of the bodies around them.
struct Scope {
  const Scope* outer = nullptr;
  std::unordered_map<Value, Held, ValueHash> values;
  const Held* find(Value v) const {
    for (const Scope* s = this; s; s = s->outer)
      if (auto it = s->values.find(v); it != s->values.end()) return &it->second;
    return nullptr;
  }
};

class Run {
 public:
  Run(const Module& m, const EvalOptions& options) : m_(m), options_(options) {}

  Result<Helds> body(const Body& b, Helds params, const Scope* outer, int depth) {
    if (depth > max_depth)
      return Diag{.code = 3123,
                  .what = fmt::format("calls and regions nest deeper than {}", max_depth),
                  .fix = "a function that calls itself never ends; use `loop`"};
    Scope scope{outer, {}};
    for (std::uint32_t k = 0; k < params.size(); ++k)
      define(scope, {b.entry, k}, std::move(params[k]));
    const Deaths& deaths = deaths_of(b);
    for (std::size_t i = 0; i < b.nodes.size(); ++i) {
      const Node& n = *b.nodes[i];
      auto results = node(n, scope, depth);
      if (!results) return results.errors();
      for (std::uint32_t k = 0; k < results->size(); ++k)
        define(scope, {&n, k}, std::move((*results)[k]));
      for (Value v : deaths.after[i]) scope.values.erase(v);
    }
    Helds out;
    for (Value v : b.results) {
      const Held* h = scope.find(v);
      TENON_CHECK(h != nullptr);
      out.push_back(*h);
    }
    return out;
  }

  Result<Helds> node(const Node& n, const Scope& scope, int depth) {
    Helds operands;
    for (Value v : n.operands) {
      const Held* h = scope.find(v);
      TENON_CHECK(h != nullptr);  // operands precede uses
      operands.push_back(*h);
    }
    return apply(n, std::move(operands), &scope, depth);
  }

  Result<Helds> apply(const Node& n, Helds operands, const Scope* scope, int depth) {
    if (n.op == node::constant) return Helds{hold(*n.attrs.get<Constant>("value"))};
    if (n.op == node::copy || n.op == node::debug) return operands;
    if (n.op == node::view) return view(n, operands[0]);
    if (n.op == node::join) return join(n, operands);
    if (n.op == node::primitive) return body(n.regions[0], std::move(operands), nullptr, depth + 1);
    if (n.op == node::branch) {
      const bool taken = operands[0].bytes[0] != std::byte{0};
      return body(n.regions[taken ? 0 : 1], {}, scope, depth + 1);
    }
    if (n.op == node::loop) return loop(n, std::move(operands), scope, depth);
    if (n.op == node::call) {
      const auto* callee = n.attrs.get<std::string>("callee");
      const Function* f = callee ? m_.function(*callee) : nullptr;
      if (!f) return unknown(n, "function", callee);
      return body(f->body, std::move(operands), nullptr, depth + 1);
    }
    if (n.op == node::call_kernel) return kernel(n, operands);
    auto c = compute_of(m_, n);
    if (!c) return c.errors();
    return compute(*c, n, operands);
  }

  /// The operands' bytes are the inputs and the outputs' bytes the results, whatever shape the
  /// compute gives them.
  Result<Helds> compute(const te::Compute& c, const Node& n, const Helds& operands) const {
    auto mismatch = [&](std::string_view what, std::size_t k, const TensorType& a,
                        const TensorType& b) {
      return Diag{.code = 3122,
                  .loc = n.loc,
                  .what = fmt::format("{} {}: {} where the compute function has {}", what, k,
                                      to_string(a), to_string(b))};
    };
    if (c.inputs.size() != operands.size() || c.outputs.size() != n.results.size())
      return Diag{.code = 3122,
                  .loc = n.loc,
                  .what = fmt::format(
                      "{} operands and {} results for a compute function of {} and {}",
                      operands.size(), n.results.size(), c.inputs.size(), c.outputs.size())};
    std::vector<const std::byte*> in;
    for (std::size_t k = 0; k < operands.size(); ++k) {
      if (byte_size(operands[k].type) != byte_size(c.inputs[k]))
        return mismatch("operand", k, operands[k].type, c.inputs[k]);
      in.push_back(operands[k].bytes);
    }
    if (Status s = check_memory(c, n); !s) return s.errors();
    Helds results;
    std::vector<std::byte*> out;
    for (std::uint32_t k = 0; k < n.results.size(); ++k) {
      const TensorType& t = n.results[k].type;
      if (!byte_size(t) || byte_size(t) != byte_size(c.output_type(k)))
        return mismatch("result", k, t, c.output_type(k));
      // Not filled first: every element is written, and large results cost their memory's time.
      const auto memory = memory_for(*byte_size(t));
      results.push_back({t, memory.get(), memory});
      out.push_back(memory.get());
    }
    if (std::string why = eval::run(c, in, out, options_.threads); !why.empty())
      return Diag{.code = 3122,
                  .loc = n.loc,
                  .what = std::move(why),
                  .fix = "the compute description reads out of bounds"};
    return results;
  }

 private:
  static Diag unknown(const Node& n, std::string_view what, const std::string* name) {
    return Diag{.code = 3121,
                .loc = n.loc,
                .what = fmt::format("no {} `{}` in the module", what, name ? *name : "")};
  }

  void define(Scope& scope, Value v, Held h) {
    if (options_.observe) options_.observe(v, copy_of(h));
    scope.values.insert_or_assign(v, std::move(h));
  }

  static Result<Helds> view(const Node& n, const Held& operand) {
    const auto offset = static_cast<std::uint64_t>(n.attrs.get_or<std::int64_t>("offset", 0));
    const TensorType& type = n.results[0].type;
    const auto need = byte_size(type), have = byte_size(operand.type);
    if (!need || !have || offset > *have || *need > *have - offset)
      return Diag{.code = 3122,
                  .loc = n.loc,
                  .what = fmt::format("view of {} bytes at {} of a value of {} bytes",
                                      need.value_or(0), offset, have.value_or(0))};
    return Helds{Held{type, operand.bytes + offset, operand.owner}};
  }

  static Result<Helds> join(const Node& n, const Helds& operands) {
    Tensor t{n.results[0].type, {}};
    for (const Held& h : operands)
      t.bytes.insert(t.bytes.end(), h.bytes, h.bytes + *byte_size(h.type));
    if (t.bytes.size() != byte_size(t.type))
      return Diag{.code = 3122,
                  .loc = n.loc,
                  .what = fmt::format("join of {} bytes under a type of {}", t.bytes.size(),
                                      byte_size(t.type).value_or(0))};
    return Helds{hold(std::move(t))};
  }

  Result<Helds> loop(const Node& n, Helds operands, const Scope* scope, int depth) {
    std::int64_t trips = 0;
    std::memcpy(&trips, operands[0].bytes, sizeof trips);
    Helds carried(operands.begin() + 1, operands.end());
    for (std::int64_t i = 0; i < trips; ++i) {
      Tensor index{TensorType(DType::i64, Shape{}), std::vector<std::byte>(sizeof i)};
      std::memcpy(index.bytes.data(), &i, sizeof i);
      Helds params{hold(std::move(index))};
      params.insert(params.end(), carried.begin(), carried.end());
      auto next = body(n.regions[0], std::move(params), scope, depth + 1);
      if (!next) return next.errors();
      carried = std::move(*next);
    }
    return carried;
  }

  Result<Helds> kernel(const Node& n, const Helds& operands) {
    const auto* symbol = n.attrs.get<std::string>("callee");
    const KernelFunction* k = symbol ? m_.kernel(*symbol) : nullptr;
    if (!k) return unknown(n, "kernel", symbol);
    const ComputeFunction* c = m_.compute(k->compute);
    if (!c) return unknown(n, "compute function", &k->compute);
    return compute(c->compute, n, operands);
  }

  Status check_memory(const te::Compute& c, const Node& n) const {
    std::uint64_t need = eval::scratch_bytes(c);
    for (const NodeResult& r : n.results)
      need = checked_add(need, byte_size(r.type).value_or(UINT64_MAX)).value_or(UINT64_MAX);
    if (need <= options_.max_bytes) return {};
    return Diag{.code = 3124,
                .loc = n.loc,
                .what = fmt::format("evaluating `{}` takes {} bytes, {} are allowed",
                                    m_.ops()[n.op].name, need, options_.max_bytes),
                .fix = "use smaller shapes, or compare without the evaluator"};
  }

  const Deaths& deaths_of(const Body& b) {
    auto [it, fresh] = deaths_.try_emplace(&b);
    if (!fresh) return it->second;
    std::unordered_map<Value, std::size_t, ValueHash> last;
    for (std::uint32_t k = 0; k < b.entry->results.size(); ++k) last[{b.entry, k}] = 0;
    for (std::size_t i = 0; i < b.nodes.size(); ++i) {
      const Node& n = *b.nodes[i];
      for (std::uint32_t k = 0; k < n.results.size(); ++k) last[{&n, k}] = i;
      std::vector<const Body*> inside;
      auto touch = [&](Value v) {
        if (auto at = last.find(v); at != last.end()) at->second = i;
      };
      for (Value v : n.operands) touch(v);
      for (const Body& r : n.regions) inside.push_back(&r);
      while (!inside.empty()) {
        const Body* r = inside.back();
        inside.pop_back();
        for (Value v : r->results) touch(v);
        for (const Node* x : r->nodes) {
          for (Value v : x->operands) touch(v);
          for (const Body& deeper : x->regions) inside.push_back(&deeper);
        }
      }
    }
    for (Value v : b.results) last.erase(v);
    it->second.after.resize(b.nodes.size());
    if (!b.nodes.empty())
      for (auto& [v, i] : last) it->second.after[i].push_back(v);
    return it->second;
  }

  const Module& m_;
  const EvalOptions& options_;
  std::unordered_map<const Body*, Deaths> deaths_;
};

}  // namespace

Result<std::vector<Tensor>> evaluate(const Module& m, const Function& f,
                                     std::span<const Tensor> inputs, const EvalOptions& options) {
  if (inputs.size() != f.n_params())
    return Diag{.code = 3120,
                .loc = f.loc,
                .what = fmt::format("function `{}` has {} parameters, got {} inputs", f.name,
                                    f.n_params(), inputs.size())};
  Helds params;
  for (std::uint32_t k = 0; k < inputs.size(); ++k) {
    const TensorType& want = f.param(k).type();
    if (!(want == inputs[k].type) || !want.is_static() || inputs[k].bytes.size() != byte_size(want))
      return Diag{
          .code = 3120,
          .loc = f.loc,
          .what = fmt::format("input {} of `{}` is {} ({} bytes), the parameter is {}", k, f.name,
                              to_string(inputs[k].type), inputs[k].bytes.size(), to_string(want)),
          .fix = want.is_static() ? "" : "give the input shapes with --shape"};
    params.push_back(borrow(inputs[k]));
  }
  auto results = Run(m, options).body(f.body, std::move(params), nullptr, 0);
  if (!results) return results.errors();
  std::vector<Tensor> out;
  for (const Held& h : *results) out.push_back(copy_of(h));
  return out;
}

Result<std::vector<Tensor>> evaluate(const Module& m, const Node& n,
                                     std::span<const Tensor> operands, const EvalOptions& options) {
  Helds held;
  for (const Tensor& t : operands) held.push_back(borrow(t));
  auto results = Run(m, options).apply(n, std::move(held), nullptr, 0);
  if (!results) return results.errors();
  std::vector<Tensor> out;
  for (const Held& h : *results) out.push_back(copy_of(h));
  return out;
}

static Result<std::vector<Constant>> constants_of(Helds results) {
  std::vector<Constant> out;
  for (Held& h : results)
    out.push_back(make_constant(h.type, {h.bytes, *byte_size(h.type)}, std::move(h.owner)));
  return out;
}

Result<std::vector<Constant>> evaluate(const Module& m, const Node& n,
                                       std::span<const Constant> operands,
                                       const EvalOptions& options) {
  Helds held;
  for (const Constant& c : operands) held.push_back(hold(c));
  auto results = Run(m, options).apply(n, std::move(held), nullptr, 0);
  return results ? constants_of(std::move(*results)) : results.errors();
}

Result<std::vector<Constant>> evaluate(const Module& m, const Body& body,
                                       std::span<const Constant> inputs,
                                       const EvalOptions& options) {
  std::vector<Constant> inside;  // become inputs after the parameters
  const auto composed = compute_of(m, body, &inside);
  if (!composed) return composed.errors();
  Helds held;
  for (const Constant& c : inputs) held.push_back(hold(c));
  for (const Constant& c : inside) held.push_back(hold(c));
  auto results =
      Run(m, options).compute(te::inline_stages(*composed), *body.nodes.back(), std::move(held));
  return results ? constants_of(std::move(*results)) : results.errors();
}

}  // namespace tenon
