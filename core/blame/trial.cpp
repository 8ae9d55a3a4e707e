#include "core/blame/trial.h"

#include <fmt/format.h>

#include <cstring>

#include "core/blame/report_crash.h"
#include "core/blame/surroundings.h"
#include "core/support/isolated.h"
#include "core/support/machine.h"

namespace tenon::blame {

struct Bench::Memory {
  Pieces apart;    ///< the first run's: every block
  Pieces second;   ///< the second run's: every block but constants, which it shares with the first
  Pieces regions;  ///< the second run's: where the program has things
  SharedOutcome outcome;
};

namespace {

using Kind = Outcome::Kind;
constexpr std::chrono::seconds kLimit{60};

bool in(const std::vector<bool>& set, std::uint32_t block) {
  return block < set.size() && set[block];
}

std::byte* nothing() {
  alignas(64) static std::byte bytes[64];
  return bytes;
}

/// Where two ranges of `n` bytes differ; count is 0 when nowhere.
struct Diff {
  std::uint64_t first = 0, end = 0, count = 0;
};
Diff diff(const std::byte* a, const std::byte* b, std::uint64_t n) {
  Diff d;
  if (a == b || n == 0 || std::memcmp(a, b, n) == 0) return d;
  for (std::uint64_t i = 0; i < n; ++i) {
    if (a[i] == b[i]) continue;
    if (d.count++ == 0) d.first = i;
    d.end = i + 1;
  }
  return d;
}

/// From step to step until `each`, which gives the next one, gives none.
template <class Each>
void run_steps(const Subject& s, Each each) {
  for (std::optional<std::uint32_t> k = 0; k && *k < s.steps.size();) k = each(*k);
}

class Run {
 public:
  Run(const Subject& s, SharedOutcome& outcome, bool second)
      : s_(s), outcome_(outcome), second_(second) {}

  /// The step that runs then; none when the kernel failed.
  template <class At>
  std::optional<std::uint32_t> step(std::uint32_t k, At at) {
    const Step& step = s_.steps[k];
    args_.assign(1, nothing());  // never empty
    if (!step.args.empty()) args_.clear();
    for (const Arg& a : step.args) args_.push_back(a.block == none ? nothing() : at(a));
    outcome_.at(k, second_);
    std::uint32_t next = 0;
    if (tn_run_step(s_.model, step.number, step.turn, args_.data(), &next) == 0)
      return s_.after(k, next);
    Outcome o{.kind = Kind::failed, .step = k, .second = second_};
    std::strncpy(o.text, tn_last_error(), sizeof o.text - 1);
    outcome_.set(o);
    return std::nullopt;
  }

 private:
  const Subject& s_;
  SharedOutcome& outcome_;
  const bool second_;
  std::vector<void*> args_;
};

/// The second run's copies of blocks that the setup changes, and of constants when it does.
class Second {
 public:
  Second(const Subject& s, const Pieces& apart, const Pieces& second, const Pieces& regions,
         const Setup& setup)
      : s_(s), apart_(apart), second_(second), regions_(regions), setup_(setup) {
    std::vector<std::uint64_t> bytes;
    own_.assign(s.blocks.size(), none);
    for (std::uint32_t b = 0; b < s.blocks.size(); ++b) {
      const bool changed = b == setup.moved || in(setup.contents, b) || in(setup.margin, b);
      if (!changed) continue;
      own_[b] = static_cast<std::uint32_t>(bytes.size());
      bytes.push_back(s.blocks[b].bytes + shift(b));
    }
    auto made = Pieces::make(bytes);
    ok_ = static_cast<bool>(made);
    if (!ok_) return;
    copies_ = std::move(*made);
    for (std::uint32_t b = 0; b < own_.size(); ++b)
      if (own_[b] != none) copy(b);
  }

  bool ok() const { return ok_; }
  std::byte* at(const Arg& a) const {
    if (own_[a.block] != none) return copies_.at(own_[a.block]) + shift(a.block) + a.in_block;
    if (in(setup_.together, a.block)) return regions_.at(a.region) + a.offset;
    const bool shared = s_.blocks[a.block].constant;
    return (shared ? apart_ : second_).at(a.block) + a.in_block;
  }

 private:
  std::uint64_t shift(std::uint32_t b) const { return b == setup_.moved ? setup_.by : 0; }

