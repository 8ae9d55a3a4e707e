// Where the bytes of each value are: see timeline.h.
#include <fmt/format.h>

#include "core/storage/timeline.h"

namespace tenon {
namespace {

struct HashOfBytes {
  std::size_t operator()(const ConstantData* c) const { return c->hash[0]; }
};
struct SameBytes {
  bool operator()(const ConstantData* a, const ConstantData* b) const { return same_bytes(*a, *b); }
};

class Homes {
 public:
  Homes(const Timeline& t, const IoBinding& io) : t_(t), io_(io) {
    homes_.resize(t.main->next_id);
    same_as_.assign(t.main->next_id, none);
    inside_at_.assign(t.main->next_id, 0);
  }

  Result<std::vector<ValueHome>> run() {
    define_sources();
    define_aliases();
    if (errors_.empty()) link_constants();
    if (errors_.empty()) link_arms();
    if (errors_.empty()) link_loops();
    if (errors_.empty()) bind_io();
    if (!errors_.empty()) return std::move(errors_);
    resolve();
    return std::move(homes_);
  }

 private:
  static constexpr ValueId none = UINT32_MAX;

  void fail(int code, const Loc& loc, std::string what, std::string fix) {
    if (errors_.size() < 20) {
      errors_.push_back({.code = code, .loc = loc, .what = std::move(what), .fix = std::move(fix)});
    }
  }

  ValueHome& at(Value v) { return homes_[v.id()]; }

  /// False when the size is unknown.
  bool define(Value v, ValueId source, std::uint32_t body, std::uint32_t def) {
    const auto size = byte_size(v.type());
    if (!size) {
      fail(4202, v.node->loc,
           fmt::format("the size of `{}`, {}, is not known before the run or passes 2^63 bytes",
                       value_name(v.node->results[v.index]), to_string(v.type())),
           "give every symbolic dimension a number before planning");
      return false;
    }
    at(v) = {.kind = *size == 0 ? ValueHome::Kind::empty : ValueHome::Kind::storage,
             .value = v,
             .source = source,
             .owner = source,
             .size = *size,
             .body = body,
             .def = def};
    return true;
  }

  void define_results(const Node& n, std::uint32_t body, std::uint32_t def) {
    for (std::uint32_t k = 0; k < n.results.size(); ++k)
      define({&n, k}, n.results[k].id, body, def);
  }

  void define_sources() {
    define_results(*t_.main->body.entry, 0, 0);
    for (const TimelineBody& b : t_.bodies) {
      for (const Node* n : b.body->nodes) {
        if (n->op == node::constant) define_results(*n, 0, 0);
      }
    }
    for (std::uint32_t s = 0; s < t_.n_steps(); ++s) {
      const TimelineStep& step = t_.steps[s];
      if (step.back_edge) continue;
      step_of_.emplace(step.node, s);
      const bool branch = step.node->op == node::branch;
      define_results(*step.node, step.body, branch ? t_.after(s) : s);
      if (step.node->op == node::loop) define_carried(*step.node, step.body, s);
    }
  }

  /// What the body of a loop sees: the number of the iteration, and the carried values, which are
  /// the loop's results until it ends. The opener writes them.
  void define_carried(const Node& n, std::uint32_t body, std::uint32_t s) {
    const Node& entry = *n.regions[0].entry;
    define({&entry, 0}, entry.results[0].id, body, s);
    for (std::uint32_t j = 0; j < n.results.size(); ++j)
      define({&entry, j + 1}, n.results[j].id, body, s);
  }

  void define_aliases() {  // outer bodies come first, so operands are defined
    for (const TimelineBody& b : t_.bodies) {
      for (const Node* n : b.body->nodes) {
        if (n->op == node::view || n->op == node::debug) define_alias(*n);
        if (n->op == node::join) define_join(*n, static_cast<std::uint32_t>(&b - t_.bodies.data()));
      }
    }
  }

  /// The result is there when the last operand is written; each of them inside it.
  void define_join(const Node& n, std::uint32_t body) {
    std::uint32_t def = 0;
    for (Value v : n.operands) def = std::max(def, at(v).def);
    if (!define({&n, 0}, n.results[0].id, body, def)) return;
    std::uint64_t offset = 0;
    for (Value v : n.operands) {
      const ValueHome& h = at(v);
      if (h.kind != ValueHome::Kind::storage) continue;
      if (own(v, body, n.results[0].id,
              fmt::format("operand of `join` (`{}`)", value_name(n.results[0]))))
        inside_at_[h.source] = offset;
      offset += h.size;
    }
  }

