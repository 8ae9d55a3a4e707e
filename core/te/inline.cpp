// inline_stages: which stages need storage of their own, and rewriting the others away.
//
// One round walks the stages in order and rewrites each over the stages before it; rounds repeat
// until nothing changes (a round that changes something removes a stage, so this ends).
#include <algorithm>
#include <map>

#include "core/te/copy.h"
#include "tenon/diag.h"

namespace tenon::te {

namespace {

/// A stage whose expression passes this many nodes is not inlined further; bounds the growth
/// through chains of stages that are loaded at several indices.
constexpr std::size_t max_nodes = 4096;

std::uint64_t size_of(const Stage& s) {
  return elements(TensorType(s.dtype, s.shape())).value_or(UINT64_MAX);
}

class Round {
 public:
  explicit Round(const Compute& c) : in_(c), b_(c.inputs) {
    out_.inputs = c.inputs;
    out_.outputs = c.outputs;
    uses_.resize(c.stages.size());
    decide();
  }

  Compute run() {
    for (std::uint32_t s = 0; s < in_.stages.size(); ++s) {
      Stage stage = in_.stages[s];
      stage.value = rewrite(stage.value);
      out_.stages.push_back(std::move(stage));
      absorb(s);
    }
    out_.exprs = b_.take().exprs;
    return drop_dead();
  }

 private:
  struct Use {
    std::uint32_t consumer;
    ExprId load;
    bool under_reduce;
  };

  bool is_output(std::uint32_t s) const {
    return std::find(in_.outputs.begin(), in_.outputs.end(), s) != in_.outputs.end();
  }

  /// Collects the loads of every stage, then decides which stages are inlined.
  void decide() {
    for (std::uint32_t s = 0; s < in_.stages.size(); ++s) {
      const auto all = reachable(in_, in_.stages[s].value);
      std::vector<bool> under(in_.exprs.size(), false);
      for (auto id = all.rbegin(); id != all.rend(); ++id) {  // users before operands
        const Expr& e = in_.exprs[*id];
        for (ExprId a : e.args) under[a] = under[a] || under[*id] || e.kind == Kind::reduce;
      }
      for (ExprId id : all)
        if (const Expr& e = in_.exprs[id]; e.kind == Kind::load && !in_.is_input(e.n))
          uses_[e.n - in_.inputs.size()].push_back({s, id, under[id]});
    }
    for (std::uint32_t s = 0; s < in_.stages.size(); ++s) inlined_.push_back(can_inline(s));
  }

  bool can_inline(std::uint32_t s) const {
    const Stage& stage = in_.stages[s];
    if (is_output(s) || !stage.reduce.empty()) return false;
    const auto all = reachable(in_, stage.value);
    if (all.size() > max_nodes) return false;
    bool guarded = false, costly = false;
    for (ExprId id : all) {
      const Expr& e = in_.exprs[id];
      guarded |= is_guarded_load(in_, e);
      costly |= e.kind == Kind::scalar && is_transcendental(e.op);
    }
    bool folded = false, repeated = uses_[s].size() > 1;
    for (const Use& u : uses_[s]) {
      folded |= u.under_reduce;
      repeated |= u.under_reduce || size_of(in_.stages[u.consumer]) > size_of(stage);
    }
    return !(guarded && folded) && !(costly && repeated);
  }

  /// The value of an inlined stage at `index`, in terms of what is left. With a guard, loads happen
  /// only where it holds.
  ExprId instantiate(std::uint32_t s, const std::vector<ExprId>& index, ExprId guard) {
    if (guard == none && is_identity(index)) return out_.stages[s].value;
    auto key = std::make_tuple(s, index, guard);
    if (auto it = instances_.find(key); it != instances_.end()) return it->second;
    const auto all = reachable(b_.get(), out_.stages[s].value);
    std::map<ExprId, ExprId> map;
    auto mapped_args = [&](Expr e) {
      for (ExprId& a : e.args) a = map.at(a);
      return e;
    };
    for (ExprId id : all) {
      const Expr e = b_.get().exprs[id];
      if (e.kind == Kind::axis) {
        map[id] = index[e.n];
      } else if (e.kind == Kind::load) {
        ExprId load = b_.add(mapped_args(e));
        map[id] = guard == none ? load : guarded(guard, load, zero(e.dtype));
      } else if (guard != none && is_guarded_load(b_.get(), e)) {
        ExprId load = b_.add(mapped_args(b_.get().exprs[e.args[1]]));
        map[id] = guarded(both(map.at(e.args[0]), guard), load, map.at(e.args[2]));
      } else {
        map[id] = fold(mapped_args(e));
      }
    }
    return instances_[key] = map.at(out_.stages[s].value);
  }

