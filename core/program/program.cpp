#include "core/program/program.h"

#include <fmt/format.h>

#include <map>
#include <tuple>

#include "core/program/dead_ranges.h"
#include "core/storage/timeline.h"

namespace tenon {
namespace {

class ProgramBuilder {
 public:
  ProgramBuilder(const Module& m, const Timeline& t, const std::vector<ValueHome>& homes,
                 const IoBinding& io, const StorageValues& values, const StorageRequest& request,
                 const StoragePlan& plan)
      : m_(m),
        t_(t),
        homes_(homes),
        io_(io),
        request_(request),
        plan_(plan),
        slot_(t.id_end),
        sweep_(values, places(values)) {}

  ExecProgram run() {
    out_.model = m_.name;
    out_.request_hash = plan_.request_hash;
    make_pools();
    make_constants();
    out_.steps = steps(0);
    make_io();
    keep_state();
    return std::move(out_);
  }

 private:
  /// Where each value is; fills slot_, by value id, on the way.
  std::vector<ArgPlace> places(const StorageValues& values) {
    for (std::size_t k = 0; k < request_.tokens.size(); ++k) {
      const Slot& s = plan_.slots[k];
      for (const TokenMember& m : request_.tokens[k].members) {
        if (m.id < slot_.size())
          slot_[m.id] = {ArgPlace::Kind::pool, s.pool, s.offset + m.offset, m.size};
      }
    }
    std::vector<ArgPlace> out;
    for (const StorageValue& v : values.values)
      out.push_back(v.id < slot_.size() ? slot_[v.id] : ArgPlace{});
    return out;
  }

  ArgPlace place(ValueId id) const {
    const ValueHome& h = homes_[id];
    switch (h.kind) {
      case ValueHome::Kind::input:
        return {ArgPlace::Kind::input, h.index, h.offset, h.size};
      case ValueHome::Kind::output:
        return {ArgPlace::Kind::output, h.index, h.offset, h.size};
      case ValueHome::Kind::storage: {
        ArgPlace p = slot_[h.owner];
        p.offset += h.offset;
        p.bytes = h.size;
        return p;
      }
      default:
        return {};  // 0 bytes: the start of the first pool
    }
  }

  void make_pools() {
    for (std::size_t p = 0; p < request_.pools.size(); ++p) {
      const StoragePool& pool = request_.pools[p];
      const bool data =
          std::find(pool.holds.begin(), pool.holds.end(), Holds::data) != pool.holds.end();
      const auto kind = data || pool.holds.empty()          ? ExecPool::Kind::data
                        : pool.holds[0] == Holds::constants ? ExecPool::Kind::constants
                                                            : ExecPool::Kind::worker;
      out_.pools.push_back(
          {pool.id, plan_.pools[p].peak, std::max<std::uint64_t>(64, pool.granule), kind});
    }
    for (std::size_t k = 0; k < request_.tokens.size(); ++k) {
      ExecPool& pool = out_.pools[plan_.slots[k].pool];
      pool.align = std::max(pool.align, request_.tokens[k].align);
    }
  }

  void make_constants() {
    for (ValueId id = 0; id < homes_.size(); ++id) {
      const ValueHome& h = homes_[id];
      if (h.kind != ValueHome::Kind::storage || h.owner != id || h.value.node->op != node::constant)
        continue;
      out_.constants.push_back(
          {slot_[id].index, slot_[id].offset, *h.value.node->attrs.get<Constant>("value")});
    }
  }

  /// Regions nest to at most 64 (timeline_of checks it), so this recursion is bounded.
  std::vector<ExecStep> steps(std::uint32_t body) {
    std::vector<ExecStep> out;
    const TimelineBody& b = t_.bodies[body];
    for (std::uint32_t s = b.first; s < b.end; s = t_.after(s)) {
      if (!t_.steps[s].back_edge) out.push_back(step(s));
    }
    return out;
  }