  void define_alias(const Node& n) {
    const ValueHome base = at(n.operands[0]);
    if (base.kind == ValueHome::Kind::unused) return;  // its size is unknown: reported there
    const auto offset = n.op == node::view ? n.attrs.get_or<std::int64_t>("offset", 0) : 0;
    if (!define({&n, 0}, base.source, base.body, base.def)) return;
    ValueHome& h = homes_[n.results[0].id];
    const auto end = checked_add(static_cast<std::uint64_t>(offset), h.size);
    if (offset < 0 || !end || *end > base.size) {
      return fail(
          4202, n.loc,
          fmt::format("view `{}` of {} bytes at offset {} leaves its base `{}` of {} bytes",
                      value_name(n.results[0]), h.size, offset,
                      value_name(n.operands[0].node->results[n.operands[0].index]), base.size),
          "");
    }
    h.offset = base.offset + static_cast<std::uint64_t>(offset);
    h.source = h.owner = base.source;
  }

  /// Constants that something reads, one per distinct contents.
  void link_constants() {
    std::vector<bool> read(homes_.size());
    for (const TimelineBody& b : t_.bodies) {
      for (const Node* n : b.body->nodes) {
        for (Value v : n->operands) read[v.id()] = true;
      }
    }
    std::unordered_map<const ConstantData*, ValueId, HashOfBytes, SameBytes> first;
    for (const TimelineBody& b : t_.bodies) {
      for (const Node* n : b.body->nodes) {
        if (n->op != node::constant) continue;
        const ValueId id = n->results[0].id;
        if (homes_[id].kind != ValueHome::Kind::storage) continue;
        if (!read[id]) {
          homes_[id].kind = ValueHome::Kind::unused;
          continue;
        }
        const auto [it, fresh] = first.emplace(n->attrs.get<Constant>("value")->get(), id);
        if (!fresh) same_as_[id] = it->second;
      }
    }
  }

  /// Makes `result` of `body` the storage of `into`; 4203 unless it is all of a value that a step
  /// of that body writes.
  bool own(Value result, std::uint32_t body, ValueId into, std::string_view what) {
    const ValueHome& h = at(result);
    if (h.kind == ValueHome::Kind::empty) return true;
    const ValueHome& source = homes_[h.source];
    const Node* writer = source.value.node;
    const bool step = writer->op == node::call_kernel || writer->op == node::copy ||
                      writer->op == node::branch || writer->op == node::loop;
    if (!step || source.body != body || h.offset != 0 || h.size != source.size ||
        same_as_[h.source] != none) {
      fail(4203, result.node->loc, fmt::format("{} has no storage of its own", what),
           "run make_outputs_ownable() before planning");
      return false;
    }
    if (into != h.source) same_as_[h.source] = into;
    return true;
  }

  void link_arms() {
    for (std::uint32_t s = 0; s < t_.n_steps(); ++s) {
      const Node& n = *t_.steps[s].node;
      if (n.op != node::branch) continue;
      for (std::uint32_t k = 0; k < 2; ++k) {
        const std::uint32_t arm = t_.arm_body(s, k);
        const std::vector<Value>& results = t_.bodies[arm].body->results;
        for (std::uint32_t j = 0; j < n.results.size(); ++j) {
          own(results[j], arm, n.results[j].id,
              fmt::format("result {} of the {} arm of `if` (`{}`)", j, k == 0 ? "then" : "else",
                          value_name(n.results[j])));
        }
      }
    }
  }

  using LastReads = std::unordered_map<ValueId, std::uint32_t>;

  /// Last of the steps [first, end) that reads each source; none: not there.
  LastReads last_reads(std::uint32_t first, std::uint32_t end) const {
    LastReads out;
    const auto read = [&](Value v, std::uint32_t s) {
      std::uint32_t& last = out[homes_[v.id()].source];
      last = std::max(last, s);
    };
    for (std::uint32_t s = first; s < end; ++s) {
      const TimelineStep& step = t_.steps[s];
      const auto& values = step.back_edge ? step.node->regions[0].results : step.node->operands;
      for (Value v : values) read(v, s);
    }
    return out;
  }

  /// `made` may be written over `old`: nothing reads the old value from then on, but the step that
  /// writes, element by element.
  bool replaces(Value made, ValueId old, const LastReads& last_read) const {
    const Value source = homes_[homes_[made.id()].source].value;
    const auto it = last_read.find(old);
    const auto write = step_of_.find(source.node);  // the first: an `if` and a `loop` write inside
    if (write == step_of_.end()) return false;
    if (it == last_read.end() || it->second < write->second) return true;
    return it->second == write->second && in_place(t_.steps[write->second], source.index, old);
  }

