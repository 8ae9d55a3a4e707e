#include "core/program/normalise.h"

#include <fmt/format.h>

#include <unordered_map>
#include <unordered_set>

#include "core/support/flat_map.h"
#include "tenon/rewrite.h"

namespace tenon {
namespace {

class Normaliser {
 public:
  Normaliser(Module& m, Function& f) : m_(m), f_(f) {
    for (const KernelFunction& k : m.kernels) kernels_.emplace(k.kernel.symbol, &k.kernel);
    note_alignments();
  }

  std::uint32_t run() {
    f_.body = body(f_.body, &f_, nullptr);
    return copies_;
  }

 private:
  /// What kernels ask of each value that a step writes, as long as there are joins.
  void note_alignments() {
    bool joins = false;
    for_each_node(f_, [&](const Node& n) { joins |= n.op == node::join; });
    if (!joins) return;
    std::unordered_map<Value, Value, ValueHash> base;
    const auto ask = [&](Value v, std::uint64_t align) {
      const auto it = base.find(v);
      std::uint64_t& asked = asked_[it == base.end() ? v : it->second];
      asked = std::max(asked, align);
    };
    for_each_node(f_, [&](const Node& n) {
      if (n.op == node::view || n.op == node::debug) {
        const auto it = base.find(n.operands[0]);
        base[{&n, 0}] = it == base.end() ? n.operands[0] : it->second;
      }
      const auto* callee = n.attrs.get<std::string>("callee");
      const auto kernel =
          n.op == node::call_kernel && callee ? kernels_.find(*callee) : kernels_.end();
      if (kernel == kernels_.end()) return;
      for (const tir::Buffer& b : kernel->second->buffers) {
        const std::size_t n_in = n.operands.size();
        if (b.scope == tir::Scope::input && b.arg < n_in) ask(n.operands[b.arg], b.align);
        if (b.scope == tir::Scope::output && b.arg - n_in < n.results.size())
          ask({&n, static_cast<std::uint32_t>(b.arg - n_in)}, b.align);
      }
    });
  }

  /// Values that steps of a body write and that have storage of their own; false: no longer.
  using Written = FlatMap<Value, bool, ValueHash>;

  /// Which bytes a value is: `offset` into what a step, the caller or the module wrote.
  struct Source {
    Value value;
    std::uint64_t offset = 0;
  };

  /// Regions nest to at most 64, so this recursion is bounded. `main` is the function when `b` is
  /// its body, `loop` the node whose body it is.
  Body body(const Body& b, const Function* main, const Node* loop) {
    Body out{.entry = b.entry};
    const std::size_t fixed_before = log_.size();
    Written written;
    for (const Node* n : b.nodes) {
      const Node* made = node(*n, out.nodes, written);
      out.nodes.push_back(made);
      note(*made, written);
    }
    std::unordered_set<Value, ValueHash> taken;
    for (std::size_t j = 0; j < b.results.size(); ++j) {
      Value v = now(b.results[j]);
      const bool kept = loop &&
                        source(v).value == Value{b.entry, static_cast<std::uint32_t>(j) + 1} &&
                        source(v).offset == 0;  // carried as it is
      if (!kept && !ownable(v, written, taken)) {
        v = copy(v, main && j < main->result_names.size() ? main->result_names[j] : "", out.nodes);
      }
      taken.insert(source(v).value);
      out.results.push_back(v);
    }
    for (; log_.size() > fixed_before; log_.pop_back())
      fixed_.erase(log_.back());  // not seen outside
    return out;
  }

  const Node* node(const Node& n, std::vector<const Node*>& out, Written& written) {
    std::vector<Value> operands;
    for (Value v : n.operands) operands.push_back(now(v));
    if (n.op == node::call_kernel) align(n, operands, out);
    if (n.op == node::join) move_in(operands, out, written);
    std::vector<Body> regions;
    bool changed = operands != n.operands;
    for (const Body& r : n.regions) {
      const bool loop = n.op == node::loop;
      regions.push_back(loop || n.op == node::branch ? body(r, nullptr, loop ? &n : nullptr) : r);
      changed |= regions.back().nodes != r.nodes || regions.back().results != r.results;
    }
    if (!changed) return &n;
    Node made = n;
    made.operands = std::move(operands);
    made.regions = std::move(regions);
    const Node* p = m_.make(std::move(made));
    for (std::uint32_t k = 0; k < p->results.size(); ++k) now_[{&n, k}] = {p, k};
    return p;
  }

