#include "core/storage/solve.h"

#include <memory>
#include <thread>

#include "core/storage/planner_run.h"
#include "core/storage/request.h"
#include "core/storage/request_view.h"

namespace tenon {
namespace {

/// A planner with a deadline, and all that it may still touch when it was left behind.
struct Job {
  Job(const StorageRequest& request, const PlannerRef& planner, const SolveSettings& how,
      Watch::Clock::time_point deadline)
      : r(request), who(planner), settings(how), budget{how.work, deadline, false, false} {}

  const StorageRequest r;
  const PlannerRef who;
  const SolveSettings settings;
  Budget budget;
  RequestView view{r};
  Watch watch;
  PlannerRun run{r, view.raw(), who, settings, request_hash(r), &watch, 0};
  std::optional<Result<Solved>> result;
};

Result<Solved> solve_in_time(const StorageRequest& r, const PlannerRef& planner,
                             const SolveSettings& settings) {
  const auto deadline = Watch::Clock::now() + *settings.deadline;
  const auto job = std::make_shared<Job>(r, planner, settings, deadline);
  std::thread([job] {
    job->result = job->run.solve(job->budget);
    job->watch.done();
  }).detach();
  const std::string why = job->watch.wait(deadline);
  return why.empty() ? std::move(*job->result) : job->run.answer_without(why);
}

}  // namespace

Result<Solved> solve(const StorageRequest& r, const PlannerRef& planner,
                     const SolveSettings& settings) {
  TENON_CHECK(is_canonical(r));
  if (settings.deadline) return solve_in_time(r, planner, settings);
  const RequestView view(r);
  Budget budget{settings.work, {}, false, false};
  return PlannerRun(r, view.raw(), planner, settings, request_hash(r), nullptr, 0).solve(budget);
}

}  // namespace tenon