  ExecStep step(std::uint32_t s) {
    const TimelineStep& from = t_.steps[s];
    ExecStep out{.name = from.name};
    sweep_.advance(s);
    if (from.node->op == node::loop) {
      loop(s, out);
      return out;
    }
    for (Value v : from.node->operands) add(out, v.id());
    if (from.node->op == node::branch) {
      out.kind = ExecStep::Kind::branch;
      out.then_dead = sweep_.dying(t_.arm_entry(s, 0));
      out.else_dead = sweep_.dying(t_.arm_entry(s, 1));
      out.then_steps = steps(t_.arm_body(s, 0));
      out.else_steps = steps(t_.arm_body(s, 1));
      return out;
    }
    for (const NodeResult& r : from.node->results) add(out, r.id);
    out.dead = sweep_.dying(from.next);
    if (from.kernel) {
      call(from, out);
    } else {
      out.kind = ExecStep::Kind::copy;
    }
    return out;
  }

  void loop(std::uint32_t s, ExecStep& out) {
    const Node& n = *t_.steps[s].node;
    const TimelineBody& body = t_.bodies[t_.arm_body(s, 0)];
    out.kind = ExecStep::Kind::loop;
    add(out, n.operands[0].id());
    add(out, n.regions[0].entry->results[0].id);
    for (std::uint32_t j = 0; j < n.results.size(); ++j) {
      add(out, n.operands[j + 1].id());
      add(out, n.results[j].id);
      add(out, body.body->results[j].id());
    }
    out.then_dead = sweep_.dying(t_.arm_entry(s, 0));
    out.else_dead = sweep_.dying(t_.arm_entry(s, 1));
    out.then_steps = steps(t_.arm_body(s, 0));
    sweep_.advance(body.end - 1);
    out.next_dead = sweep_.dying(body.first);
    out.dead = sweep_.dying(t_.steps[s].next);
  }

  void add(ExecStep& out, ValueId id) const {
    out.args.push_back(place(id));
    const bool constant = homes_[id].value.node->op == node::constant;
    out.values.push_back(constant ? homes_[id].owner : id);  // identical constants are one
  }

  void call(const TimelineStep& from, ExecStep& out) {
    const tir::Kernel& k = from.kernel->kernel;
    const std::uint32_t n_shared = k.count(tir::Scope::shared);
    for (std::uint32_t i = 0; i < n_shared; ++i) out.args.push_back(slot_[from.scratch + i]);
    for (std::uint32_t i = 0; i < n_shared + (k.worker_bytes > 0); ++i)
      out.values.push_back(from.scratch + i);
    const ArgPlace worker = k.worker_bytes > 0 ? slot_[from.scratch + n_shared] : ArgPlace{};
    const auto [it, fresh] =
        kernels_.try_emplace({k.symbol, worker.index, worker.offset}, out_.kernels.size());
    if (fresh) {
      out_.kernels.push_back({k.symbol, k.count(tir::Scope::input), k.count(tir::Scope::output),
                              n_shared, k.extent, k.grain, k.work, k.worker_bytes, worker.index,
                              worker.offset});
    }
    out.kernel = static_cast<std::uint32_t>(it->second);
  }

  void make_io() {
    std::vector<std::uint64_t> aligns = caller_aligns();
    for (std::uint32_t i = 0; i < t_.main->n_params(); ++i) {
      const Value v = t_.main->param(i);
      ExecIo io{value_name(v.node->results[i]),
                v.type(),
                io_.input_planned(i),
                {ArgPlace::Kind::input, i, 0, 0},
                1};
      out_.inputs.push_back(complete(std::move(io), v.id(), aligns));
    }
    for (std::uint32_t j = 0; j < t_.main->body.results.size(); ++j) {
      const Value v = t_.main->body.results[j];
      const std::string& name =
          j < t_.main->result_names.size() && !t_.main->result_names[j].empty()
              ? t_.main->result_names[j]
              : value_name(v.node->results[v.index]);
      ExecIo io{name, v.type(), io_.output_planned(j), {ArgPlace::Kind::output, j, 0, 0}, 1};
      out_.outputs.push_back(complete(std::move(io), v.id(), aligns));
    }
  }

