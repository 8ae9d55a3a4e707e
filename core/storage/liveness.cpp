#include "core/storage/liveness.h"

#include <fmt/format.h>

#include "core/storage/inplace.h"
#include "core/storage/lifetimes.h"
#include "core/storage/placement.h"
#include "core/storage/timeline.h"
#include "core/support/flat_map.h"

namespace tenon {
namespace {

constexpr std::uint32_t none = UINT32_MAX;

/// The element's bytes as a power of two: what every load of it may ask.
std::uint64_t natural_align(const TensorType& t) {
  return std::max<std::uint64_t>(1, bits(t.dtype) / 8);
}

class Liveness {
 public:
  Liveness(const Module& m, const MemoryConfig& config, const IoBinding& io, const Timeline& t,
           const std::vector<ValueHome>& homes)
      : m_(m),
        config_(config),
        io_(io),
        t_(t),
        homes_(homes),
        spans_(homes.size()),
        index_of_(homes.size(), none),
        is_output_(homes.size()),
        lasting_(homes.size()) {}

  Result<StorageValues> run() {
    out_.state = io_.state;
    for (const ComputeFunction& f : m_.computes) {
      const auto asks = [](const te::Stage& s) { return s.align > 1 || !s.pools.empty(); };
      if (std::any_of(f.compute.stages.begin(), f.compute.stages.end(), asks))
        asking_.emplace(f.name, &f.compute);
    }
    note_state();
    note_uses();
    make_room();
    emit_values();
    emit_relations();
    note_accesses();
    emit_scratch();
    for (const TimelineStep& s : t_.steps) out_.steps.push_back(s.name);
    if (out_.steps.empty()) out_.steps.push_back("start");
    if (Status s = place_values(config_, homes_, facts_, out_); !s) return std::move(s).take();
    add_inplace_relations(t_, homes_, index_of_, lasting_, out_);
    return std::move(out_);
  }

 private:
  std::uint32_t length() const { return std::max(1u, t_.n_steps()); }

  void add(ValueId id, std::uint32_t first, std::uint32_t end) {
    std::vector<Lifetime>& spans = spans_[id];
    for (Lifetime& l : spans) {
      if (l.first == first) {
        l.end = std::max(l.end, end);
        return;
      }
    }
    spans.push_back({first, end});
  }

  /// The value is read before step `end` of `body`: live on the way there from where it is defined.
  void need(Value v, std::uint32_t body, std::uint32_t end) {
    const ValueHome& h = homes_[v.id()];
    if (h.kind != ValueHome::Kind::storage) return;
    for (; body != h.body; body = t_.bodies[body].parent) {
      const TimelineBody& b = t_.bodies[body];
      if (!b.loop) add(v.id(), b.first, end);
      end = b.loop ? b.end : b.opener + 1;  // the next iteration needs it too
    }
    add(v.id(), h.def, end);
  }

  void note_state() {
    is_state_.resize(homes_.size());
    for (const auto& [in, out] : io_.state) {
      const ValueId id = t_.main->param(in).id();
      if (homes_[id].kind != ValueHome::Kind::storage) continue;
      add(id, 0, length());
      is_state_[id] = lasting_[id] = true;
    }
  }

  void note_uses() {
    for (std::uint32_t s = 0; s < t_.n_steps(); ++s) {
      const TimelineStep& step = t_.steps[s];
      if (step.back_edge) continue;  // reads results of its body
      for (Value v : step.node->operands) need(v, step.body, s + 1);
      if (step.node->op == node::loop) note_loop(s);
    }
    for (std::uint32_t b = 0; b < t_.bodies.size(); ++b) {
      const std::uint32_t end = b == 0 ? length() : t_.bodies[b].end;
      for (Value v : t_.bodies[b].body->results) need(v, b, end);
      for (const Node* n : t_.bodies[b].body->nodes) {
        if (n->op != node::join) continue;  // its operands stay until all of it is written
        const std::uint32_t at = std::min(homes_[n->results[0].id].def, length() - 1);
        for (Value v : n->operands) need(v, b, at + 1);
      }
    }
    for (ValueId id = 0; id < homes_.size(); ++id) {
      if (homes_[id].kind == ValueHome::Kind::storage) complete(id);
    }
    for (std::uint32_t s = t_.n_steps();
         s-- > 0;) {  // inner `if`s first: their results may be results of an arm
      if (t_.steps[s].node->op == node::branch) complete_branch(s);
    }
  }