  /// Whether index k is axis k.
  bool is_identity(const std::vector<ExprId>& index) const {
    for (std::size_t k = 0; k < index.size(); ++k)
      if (const Expr& e = b_.get().exprs[index[k]]; e.kind != Kind::axis || e.n != k) return false;
    return true;
  }

  E handle(ExprId id) { return {&b_, id}; }
  ExprId zero(DType t) { return b_.imm_int(t, 0).id; }
  ExprId both(ExprId a, ExprId b) { return (handle(a) && handle(b)).id; }
  ExprId guarded(ExprId cond, ExprId load, ExprId other) {
    return select(handle(cond), handle(load), handle(other)).id;
  }
  ExprId fold(Expr e) {
    if (e.kind != Kind::scalar) return b_.add(std::move(e));
    std::vector<E> args;
    for (ExprId a : e.args) args.push_back(handle(a));
    return b_.scalar(e.op, e.dtype, args).id;
  }

  /// An expression of the old compute over the new stages.
  ExprId rewrite(ExprId root) {
    std::vector<ExprId> map(root + 1, none);
    for (ExprId id : reachable(in_, root)) {
      Expr e = mapped(in_.exprs[id], map);
      const Expr* load =
          is_guarded_load(in_, in_.exprs[id]) ? &in_.exprs[in_.exprs[id].args[1]] : nullptr;
      if (load && inlined_load(*load)) {
        e.args[1] = instantiate(stage_of(*load), mapped(*load, map).args, e.args[0]);
        map[id] = fold(std::move(e));
      } else if (load) {
        e.args[1] = b_.add(mapped(*load, map));
        map[id] = fold(std::move(e));
      } else if (inlined_load(in_.exprs[id])) {
        map[id] = instantiate(stage_of(e), e.args, none);
      } else {
        map[id] = fold(std::move(e));
      }
    }
    return map[root];
  }

  std::uint32_t stage_of(const Expr& load) const {
    return load.n - static_cast<std::uint32_t>(in_.inputs.size());
  }
  bool inlined_load(const Expr& e) const {
    return e.kind == Kind::load && !in_.is_input(e.n) && inlined_[stage_of(e)];
  }

  /// Stage s, if elementwise over a reduction that only s loads, its axes perhaps in another order,
  /// becomes that reduction with s as its epilogue.
  void absorb(std::uint32_t s) {
    Stage& stage = out_.stages[s];
    if (!stage.reduce.empty()) return;
    ExprId found = none;
    for (ExprId id : reachable(b_.get(), stage.value))
      if (const Expr& e = b_.get().exprs[id]; e.kind == Kind::load && absorbable(s, e)) found = id;
    if (found == none) return;
    const std::vector<ExprId> index = b_.get().exprs[found].args;
    const Stage producer = out_.stages[stage_of(b_.get().exprs[found])];
    const ExprId folded = over(producer.value, index);
    std::vector<ExprId> map(stage.value + 1, none);
    for (ExprId id : reachable(b_.get(), stage.value))
      map[id] = id == found ? folded : fold(mapped(Expr(b_.get().exprs[id]), map));
    stage.value = map[stage.value];
    stage.reduce = producer.reduce;
    inlined_[s] = false;
  }

  /// `root` with index[k] for each output axis k.
  ExprId over(ExprId root, const std::vector<ExprId>& index) {
    if (is_identity(index)) return root;
    std::map<ExprId, ExprId> map;
    for (ExprId id : reachable(b_.get(), root)) {
      Expr e = b_.get().exprs[id];
      for (ExprId& a : e.args) a = map.at(a);
      const bool renamed = e.kind == Kind::axis && e.n < index.size();
      map[id] = renamed ? index[e.n] : fold(std::move(e));
    }
    return map.at(root);
  }