  void copy(std::uint32_t b) {
    copies_.fill(own_[b], fill_a, in(setup_.margin, b) ? fill_b : fill_a);
    std::byte* to = copies_.at(own_[b]) + shift(b);
    bool given = s_.blocks[b].constant;
    for (const Arg& i : s_.inputs) given |= i.block == b;
    if (in(setup_.contents, b)) std::memset(to, static_cast<int>(fill_b), s_.blocks[b].bytes);
    if (given) std::memcpy(to, apart_.at(b), s_.blocks[b].bytes);
  }

  const Subject& s_;
  const Pieces &apart_, &second_, &regions_;
  const Setup& setup_;
  std::vector<std::uint32_t> own_;
  Pieces copies_;
  bool ok_ = false;
};

/// The arguments of one kind of a step, in both runs.
bool same(const Subject& s, const Pieces& apart, const Second& second, std::uint32_t k,
          bool written, SharedOutcome& outcome) {
  const std::vector<Arg>& args = s.steps[k].args;
  for (std::uint32_t i = 0; i < args.size(); ++i) {
    const Arg& a = args[i];
    if (a.block == none || a.scratch || !(written ? a.written : a.read)) continue;
    const Diff d = diff(second.at(a), apart.at(a.block) + a.in_block, a.bytes);
    if (d.count == 0) continue;
    outcome.set({.kind = written ? Kind::differs_after : Kind::differs_before,
                 .step = k,
                 .arg = i,
                 .block = a.block,
                 .first = static_cast<std::int64_t>(d.first),
                 .end = static_cast<std::int64_t>(d.end),
                 .count = d.count,
                 .second = true});
    return false;
  }
  return true;
}

/// Saturates.
std::uint64_t bytes_of(const Subject& s) {
  std::uint64_t sum = 0;
  const auto add = [&](std::uint64_t n) { sum = checked_add(sum, n).value_or(UINT64_MAX); };
  for (const Region& r : s.regions) add(r.bytes);
  for (const Block& b : s.blocks) add(b.bytes), add(b.constant ? 0 : b.bytes);
  return sum;
}

std::vector<std::uint64_t> sizes_of_blocks(const Subject& s, bool constants) {
  std::vector<std::uint64_t> out;
  for (const Block& b : s.blocks) out.push_back(b.constant && !constants ? 0 : b.bytes);
  return out;
}

}  // namespace

Result<Bench> Bench::make(const Subject& s, const std::vector<Tensor>& inputs) {
  Bench out(s);
  if (const std::uint64_t need = bytes_of(s); need > memory_of_machine())
    return Diag{.code = 8107,
                .what = fmt::format("keeping every value apart takes {} bytes, this machine has {}",
                                    need, memory_of_machine()),
                .fix = "compile smaller shapes, or use a machine with more memory"};
  std::vector<std::uint64_t> region_bytes;
  for (const Region& r : s.regions) region_bytes.push_back(r.bytes);
  auto apart = Pieces::make(sizes_of_blocks(s, true));
  if (!apart) return apart.errors();
  auto second = Pieces::make(sizes_of_blocks(s, false));
  if (!second) return second.errors();
  auto regions = Pieces::make(region_bytes);
  if (!regions) return regions.errors();
  auto shared = SharedOutcome::make();
  if (!shared) return shared.errors();
  out.memory_ = std::make_shared<Memory>(
      Memory{std::move(*apart), std::move(*second), std::move(*regions), std::move(*shared)});
  if (Status ok = out.give(inputs); !ok) return ok.errors();
  return out;
}

/// Everything as it is before the first step: constants and inputs in place, the rest a pattern.
Status Bench::give(const std::vector<Tensor>& inputs) {
  const Memory& m = *memory_;
  for (std::uint32_t r = 0; r < s_.regions.size(); ++r) m.regions.fill(r, fill_a, fill_a);
  for (std::uint32_t b = 0; b < s_.blocks.size(); ++b) {
    m.apart.fill(b, fill_a, fill_a);
    m.second.fill(b, fill_a, fill_a);
    if (!s_.blocks[b].constant) continue;
    const Slot slot = s_.plan->slots[b];
    tn_pool_info pool{};
    pool.struct_size = sizeof pool;
    tn_model_pool(s_.model, slot.pool, &pool);
    const std::uint64_t bytes = s_.blocks[b].bytes;
    if (!pool.image || slot.offset > pool.image_bytes || bytes > pool.image_bytes - slot.offset)
      return Diag{.code = 4520,
                  .what = "constant `" + s_.blocks[b].name + "` stands in no image of its pool",
                  .fix = "compile the model again"};
    const auto* from = static_cast<const std::byte*>(pool.image) + slot.offset;
    std::memcpy(m.apart.at(b), from, bytes);
    std::memcpy(m.regions.at(slot.pool) + slot.offset, from, bytes);
  }
  for (std::uint32_t i = 0; i < s_.inputs.size(); ++i) {
    const Arg& a = s_.inputs[i];
    if (a.block == none) continue;
    const std::byte* from = inputs[i].bytes.data();
    std::memcpy(m.apart.at(a.block) + a.in_block, from, a.bytes);
    std::memcpy(m.second.at(a.block) + a.in_block, from, a.bytes);
    std::memcpy(m.regions.at(a.region) + a.offset, from, a.bytes);
  }
  for (std::uint32_t r = 0; r < tn_model_pools(s_.model); ++r) {
    tn_pool_info pool{};
    pool.struct_size = sizeof pool;
    tn_model_pool(s_.model, r, &pool);
    if (std::string_view(pool.kind) == "constants") m.regions.allow(r, false);
  }
  return {};
}

Outcome Bench::in_child(const std::function<void()>& body) {
  ++trials_;
  SharedOutcome& outcome = memory_->outcome;
  outcome.set({});
  const ChildResult ended = run_isolated(kLimit, [&] {
    report_crashes(outcome);
    body();
    return std::string();
  });
  Outcome o = outcome.get();
  if (!ended.returned && o.kind == Kind::agrees)
    o.kind = outcome.started() ? Kind::stuck : Kind::no_process;
  if (o.kind != Kind::crashed) return o;
  if (const auto at = memory_->apart.find(outcome.address())) {
    o.block = at->piece;
    o.first = at->offset;
  }
  return o;
}

Outcome Bench::watch() {
  return in_child([&] {
    const Pieces& apart = memory_->apart;
    Run run(s_, memory_->outcome, false);
    apart.forbid_all();
    run_steps(s_, [&](std::uint32_t k) -> std::optional<std::uint32_t> {
      Surroundings around(s_, apart, s_.steps[k]);
      const auto next = run.step(k, [&](const Arg& a) { return apart.at(a.block) + a.in_block; });
      if (!next) return std::nullopt;
      auto broken = around.check(fill_a);
      if (!broken) return next;
      broken->step = k;
      memory_->outcome.set(*broken);
      return std::nullopt;
    });
  });
}

Outcome Bench::compare(const Setup& setup) {
  return in_child([&] {
    SharedOutcome& outcome = memory_->outcome;
    const Pieces& apart = memory_->apart;
    const Second second(s_, apart, memory_->second, memory_->regions, setup);
    if (!second.ok()) return outcome.set({.kind = Kind::no_process});
    Run first_run(s_, outcome, false), second_run(s_, outcome, true);
    bool whole = true;
    run_steps(s_, [&](std::uint32_t k) -> std::optional<std::uint32_t> {
      whole = false;
      if (!same(s_, apart, second, k, false, outcome)) return std::nullopt;
      const auto next =
          first_run.step(k, [&](const Arg& a) { return apart.at(a.block) + a.in_block; });
      if (!next || !second_run.step(k, [&](const Arg& a) { return second.at(a); }))
        return std::nullopt;
      whole = same(s_, apart, second, k, true, outcome);
      return whole ? next : std::nullopt;
    });
    for (std::uint32_t j = 0; whole && j < s_.outputs.size(); ++j) {
      const Arg& a = s_.outputs[j];
      if (a.block == none) continue;
      const Diff d = diff(second.at(a), apart.at(a.block) + a.in_block, a.bytes);
      if (d.count == 0) continue;
      outcome.set({.kind = Kind::differs_at_end,
                   .step = static_cast<std::uint32_t>(s_.steps.size()),
                   .arg = j,
                   .block = a.block,
                   .first = static_cast<std::int64_t>(d.first),
                   .end = static_cast<std::int64_t>(d.end),
                   .count = d.count,
                   .second = true});
      return;
    }
  });
}

}  // namespace tenon::blame