  void note_loop(std::uint32_t s) {
    const Node& n = *t_.steps[s].node;
    const std::uint32_t end = t_.after(s);
    need(n.operands[0], t_.steps[s].body, end);
    need({n.regions[0].entry, 0}, t_.steps[s].body, end);
    for (std::uint32_t j = 0; j < n.results.size(); ++j) need({&n, j}, t_.steps[s].body, end);
  }

  void complete(ValueId id) {
    const ValueHome& h = homes_[id];
    std::vector<Lifetime>& spans = spans_[id];
    const Node* source = homes_[h.source].value.node;
    const std::uint32_t first = std::min(h.def, length() - 1);
    if (source->op == node::constant) {
      spans = {{0, length()}};
    } else if (h.source == id &&
               source->op != node::branch) {  // there at `def`, even when nothing reads it
      spans.push_back({first, first + 1});
    }
    if (config_keeps(config_, value_name(h.value.node->results[h.value.index]))) {
      spans.push_back({first, length()});
      lasting_[h.owner] = true;
    }
    tidy(spans);
  }

  /// A result of an `if` that nothing reads is live where the results of its arms are.
  void complete_branch(std::uint32_t s) {
    const Node& n = *t_.steps[s].node;
    for (std::uint32_t j = 0; j < n.results.size(); ++j) {
      std::vector<Lifetime>& spans = spans_[n.results[j].id];
      if (!spans.empty()) continue;
      for (std::uint32_t k = 0; k < 2; ++k) {
        const Value arm = t_.bodies[t_.arm_body(s, k)].body->results[j];
        const std::vector<Lifetime>& more = spans_[homes_[arm.id()].source];
        spans.insert(spans.end(), more.begin(), more.end());
      }
      tidy(spans);
    }
  }

  Role role_of(const ValueHome& h) const {
    if (homes_[h.source].value.node->op == node::constant) return Role::constant;
    if (is_state_[h.owner]) return Role::state;
    if (homes_[h.source].value.node == t_.main->body.entry) return Role::input;
    return is_output_[h.owner] ? Role::output : Role::activation;
  }

  void emit_values() {
    for (Value v : t_.main->body.results) {
      const ValueHome& h = homes_[v.id()];
      if (h.kind != ValueHome::Kind::empty) is_output_[h.owner] = lasting_[h.owner] = true;
    }
    for (const auto& [in, out] : io_.state)  // copied after the last step, or state itself
      is_output_[homes_[t_.main->body.results[out].id()].owner] = false;
    for (ValueId id = 0; id < homes_.size(); ++id) {
      const ValueHome& h = homes_[id];
      const bool twin = h.owner != id && h.source == id && h.value.node->op == node::constant;
      if (h.kind != ValueHome::Kind::storage || twin || spans_[id].empty())
        continue;  // a view that nothing reads
      StorageValue v{.id = id,
                     .name = value_name(h.value.node->results[h.value.index]),
                     .size = h.size,
                     .align = natural_align(h.value.type()),
                     .live = std::move(spans_[id]),
                     .role = role_of(h)};
      push(std::move(v), id);
      index_of_[id] = static_cast<std::uint32_t>(out_.values.size() - 1);
    }
    for (ValueId id = 0; id < homes_.size(); ++id) {  // identical constants are stored once
      const ValueHome& h = homes_[id];
      if (h.kind == ValueHome::Kind::storage && h.source == id && index_of_[id] == none)
        index_of_[id] = index_of_[h.owner];
    }
  }

  /// For all values and scratch: `names_` looks into the values, so they may not move.
  void make_room() {
    std::size_t n = homes_.size();
    for (const TimelineStep& s : t_.steps)
      if (s.kernel)
        n += s.kernel->kernel.count(tir::Scope::shared) + (s.kernel->kernel.worker_bytes > 0);
    out_.values.reserve(n);
    facts_.reserve(n);
    names_.reserve(n);
  }

