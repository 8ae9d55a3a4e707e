#include "core/storage/solve.h"

#include <fmt/format.h>

#include <algorithm>
#include <exception>

#include "core/storage/judge.h"
#include "core/storage/request.h"
#include "core/storage/request_view.h"

namespace tenon {
namespace {

constexpr unsigned kMaxDepth = 4;  // planners that run planners
constexpr std::size_t kMaxMessages = 50;

/// One budget for a planner and all that it runs.
struct Budget {
  std::uint64_t left = 0;
  std::optional<std::chrono::steady_clock::time_point> deadline;
  bool out_of_work = false, out_of_time = false;

  bool spend(std::uint64_t work) {
    left -= std::min(left, work);
    out_of_work = out_of_work || left == 0;
    out_of_time = out_of_time || (deadline && std::chrono::steady_clock::now() >= *deadline);
    return !out_of_work && !out_of_time;
  }
};

/// One running planner: what tn_host's functions work on.
class Run {
 public:
  Run(const StorageRequest& r, const tn_request& view, const PlannerRef& who,
      const SolveSettings& settings, const std::string& hash, unsigned depth)
      : r_(r), view_(view), who_(who), settings_(settings), depth_(depth) {
    best_.request_hash = hash;
    best_.planner = who.planner->id;
    best_.version = who.version;
  }

  Result<Solved> solve(Budget& budget);

 private:
  Diag diag(int code, std::string what, std::string fix,
            Severity severity = Severity::error) const {
    return {.code = code,
            .loc = settings_.loc,
            .what = fmt::format("planner '{}': {}", who_.planner->id, what),
            .fix = std::move(fix),
            .severity = severity};
  }
  void message(Diag d) {
    if (messages_.size() < kMaxMessages) messages_.push_back(std::move(d));
  }

  std::optional<Diag> missing_feature() const;
  int call();
  int offer(const tn_slot* slots, std::uint64_t bound);
  void say(std::uint32_t token, const char* text);
  const char* option(const char* key) const;
  int plan(const char* id, std::uint64_t work, tn_slot* out);
  bool cannot_be_better(const StoragePlan& p) const;
  void claim(std::uint64_t bound, const StoragePlan& offered);
  Result<Solved> answer(int status);
  Diag no_plan(int status) const;

  static Run& self(const tn_host* h) { return *static_cast<Run*>(h->self); }

