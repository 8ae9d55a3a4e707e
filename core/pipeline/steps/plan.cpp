// `plan`: module -> values -> request -> planner -> judged plan. The one place where memory is
// decided.
#include <fmt/format.h>

#include "core/pipeline/steps/planning.h"
#include "core/pipeline/steps/steps.h"
#include "core/plugin_host/session.h"
#include "core/program/normalise.h"
#include "core/storage/folding.h"
#include "core/storage/judge.h"
#include "core/storage/liveness.h"
#include "core/storage/request.h"

namespace tenon {
namespace {

std::map<std::string, std::string> texts(const OptionValues& options) {
  std::map<std::string, std::string> out;
  for (const OptionValue& o : options) {
    std::string s;
    for (const std::string& i : o.items) s += (s.empty() ? "" : ",") + i;
    out[o.key] = s;
  }
  return out;
}

// `else:` goes on after no fit, unsupported or a failure, never after a proof that nothing fits.
bool may_try_next(const Diags& errors) {
  for (const Diag& d : errors)
    if (d.code == 4302) return false;
  return true;
}

}  // namespace

SolveSettings solve_settings(Session& session, const Loc& loc) {
  SolveSettings s;
  s.loc = loc;
  s.find = [&session](std::string_view id) -> std::optional<PlannerRef> {
    auto p = session.planner(id);
    return p ? std::optional(PlannerRef{(*p)->planner, (*p)->version}) : std::nullopt;
  };
  return s;
}

Result<PlanningInput> planning_input(const Module& m, const MemoryConfig& memory) {
  auto values = storage_values(m, memory);
  if (!values) return values.errors();
  auto request = fold(*values);
  if (!request) return request.errors();
  return PlanningInput{std::move(*values), std::move(*request)};
}

Status step_plan(Compilation& c, const Step& step) {
  make_outputs_ownable(c.module);
  auto input = [&] {
    TimedScope timed(c.timing, "liveness and folding");
    return planning_input(c.module, c.config.memory);
  }();
  if (!input) return input.errors();

  std::vector<std::string> chain{step.use.with};
  chain.insert(chain.end(), step.otherwise.begin(), step.otherwise.end());
  Diags errors;
  for (std::size_t i = 0; i < chain.size(); ++i) {
    auto planner = c.session.planner(chain[i], step.use.with_loc);
    if (!planner) return planner.errors();
    SolveSettings settings = solve_settings(c.session, step.use.with_loc);
    if (i == 0) settings.options = texts(step.use.options);
    if (step.work) settings.work = *step.work;
    if (step.deadline_ms) settings.deadline = std::chrono::milliseconds(*step.deadline_ms);
    settings.judge = [&](const StoragePlan& p) {
      return judge_values(input->values, value_slots(input->values, input->request, p));
    };
    TimedScope timed(c.timing, "planner " + (*planner)->id);
    timed.count("tokens", static_cast<std::int64_t>(input->request.tokens.size()));
    auto solved = solve(input->request, {(*planner)->planner, (*planner)->version}, settings);
    if (!solved) {
      errors = solved.errors();
      if (!may_try_next(errors)) break;
      continue;
    }
    c.reports.insert(c.reports.end(), solved->messages.begin(), solved->messages.end());
    if (Status s = judge_plan(input->values, input->request, solved->plan); !s) return s;
    c.module.plan = std::make_shared<const StoragePlan>(std::move(solved->plan));
    // Asked first when this step ends: nothing has changed by then.
    c.facts.request_hash = [memory = c.config.memory, now = c.module.plan->request_hash](
                               const Module& m) mutable {
      if (!now.empty()) return std::exchange(now, {});
      auto again = planning_input(m, memory);
      return again ? request_hash(again->request) : std::string("?");
    };
    return {};
  }
  return errors;
}

}  // namespace tenon