  /// Names of values are unique in a request; two values of a model may have one name.
  void push(StorageValue v, ValueId source) {
    if (names_.contains(v.name)) {
      v.name += fmt::format("%{}", v.id);
      while (names_.contains(v.name)) v.name += "'";
    }
    TENON_CHECK(out_.values.size() < out_.values.capacity());
    names_.try_emplace(out_.values.emplace_back(std::move(v)).name);
    facts_.emplace_back();
    if (source < homes_.size()) facts_.back().alias = homes_[source].owner != source;
  }

  void relate(StorageRelation::Kind kind, ValueId a, ValueId b, std::uint64_t delta) {
    if (index_of_[a] == none || index_of_[b] == none) return;
    out_.relations.push_back({kind, index_of_[a], index_of_[b], delta});
  }

  void emit_relations() {
    for (ValueId id = 0; id < homes_.size(); ++id) {
      const ValueHome& h = homes_[id];
      if (h.kind != ValueHome::Kind::storage || h.source == id) continue;
      const std::uint64_t offset = h.offset - homes_[h.source].offset;
      const bool whole = offset == 0 && h.size == homes_[h.source].size;
      relate(whole ? StorageRelation::Kind::same : StorageRelation::Kind::inside, h.source, id,
             offset);
    }
    for (const TimelineBody& b : t_.bodies) {
      for (const Node* n : b.body->nodes) {
        if (n->op != node::join) continue;
        const ValueHome& whole = homes_[n->results[0].id];
        for (Value v : n->operands) {
          const ValueHome& part = homes_[v.id()];
          if (part.kind == ValueHome::Kind::storage)
            relate(StorageRelation::Kind::inside, whole.source, part.source,
                   homes_[part.source].offset - whole.offset);
        }
      }
    }
    for (std::uint32_t s = 0; s < t_.n_steps(); ++s) {
      const Node& n = *t_.steps[s].node;
      if (n.op != node::branch) continue;
      for (std::uint32_t j = 0; j < n.results.size(); ++j) {
        for (std::uint32_t k = 0; k < 2; ++k) {
          const Value arm = t_.bodies[t_.arm_body(s, k)].body->results[j];
          if (homes_[arm.id()].kind != ValueHome::Kind::storage) continue;
          relate(StorageRelation::Kind::same, n.results[j].id, homes_[arm.id()].source, 0);
        }
      }
    }
    for (const TimelineStep& s : t_.steps) {
      if (!s.back_edge) continue;
      for (std::uint32_t j = 0; j < s.node->results.size(); ++j)
        relate_carried(s.node->results[j].id, s.node->regions[0].results[j]);
    }
    for (const auto& [in, out] : io_.state)
      relate_carried(t_.main->param(in).id(), t_.main->body.results[out]);
  }

  /// What stands in the storage of the old value.
  void relate_carried(ValueId old, Value v) {
    const ValueHome& made = homes_[v.id()];
    if (made.kind == ValueHome::Kind::storage && made.source != old &&
        made.owner == homes_[old].owner)
      relate(StorageRelation::Kind::same, old, made.source, 0);
  }

  const tir::Buffer* buffer(const KernelFunction& k, std::size_t arg) const {
    for (const tir::Buffer& b : k.kernel.buffers) {
      if (b.scope != tir::Scope::worker && b.arg == arg) return &b;
    }
    return nullptr;
  }

  /// Bytes moved, alignment asked and targets that touch: per operand and result of each step.
  void note_accesses() {
    for (std::uint32_t s = 0; s < t_.n_steps(); ++s) {
      const TimelineStep& step = t_.steps[s];
      if (step.node->op == node::loop) {  // the number of the iteration
        const ValueId i = step.node->regions[0].entry->results[0].id;
        note_access(step, i, 0, true);
        if (step.back_edge) note_access(step, i, 0, false);
      }
      if (step.back_edge) {
        note_copies(step);
        continue;
      }
      const std::size_t n_operands = step.node->operands.size();
      for (std::size_t k = 0; k < n_operands; ++k)
        note_access(step, step.node->operands[k].id(), k, false);
      if (step.node->op == node::branch) continue;
      for (std::size_t k = 0; k < step.node->results.size(); ++k) {
        note_access(step, step.node->results[k].id, n_operands + k, true);
      }
    }
  }

