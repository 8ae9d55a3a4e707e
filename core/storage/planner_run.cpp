#include "core/storage/planner_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <exception>

#include "core/storage/judge.h"
#include "core/storage/request.h"

namespace tenon {
namespace {

constexpr unsigned kMaxDepth = 4;  // planners that run planners
constexpr std::size_t kMaxMessages = 50;

// What there is and what is known to be needed, of the pools with a capacity.
std::string room(const StorageRequest& r) {
  std::string out;
  const auto bounds = pool_bounds(r);
  for (std::size_t p = 0; p < r.pools.size(); ++p)
    if (r.pools[p].capacity)
      out += fmt::format("{}the {} bytes of pool '{}', of which {} are needed at least",
                         out.empty() ? "" : ", ", *r.pools[p].capacity, r.pools[p].id, bounds[p]);
  return out.empty() ? "pools without a limit" : out;
}

}  // namespace

Diag PlannerRun::diag(int code, std::string what, std::string fix, Severity severity) const {
  return {.code = code,
          .loc = settings_.loc,
          .what = fmt::format("planner '{}': {}", who_.planner->id, what),
          .fix = std::move(fix),
          .severity = severity};
}

void PlannerRun::message(Diag d) {
  if (messages_.size() < kMaxMessages) messages_.push_back(std::move(d));
}

// Features are named by what brings them in, so that the user sees which line of the board or
// pipeline it is.
std::optional<Diag> PlannerRun::missing_feature() const {
  const std::uint64_t missing = view_.needs & ~who_.planner->understands;
  if (missing == 0) return std::nullopt;
  std::string what;
  if (missing & TN_POOLS)
    what = fmt::format("does not understand several pools; the request has {} ('{}', '{}'{})",
                       r_.pools.size(), r_.pools[0].id, r_.pools[1].id,
                       r_.pools.size() > 2 ? ", ..." : "");
  if (missing & TN_PINS) {
    const auto pinned = std::find_if(r_.tokens.begin(), r_.tokens.end(),
                                     [](const auto& t) { return t.at.has_value(); });
    what += fmt::format("{}does not understand pins; {} is pinned to offset {}",
                        what.empty() ? "" : "; ", describe(*pinned), *pinned->at);
  }
  return diag(4308, what, "choose another planner, for instance tenon.greedy");
}

int PlannerRun::offer(const tn_slot* slots, std::uint64_t bound) {
  last_is_best_ = false;
  StoragePlan p = best_;
  p.slots.clear();
  for (std::uint32_t i = 0; slots != nullptr && i < view_.n_tokens; ++i)
    p.slots.push_back({slots[i].pool, slots[i].offset});
  Status judged = judge_slots(r_, p.slots);
  if (judged && settings_.judge) judged = settings_.judge(p);
  if (!judged) {
    wrong_offer_ = true;
    for (const Diag& d : judged.errors())
      message(diag(d.code, "wrong offer, not used: " + d.what, "report it to the planner's author",
                   Severity::warning));
    return 0;
  }
  measure(r_, p);
  claim(bound, p);
  const auto order = have_ ? compare(rank_of(p), rank_of(best_)) : std::strong_ordering::less;
  last_is_best_ = order <= 0;
  if (order < 0) {
    const bool optimal = best_.optimal;
    best_ = std::move(p);
    best_.optimal = optimal;
    have_ = true;
    if (settings_.better) settings_.better(best_);
  }
  best_.optimal = best_.optimal || cannot_be_better(r_, best_);
  return best_.optimal ? 1 : 0;
}

// The planner claims that no plan is below `bound`.
void PlannerRun::claim(std::uint64_t bound, const StoragePlan& offered) {
  if (bound == 0) return;
  const std::uint64_t got = r_.pools.size() == 1 ? offered.pools[0].peak : offered.cost;
  if (bound > got)
    return message(
        diag(4306, fmt::format("claims {} as a lower bound and offers a plan with {}", bound, got),
             "report it to the planner's author", Severity::warning));
  if (r_.pools.size() == 1 && bound == got && offered.cost == least_cost(r_)) best_.optimal = true;
}

void PlannerRun::say(std::uint32_t token, const char* text) {
  const std::string about = token < r_.tokens.size() ? describe(r_.tokens[token]) + ": " : "";
  message(diag(0, about + std::string(text ? text : "").substr(0, 1000), "", Severity::note));
}

const char* PlannerRun::option(const char* key) const {
  const auto it = key ? options_.find(key) : options_.end();
  return it == options_.end() ? nullptr : it->second.c_str();
}

int PlannerRun::plan(const tn_host* h, const char* id, std::uint64_t work, tn_slot* out) {
  if (!id || (!out && view_.n_tokens > 0) || depth_ >= kMaxDepth || !settings_.find)
    return TN_UNSUPPORTED;
  std::optional<PlannerRef> other;
  visit(h, 0, [&](PlannerRun&) { return other = settings_.find(id), 0; });
  if (!other || !other->planner) return TN_UNSUPPORTED;
  SolveSettings inner = settings_;
  inner.options.clear();
  Budget share = *budget_;
  if (work > 0) share.left = std::min(share.left, work);
  const std::uint64_t had = share.left;
  Result<Solved> got =
      PlannerRun(r_, view_, *other, inner, best_.request_hash, watch_, depth_ + 1).solve(share);
  budget_->spend(had - share.left);
  if (!got) return got.errors()[0].code == 4302 ? TN_INFEASIBLE : TN_NO_FIT;
  visit(h, 0, [&](PlannerRun& run) {
    for (Diag& d : got->messages) run.message(std::move(d));
    return 0;
  });
  for (std::size_t i = 0; i < got->plan.slots.size(); ++i)
    out[i] = {got->plan.slots[i].pool, got->plan.slots[i].offset};
  return got->plan.optimal ? TN_PROVED : TN_OK;
}

int PlannerRun::call() {
  tn_host h{};
  h.struct_size = sizeof h;
  h.self = this;
  h.tick = [](const tn_host* x, std::uint64_t work) {
    return visit(x, 1, [&](PlannerRun& run) { return run.budget_->spend(work) ? 0 : 1; });
  };
  h.offer = [](const tn_host* x, const tn_slot* s, std::uint64_t bound) {
    return visit(x, 1, [&](PlannerRun& run) { return run.offer(s, bound); });
  };
  h.say = [](const tn_host* x, std::uint32_t token, const char* text) {
    visit(x, 0, [&](PlannerRun& run) { return run.say(token, text), 0; });
  };
  h.option = [](const tn_host* x, const char* key) { return self(x).option(key); };
  h.plan = [](const tn_host* x, const char* id, std::uint64_t work, tn_slot* out) {
    return self(x).plan(x, id, work, out);
  };
  if (watch_) watch_->begin(who_.planner->id);
  int status = TN_FAILED;
  try {
    status = who_.planner->plan(&view_, &h);
  } catch (const std::exception& e) {
    thrown_ = e.what();
    if (thrown_.empty()) thrown_ = "an exception without text";
  } catch (...) {
    thrown_ = "an exception of unknown type";
  }
  if (watch_) watch_->end();
  return status;
}

Diag PlannerRun::no_plan(int status) const {
  if (!thrown_.empty()) return diag(4307, "threw: " + thrown_, "report it to the planner's author");
  if (wrong_offer_)
    return diag(4306, "made only wrong offers", "report it to the planner's author");
  switch (status) {
    case TN_NO_FIT:
      return diag(4301, "found no plan that fits " + room(r_),
                  "try another planner, enlarge a pool, or allow more pools (`place:`)");
    case TN_INFEASIBLE:
      return diag(4302, "says that no plan fits " + room(r_),
                  "enlarge a pool, or allow more pools (`place:`)");
    case TN_STOPPED:
      return diag(4303,
                  budget_->out_of_time ? "was stopped by the deadline before it had a plan"
                                       : "was stopped by its work limit before it had a plan",
                  "give it more `work` or a later `deadline`");
    case TN_UNSUPPORTED:
      return diag(4304, "does not support this request", "choose another planner");
    case TN_FAILED:
      return diag(4305, "failed", "see what it said");
    case TN_OK:
    case TN_PROVED:
      return diag(4306, "reports success and offered no plan", "report it to the planner's author");
    default:
      return diag(4306, fmt::format("returned {}, which is no status", status),
                  "report it to the planner's author");
  }
}

Result<Solved> PlannerRun::answer(int status) {
  if (!have_) {
    Diag d = no_plan(status);
    for (const Diag& m : messages_) d.notes.push_back(m.what);
    return d;
  }
  if (!thrown_.empty())
    message(diag(4307, "threw after an offer that is used: " + thrown_,
                 "report it to the planner's author", Severity::warning));
  if (status < TN_OK || status > TN_FAILED)
    message(diag(4306, fmt::format("returned {}, which is no status", status),
                 "report it to the planner's author", Severity::warning));
  if (status == TN_PROVED && last_is_best_) best_.optimal = true;
  if (status == TN_INFEASIBLE || (status == TN_PROVED && !last_is_best_))
    message(diag(4306, "its status contradicts its own offers", "report it to the planner's author",
                 Severity::warning));
  best_.reproducible = !budget_->out_of_time;
  return solved();
}

Solved PlannerRun::solved() const {
  Solved out{best_, messages_};
  out.plan.options = options_;
  if (settings_.work != kDefaultWork) out.plan.options["work"] = fmt::format("{}", settings_.work);
  return out;
}

Result<Solved> PlannerRun::solve(Budget& budget) {
  budget_ = &budget;
  if (auto d = missing_feature()) return *d;
  auto options = planner_options(*who_.planner, settings_.options, settings_.loc);
  if (!options) return options.errors();
  options_ = std::move(*options);
  const int status = call();
  if (!watch_) return answer(status);
  const Watch::Visit v(*watch_);
  return v.left() ? no_plan(TN_STOPPED) : answer(status);
}

Result<Solved> PlannerRun::answer_without(const std::string& why) const {
  Diag d{.code = 1016,
         .loc = settings_.loc,
         .what = why + "; it is left behind",
         .fix = "report it to the planner's author; meanwhile choose another planner"};
  if (!have_) {
    for (const Diag& m : messages_) d.notes.push_back(m.what);
    return d;
  }
  d.what += ", the best plan that it had offered is used";
  d.severity = Severity::warning;
  Solved out = solved();
  out.plan.reproducible = false;
  out.messages.push_back(std::move(d));
  return out;
}

}  // namespace tenon