  void note(const Node& n, Written& written) {
    if ((n.op == node::view || n.op == node::debug) && n.results.size() == 1 &&
        n.operands.size() == 1) {
      Source s = source(n.operands[0]);
      if (n.op == node::view)
        s.offset += static_cast<std::uint64_t>(n.attrs.get_or<std::int64_t>("offset", 0));
      sources_[{&n, 0}] = s;
      return;
    }
    if (n.op == node::constant || n.op == node::join) return;
    for (std::uint32_t k = 0; k < n.results.size(); ++k) written[{&n, k}] = true;
  }

  /// Operands of a join are written inside its result: each is all of a value that a step of this
  /// body writes, stands nowhere else, and its place suits the kernels that touch it. What is not
  /// so is copied there.
  void move_in(std::vector<Value>& operands, std::vector<const Node*>& out, Written& written) {
    std::uint64_t offset = 0;
    for (Value& v : operands) {
      const std::uint64_t size = byte_size(v.type()).value_or(0);
      const auto asked = asked_.find(source(v).value);
      const bool suits = asked == asked_.end() || asked->second == 0 || offset % asked->second == 0;
      if (size > 0 && (!suits || !ownable(v, written, {}))) v = copy(v, "", out);
      written[source(v).value] = false;
      offset += size;
    }
  }

  bool ownable(Value v, const Written& written, const std::unordered_set<Value, ValueHash>& taken) {
    const auto size = byte_size(v.type());
    if (size == 0u) return true;  // no bytes, no storage
    const Source s = source(v);
    const bool* writes = written.find(s.value);
    return s.offset == 0 && writes && *writes && !taken.contains(s.value) &&
           byte_size(s.value.type()) == size;
  }

  Value copy(Value v, std::string name, std::vector<const Node*>& out) {
    if (name.empty() && !v.name().empty()) name = v.name() + ".copy";
    Node n{.op = node::copy, .operands = {v}, .loc = v.node->loc};
    n.results.push_back({v.type(), f_.next_id++, std::move(name)});
    const Node* p = m_.make(std::move(n));
    out.push_back(p);
    ++copies_;
    return {p, 0};
  }

  void align(const Node& n, std::vector<Value>& operands, std::vector<const Node*>& out) {
    const auto* callee = n.attrs.get<std::string>("callee");
    const auto kernel = callee ? kernels_.find(*callee) : kernels_.end();
    if (kernel == kernels_.end()) return;
    for (const tir::Buffer& b : kernel->second->buffers) {
      if (b.scope != tir::Scope::input || b.arg >= operands.size() || b.align == 0) continue;
      Value& v = operands[b.arg];
      if (source(v).offset % b.align == 0 || byte_size(v.type()) == 0u) continue;
      const auto [it, fresh] = fixed_.try_emplace(v);
      if (fresh) {
        it->second = copy(v, "", out);
        log_.push_back(v);
      }
      v = it->second;
    }
  }

  Source source(Value v) const {
    const Source* s = sources_.find(v);
    return s ? *s : Source{v, 0};
  }
  Value now(Value v) const {
    const Value* made = now_.find(v);
    return made ? *made : v;
  }

  Module& m_;
  Function& f_;
  std::unordered_map<std::string_view, const tir::Kernel*> kernels_;
  FlatMap<Value, Source, ValueHash> sources_;          ///< of views
  FlatMap<Value, Value, ValueHash> now_;               ///< values of nodes that were made anew
  std::unordered_map<Value, Value, ValueHash> fixed_;  ///< misaligned view -> its copy
  std::unordered_map<Value, std::uint64_t, ValueHash> asked_;  ///< alignment, by source
  std::vector<Value> log_;  ///< keys of fixed_, in the order of insertion
  std::uint32_t copies_ = 0;
};

}  // namespace

std::uint32_t make_outputs_ownable(Module& m) {
  Function* main = m.function("main");
  return main && main->body.entry ? Normaliser(m, *main).run() : 0;
}

}  // namespace tenon