  bool absorbable(std::uint32_t s, const Expr& load) const {
    if (in_.is_input(load.n)) return false;
    const std::uint32_t p = stage_of(load);
    const Stage& producer = out_.stages[p];
    const std::vector<Axis>& axes = out_.stages[s].axes;
    if (producer.reduce.empty() || is_output(p) || producer.axes.size() != axes.size())
      return false;
    std::vector<bool> taken(axes.size(), false);
    for (std::size_t k = 0; k < load.args.size(); ++k) {
      const Expr& i = b_.get().exprs[load.args[k]];
      if (producer.axes[k].extent == 1 && i.kind == Kind::imm) continue;
      if (i.kind != Kind::axis || taken[i.n] || axes[i.n].extent != producer.axes[k].extent)
        return false;
      taken[i.n] = true;
    }
    for (std::size_t k = 0; k < axes.size(); ++k)
      if (!taken[k] && axes[k].extent != 1) return false;
    return loaded_once(s, p);
  }

  /// Nobody but stage s loads stage p, and s does so at one index, not as a guarded load.
  bool loaded_once(std::uint32_t s, std::uint32_t p) const {
    if (!used_only_through(s, p)) return false;
    const Compute& c = b_.get();
    int loads = 0;
    for (ExprId id : reachable(c, out_.stages[s].value)) {
      const Expr& e = c.exprs[id];
      if (e.kind == Kind::load && e.n == in_.tensor_of_stage(p)) ++loads;
      if (is_guarded_load(c, e) && c.exprs[e.args[1]].n == in_.tensor_of_stage(p)) return false;
      if (e.kind == Kind::load)
        for (ExprId a : e.args)
          if (c.exprs[a].kind == Kind::load && c.exprs[a].n == in_.tensor_of_stage(p)) return false;
    }
    return loads == 1;
  }

  /// Every way from p to another stage leads through stages that were inlined into s alone, or is s
  /// itself.
  bool used_only_through(std::uint32_t s, std::uint32_t p) const {
    std::vector<std::uint32_t> stack{p};
    std::vector<bool> seen(in_.stages.size(), false);
    while (!stack.empty()) {
      std::uint32_t at = stack.back();
      stack.pop_back();
      for (const Use& u : uses_[at]) {
        if (u.consumer == s || seen[u.consumer]) continue;
        seen[u.consumer] = true;
        if (!inlined_[u.consumer]) return false;
        stack.push_back(u.consumer);
      }
    }
    return true;
  }

  Compute drop_dead() const {
    std::vector<bool> live(out_.stages.size(), false);
    for (std::uint32_t o : out_.outputs) live[o] = true;
    for (std::size_t s = out_.stages.size(); s-- > 0;) {
      if (!live[s]) continue;
      for (ExprId id : reachable(out_, out_.stages[s].value))
        if (const Expr& e = out_.exprs[id]; e.kind == Kind::load && !out_.is_input(e.n))
          live[stage_of(e)] = true;
    }
    Compute r;
    r.inputs = out_.inputs;
    std::vector<std::uint32_t> number(out_.stages.size(), none);
    for (std::size_t s = 0; s < out_.stages.size(); ++s) {
      if (!live[s]) continue;
      number[s] = static_cast<std::uint32_t>(r.stages.size());
      r.stages.push_back(out_.stages[s]);
    }
    for (std::uint32_t o : out_.outputs) r.outputs.push_back(number[o]);
    r.exprs = out_.exprs;
    for (Expr& e : r.exprs)
      if (e.kind == Kind::load && !r.is_input(e.n)) e.n = in_.tensor_of_stage(number[stage_of(e)]);
    return compact(r);
  }

  const Compute& in_;
  Builder b_;    // expressions of the result
  Compute out_;  // stages of the result, numbered as in `in_`
  std::vector<std::vector<Use>> uses_;
  std::vector<bool> inlined_;
  std::map<std::tuple<std::uint32_t, std::vector<ExprId>, ExprId>, ExprId> instances_;
};

}  // namespace

Compute compact(const Compute& c) {
  Builder b(c.inputs);
  Compute r = c;
  std::vector<ExprId> map(c.exprs.size(), none);
  for (Stage& s : r.stages) {
    for (ExprId id : reachable(c, s.value))
      if (map[id] == none) map[id] = b.add(mapped(c.exprs[id], map));
    s.value = map[s.value];
  }
  r.exprs = b.take().exprs;
  return r;
}

Compute inline_stages(const Compute& c) {
  Compute now = Round(c).run();
  for (;;) {
    Compute next = Round(now).run();
    if (next == now) return now;
    now = std::move(next);
  }
}

}  // namespace tenon::te