  const StorageRequest& r_;
  const tn_request& view_;
  const PlannerRef& who_;
  const SolveSettings& settings_;
  unsigned depth_;
  Budget* budget_ = nullptr;
  StoragePlan best_;
  bool have_ = false, last_is_best_ = false, wrong_offer_ = false;
  std::string thrown_;
  Diags messages_;
};

// Features are named by what brings them in, so that the user sees which line of the board or
// pipeline it is.
std::optional<Diag> Run::missing_feature() const {
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

int Run::offer(const tn_slot* slots, std::uint64_t bound) {
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
  best_.optimal = best_.optimal || cannot_be_better(best_);
  return best_.optimal ? 1 : 0;
}

bool Run::cannot_be_better(const StoragePlan& p) const {
  return p.cost == least_cost(r_) &&
         std::all_of(p.pools.begin(), p.pools.end(),
                     [](const PoolUse& u) { return u.peak == u.bound; });
}

// The planner claims that no plan is below `bound`.
void Run::claim(std::uint64_t bound, const StoragePlan& offered) {
  if (bound == 0) return;
  const std::uint64_t got = r_.pools.size() == 1 ? offered.pools[0].peak : offered.cost;
  if (bound > got)
    return message(
        diag(4306, fmt::format("claims {} as a lower bound and offers a plan with {}", bound, got),
             "report it to the planner's author", Severity::warning));
  if (r_.pools.size() == 1 && bound == got && offered.cost == least_cost(r_)) best_.optimal = true;
}

void Run::say(std::uint32_t token, const char* text) {
  const std::string about = token < r_.tokens.size() ? describe(r_.tokens[token]) + ": " : "";
  message(diag(0, about + std::string(text ? text : "").substr(0, 1000), "", Severity::note));
}

const char* Run::option(const char* key) const {
  const auto it = key ? best_.options.find(key) : best_.options.end();
  return it == best_.options.end() ? nullptr : it->second.c_str();
}

int Run::plan(const char* id, std::uint64_t work, tn_slot* out) {
  if (!id || (!out && view_.n_tokens > 0) || depth_ >= kMaxDepth || !settings_.find)
    return TN_UNSUPPORTED;
  const std::optional<PlannerRef> other = settings_.find(id);
  if (!other || !other->planner) return TN_UNSUPPORTED;
  SolveSettings inner = settings_;
  inner.options.clear();
  Budget share = *budget_;
  if (work > 0) share.left = std::min(share.left, work);
  const std::uint64_t had = share.left;
  Result<Solved> got = Run(r_, view_, *other, inner, best_.request_hash, depth_ + 1).solve(share);
  budget_->spend(had - share.left);
  if (!got) return got.errors()[0].code == 4302 ? TN_INFEASIBLE : TN_NO_FIT;
  for (Diag& d : got->messages) message(std::move(d));
  for (std::size_t i = 0; i < got->plan.slots.size(); ++i)
    out[i] = {got->plan.slots[i].pool, got->plan.slots[i].offset};
  return got->plan.optimal ? TN_PROVED : TN_OK;
}

int Run::call() {
  tn_host h{};
  h.struct_size = sizeof h;
  h.self = this;
  h.tick = [](const tn_host* x, std::uint64_t work) {
    return self(x).budget_->spend(work) ? 0 : 1;
  };
  h.offer = [](const tn_host* x, const tn_slot* s, std::uint64_t bound) {
    return self(x).offer(s, bound);
  };
  h.say = [](const tn_host* x, std::uint32_t token, const char* text) { self(x).say(token, text); };
  h.option = [](const tn_host* x, const char* key) { return self(x).option(key); };
  h.plan = [](const tn_host* x, const char* id, std::uint64_t work, tn_slot* out) {
    return self(x).plan(id, work, out);
  };
  try {
    return who_.planner->plan(&view_, &h);
  } catch (const std::exception& e) {
    thrown_ = e.what();
  } catch (...) {
    thrown_ = "an exception of unknown type";
  }
  if (thrown_.empty()) thrown_ = "an exception without text";
  return TN_FAILED;
}

Diag Run::no_plan(int status) const {
  if (!thrown_.empty()) return diag(4307, "threw: " + thrown_, "report it to the planner's author");
  if (wrong_offer_)
    return diag(4306, "made only wrong offers", "report it to the planner's author");
  switch (status) {
    case TN_NO_FIT:
      return diag(4301, "found no plan that fits",
                  "try another planner, enlarge a pool, or allow more pools (`place:`)");
    case TN_INFEASIBLE:
      return diag(4302, "says that no plan fits", "enlarge a pool, or allow more pools (`place:`)");
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

Result<Solved> Run::answer(int status) {
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
  if (settings_.work != kDefaultWork) best_.options["work"] = fmt::format("{}", settings_.work);
  return Solved{std::move(best_), std::move(messages_)};
}

Result<Solved> Run::solve(Budget& budget) {
  budget_ = &budget;
  if (auto d = missing_feature()) return *d;
  auto options = planner_options(*who_.planner, settings_.options, settings_.loc);
  if (!options) return options.errors();
  best_.options = std::move(*options);
  return answer(call());
}

}  // namespace

Result<Solved> solve(const StorageRequest& r, const PlannerRef& planner,
                     const SolveSettings& settings) {
  TENON_CHECK(is_canonical(r));
  const RequestView view(r);
  Budget budget{settings.work, {}, false, false};
  if (settings.deadline) budget.deadline = std::chrono::steady_clock::now() + *settings.deadline;
  return Run(r, view.raw(), planner, settings, request_hash(r), 0).solve(budget);
}

}  // namespace tenon