  /// Of a back edge.
  void note_copies(const TimelineStep& step) {
    for (std::uint32_t j = 0; j < step.node->results.size(); ++j) {
      const ValueId made = step.node->regions[0].results[j].id(), to = step.node->results[j].id;
      if (homes_[made].owner == homes_[to].owner) continue;
      note_access(step, made, j, false);
      note_access(step, to, j, true);
    }
  }

  void note_access(const TimelineStep& step, ValueId id, std::size_t arg, bool write) {
    const std::uint32_t index = index_of_[id];
    if (index == none) return;  // the caller's, or 0 bytes
    StorageValue& v = out_.values[index];
    (write ? v.writes : v.reads) += v.size;
    if (!step.kernel) return;
    if (const tir::Buffer* b = buffer(*step.kernel, arg)) v.align = std::max(v.align, b->align);
    note_target(facts_[index], step.kernel->target, write);
    if (write) {
      v.op = step.kernel->kernel.symbol;
      facts_[index].compute = step.kernel->compute;
      facts_[index].on = step.kernel->target;
      note_wishes(*step.kernel, arg - step.node->operands.size(), v, facts_[index]);
    }
  }

  /// What the tensor expression asks of output `k`'s storage.
  void note_wishes(const KernelFunction& k, std::size_t output, StorageValue& v,
                   PlacementFacts& f) const {
    const auto it = asking_.find(k.compute);
    if (it == asking_.end() || output >= it->second->outputs.size()) return;
    const te::Stage& s = it->second->stages[it->second->outputs[output]];
    v.align = std::max(v.align, s.align);
    f.pools = s.pools;
  }

  void note_target(PlacementFacts& f, std::string_view target, bool write) {
    for (auto& [id, writes] : f.targets) {
      if (id == target) {
        writes |= write;
        return;
      }
    }
    f.targets.emplace_back(target, write);
  }

  void emit_scratch() {
    for (std::uint32_t s = 0; s < t_.n_steps(); ++s) {
      const TimelineStep& step = t_.steps[s];
      if (!step.kernel) continue;
      ValueId id = step.scratch;
      for (const tir::Buffer& b : step.kernel->kernel.buffers) {
        if (b.scope != tir::Scope::shared) continue;
        TensorType type{b.dtype, Shape{static_cast<std::int64_t>(b.elements)}};
        scratch(step, s, id++, b.name, byte_size(type).value_or(0),
                std::max(b.align, natural_align(type)), Role::scratch);
      }
      const tir::Kernel& k = step.kernel->kernel;
      scratch(step, s, id, "worker", k.worker_bytes, k.worker_align, Role::worker);
    }
  }

  void scratch(const TimelineStep& step, std::uint32_t s, ValueId id, const std::string& what,
               std::uint64_t size, std::uint64_t align, Role role) {
    if (size == 0) return;
    StorageValue v{.id = id,
                   .name = step.name + "." + what,
                   .size = size,
                   .align = align,
                   .live = {{s, s + 1}},
                   .role = role,
                   .reads = size,
                   .writes = size,
                   .op = step.kernel->kernel.symbol};
    push(std::move(v), id);
    facts_.back().compute = step.kernel->compute;
    facts_.back().on = step.kernel->target;
    note_target(facts_.back(), step.kernel->target, true);
  }

  const Module& m_;
  const MemoryConfig& config_;
  const IoBinding& io_;
  const Timeline& t_;
  const std::vector<ValueHome>& homes_;
  std::vector<std::vector<Lifetime>> spans_;  ///< by value id
  std::vector<std::uint32_t> index_of_;       ///< by value id: index into out_.values, or none
  std::vector<bool> is_output_,
      lasting_,  ///< by value id of an owner: a result; needed after the last step
      is_state_;
  std::vector<PlacementFacts> facts_;  ///< by value
  struct Nothing {};
  FlatMap<std::string_view, Nothing> names_;
  std::unordered_map<std::string_view, const te::Compute*> asking_;  ///< by name: for storage
  StorageValues out_;
};

}  // namespace

Result<StorageValues> storage_values(const Module& m, const MemoryConfig& config) {
  auto timeline = timeline_of(m);
  if (!timeline) return timeline.errors();
  auto io = io_binding(*timeline->main, config);
  if (!io) return io.errors();
  auto homes = homes_of(*timeline, *io);
  if (!homes) return homes.errors();
  return Liveness(m, config, *io, *timeline, *homes).run();
}

}  // namespace tenon