  /// Step `s` reads all of `old` as one operand, in whose place it may write result `k`.
  bool in_place(const TimelineStep& s, std::uint32_t k, ValueId old) const {
    if (!s.kernel && s.node->op != node::copy) return false;
    const auto n_inputs = static_cast<std::uint32_t>(s.node->operands.size());
    for (std::uint32_t i = 0; i < n_inputs; ++i) {
      const ValueHome& h = homes_[s.node->operands[i].id()];
      if (h.source != old) continue;
      if (h.offset != 0 || h.size != homes_[old].size) return false;
      if (s.kernel && !declares(s.kernel->kernel, i, n_inputs + k)) return false;
    }
    return true;
  }
  static bool declares(const tir::Kernel& k, std::uint32_t in, std::uint32_t out) {
    return std::find(k.inplace.begin(), k.inplace.end(), std::pair{in, out}) != k.inplace.end();
  }

  void link_loops() {
    for (std::uint32_t s = t_.n_steps(); s-- > 0;) {  // inner loops first
      const Node& n = *t_.steps[s].node;
      if (n.op != node::loop || t_.steps[s].back_edge) continue;
      const TimelineBody& loop = t_.bodies[t_.arm_body(s, 0)];
      const LastReads last_read = last_reads(loop.first, loop.end - 1);
      for (std::uint32_t j = 0; j < n.results.size(); ++j) {
        const Value made = loop.body->results[j];
        const ValueHome& h = homes_[made.id()];
        if (h.source == n.results[j].id && h.offset == 0) continue;  // it stays as it is
        const bool here = replaces(made, n.results[j].id, last_read);
        own(made, t_.arm_body(s, 0), here ? n.results[j].id : h.source,
            fmt::format("result {} of the body of `loop` (`{}`)", j, value_name(n.results[j])));
      }
    }
  }

  void bind_io() {
    for (std::uint32_t i = 0; i < t_.main->n_params(); ++i) {
      if (!io_.input_planned(i)) bind(t_.main->param(i), ValueHome::Kind::input, i);
    }
    const LastReads last_read = io_.state.empty() ? LastReads() : last_reads(0, t_.n_steps());
    const auto storage_of = [&](std::uint32_t j, ValueId source) {
      for (const auto& [in, out] : io_.state) {
        const ValueId old = t_.main->param(in).id();
        if (out == j && replaces(t_.main->body.results[j], old, last_read)) return old;
      }
      return source;
    };
    std::vector<bool> taken(homes_.size());
    for (std::uint32_t j = 0; j < t_.main->body.results.size(); ++j) {
      const Value v = t_.main->body.results[j];
      const ValueId source = at(v).source;
      if (at(v).kind == ValueHome::Kind::empty) continue;
      if (!own(v, 0, storage_of(j, source), fmt::format("result {} of `main`", j))) continue;
      if (taken[source]) {
        fail(4203, v.node->loc,
             fmt::format("result {} of `main` is the storage of an earlier result", j),
             "run make_outputs_ownable() before planning");
      }
      taken[source] = true;
      if (!io_.output_planned(j)) bind(homes_[source].value, ValueHome::Kind::output, j);
    }
  }

  void bind(Value v, ValueHome::Kind kind, std::uint32_t index) {
    if (at(v).kind == ValueHome::Kind::empty) return;
    at(v).kind = kind;
    at(v).index = index;
  }

  void resolve() {
    for (ValueHome& h : homes_) {
      if (h.kind == ValueHome::Kind::unused || h.kind == ValueHome::Kind::empty) continue;
      while (same_as_[h.owner] != none) {  // at most one link per nested `if`, and one of a join
        h.offset += inside_at_[h.owner];
        h.owner = same_as_[h.owner];
      }
      const ValueHome& owner = homes_[h.owner];
      h.kind = owner.kind;
      h.index = owner.index;
    }
  }

  const Timeline& t_;
  const IoBinding& io_;
  std::vector<ValueHome> homes_;
  std::vector<ValueId> same_as_;          ///< by id of a source: whose storage it is, or none
  std::vector<std::uint64_t> inside_at_;  ///< ... and from which byte of it on
  std::unordered_map<const Node*, std::uint32_t> step_of_;  ///< the opener of an `if` or `loop`
  Diags errors_;
};

}  // namespace

bool IoBinding::input_planned(std::uint32_t i) const {
  return planned || std::any_of(state.begin(), state.end(), [&](auto s) { return s.first == i; });
}
bool IoBinding::output_planned(std::uint32_t j) const {
  return planned || std::any_of(state.begin(), state.end(), [&](auto s) { return s.second == j; });
}

Result<std::vector<ValueHome>> homes_of(const Timeline& t, const IoBinding& io) {
  return Homes(t, io).run();
}

}  // namespace tenon