  /// Outputs of the state stand where their inputs do; what was written elsewhere is copied there.
  void keep_state() {
    for (const auto& [in, out] : io_.state) {
      ExecIo &input = out_.inputs[in], &output = out_.outputs[out];
      input.state = true;
      if (!(output.place == input.place))
        out_.steps.push_back({.kind = ExecStep::Kind::copy,
                              .name = "keep " + input.name,
                              .args = {output.place, input.place}});
      output.place = input.place;
    }
  }

  ExecIo complete(ExecIo io, ValueId id, const std::vector<std::uint64_t>& aligns) const {
    io.place.bytes = homes_[id].size;
    if (homes_[id].kind == ValueHome::Kind::storage) io.place = place(id);
    if (homes_[id].kind != ValueHome::Kind::empty) io.align = aligns[homes_[id].owner];
    return io;
  }

  /// By id of the owner: the strictest alignment that a kernel asks of it. Offsets keep it
  /// (make_outputs_ownable).
  std::vector<std::uint64_t> caller_aligns() const {
    std::vector<std::uint64_t> out(homes_.size(), 1);
    const auto ask = [&](ValueId id, std::uint64_t align) {
      if (homes_[id].kind == ValueHome::Kind::empty) return;
      out[homes_[id].owner] = std::max(out[homes_[id].owner], align);
    };
    for (const ValueHome& h : homes_) {
      if (h.value.node)
        ask(h.value.id(), std::max<std::uint64_t>(1, bits(h.value.type().dtype) / 8));
    }
    for (const TimelineStep& s : t_.steps) {
      if (!s.kernel) continue;
      for (const tir::Buffer& b : s.kernel->kernel.buffers) {
        const std::size_t n = s.node->operands.size();
        if (b.scope == tir::Scope::input) ask(s.node->operands[b.arg].id(), b.align);
        if (b.scope == tir::Scope::output) ask(s.node->results[b.arg - n].id, b.align);
      }
    }
    return out;
  }

  const Module& m_;
  const Timeline& t_;
  const std::vector<ValueHome>& homes_;
  const IoBinding& io_;
  const StorageRequest& request_;
  const StoragePlan& plan_;
  std::vector<ArgPlace> slot_;  ///< by value id: where the values of the request are
  DeadRangeSweep sweep_;
  std::map<std::tuple<std::string, std::uint32_t, std::uint64_t>, std::size_t> kernels_;
  ExecProgram out_;
};

Status check_plan(const StorageRequest& request, const StoragePlan& plan) {
  const std::string hash = request_hash(request);
  if (plan.request_hash != hash) {
    return Diag{.code = 4501,
                .what = fmt::format(
                    "the storage plan is stale: it answers request {:.12}, the module asks {:.12}",
                    plan.request_hash, hash),
                .fix = "run the step `plan` after the last pass that changes memory"};
  }
  bool fits =
      plan.slots.size() == request.tokens.size() && plan.pools.size() == request.pools.size();
  for (const Slot& s : plan.slots) fits = fits && s.pool < request.pools.size();
  if (fits) return {};
  return Diag{
      .code = 4502,
      .what = fmt::format(
          "the storage plan has {} slots and {} pools; the request has {} tokens and {} pools",
          plan.slots.size(), plan.pools.size(), request.tokens.size(), request.pools.size()),
      .fix = "run the step `plan` again"};
}

/// Inputs and outputs are planned when they have storage; the values know.
IoBinding binding(const StorageValues& values) {
  const bool planned = std::any_of(
      values.values.begin(), values.values.end(),
      [](const StorageValue& v) { return v.role == Role::input || v.role == Role::output; });
  return {planned, values.state};
}

}  // namespace

Result<ExecProgram> build_program(const Module& m, const StorageValues& values,
                                  const StorageRequest& request, const StoragePlan& plan) {
  if (Status s = check_plan(request, plan); !s) return std::move(s).take();
  auto timeline = timeline_of(m);
  if (!timeline) return timeline.errors();
  const IoBinding io = binding(values);
  auto homes = homes_of(*timeline, io);
  if (!homes) return homes.errors();
  return ProgramBuilder(m, *timeline, *homes, io, values, request, plan).run();
}

}  // namespace tenon
