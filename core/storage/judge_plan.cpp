// The judge's entries for whole plans: that a plan belongs to the request, and that its figures are
// true.
#include <fmt/format.h>

#include "core/storage/judge.h"
#include "core/storage/request.h"

namespace tenon {
namespace {

// Recomputed from the slots alone, on purpose apart from measure().
Status check_figures(const StorageRequest& r, const StoragePlan& plan) {
  Diags errors;
  if (const std::string hash = request_hash(r); plan.request_hash != hash)
    errors.push_back(
        {.code = 4012,
         .what = fmt::format("the plan was made for request {:.16}, this one is {:.16}",
                             plan.request_hash, hash),
         .fix = "plan again"});
  if (plan.pools.size() != r.pools.size()) {
    errors.push_back({.code = 4011,
                      .what = fmt::format("the plan has {} pools, the request {}",
                                          plan.pools.size(), r.pools.size())});
    return errors;
  }
  std::vector<std::uint64_t> peak(r.pools.size(), 0), at_step(r.pools.size(), 0);
  std::uint64_t cost = 0;
  for (std::size_t i = 0; i < r.tokens.size(); ++i) {
    const StorageToken& t = r.tokens[i];
    const Slot s = plan.slots[i];
    const std::uint64_t unit = r.pools[s.pool].granule;
    const std::uint64_t end = (s.offset + t.size + unit - 1) / unit * unit;
    peak[s.pool] = std::max(peak[s.pool], end);
    if (t.first == plan.pools[s.pool].peak_step) at_step[s.pool] = std::max(at_step[s.pool], end);
    for (std::size_t k = 0; k < t.cost.size(); ++k)
      if (t.pools[k] == s.pool) cost += std::min(t.cost[k], UINT64_MAX - cost);
  }
  const auto proved = pool_bounds(r);  // says nothing of slots: the one proof that there is
  for (std::size_t p = 0; p < peak.size(); ++p) {
    if (plan.pools[p].peak != peak[p])
      errors.push_back(
          {.code = 4011,
           .what = fmt::format("the plan says that pool '{}' peaks at {} bytes, its slots reach {}",
                               r.pools[p].id, plan.pools[p].peak, peak[p]),
           .fix = "plan again"});
    else if (at_step[p] != peak[p])
      errors.push_back({.code = 4011,
                        .what = fmt::format(
                            "the plan says that pool '{}' peaks in step {}; no token that begins "
                            "there reaches {} bytes",
                            r.pools[p].id, plan.pools[p].peak_step, peak[p]),
                        .fix = "plan again"});
    if (plan.pools[p].bound > proved[p])
      errors.push_back({.code = 4011,
                        .what = fmt::format(
                            "the plan says that pool '{}' needs {} bytes at least; {} are proved",
                            r.pools[p].id, plan.pools[p].bound, proved[p]),
                        .fix = "plan again"});
  }
  if (plan.cost != cost)
    errors.push_back(
        {.code = 4011,
         .what = fmt::format("the plan says that it costs {}, its slots give {}", plan.cost, cost),
         .fix = "plan again"});
  return errors.empty() ? Status() : Status(std::move(errors));
}

}  // namespace

std::vector<std::optional<Slot>> value_slots(const StorageValues& v, const StorageRequest& r,
                                             const StoragePlan& plan) {
  std::vector<std::optional<Slot>> out(v.values.size());
  for (std::size_t i = 0; i < std::min(r.tokens.size(), plan.slots.size()); ++i)
    for (const TokenMember& m : r.tokens[i].members)
      if (m.value < out.size())
        out[m.value] = Slot{plan.slots[i].pool, plan.slots[i].offset + m.offset};
  return out;
}

Status judge_plan(const StorageRequest& r, const StoragePlan& plan) {
  if (Status s = judge_slots(r, plan.slots); !s) return s;
  return check_figures(r, plan);
}

Status judge_plan(const StorageValues& v, const StorageRequest& r, const StoragePlan& plan) {
  if (Status s = judge_values(v, value_slots(v, r, plan)); !s) return s;
  return judge_plan(r, plan);
}

}  // namespace tenon
