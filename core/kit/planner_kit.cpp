#include "core/kit/planner_kit.h"

#include <algorithm>

#include "core/support/isolated.h"

namespace tenon::kit {

std::vector<Check> checks() {
  std::vector<Check> all = answer_checks();
  for (auto& more : {contract_checks(), limit_checks()})
    all.insert(all.end(), more.begin(), more.end());
  return all;
}

std::vector<Verdict> run_checks(const std::vector<Check>& all, const Subject& subject,
                                const std::vector<std::string>& only,
                                const std::function<void(const Verdict&)>& done) {
  std::vector<Verdict> out;
  for (const Check& c : all) {
    if (!only.empty() && std::ranges::find(only, c.name) == only.end()) continue;
    const ChildResult o =
        run_isolated(std::chrono::seconds(c.seconds), [&] { return c.run(subject); });
    out.push_back({&c, o.text});
    if (done) done(out.back());
  }
  return out;
}

}  // namespace tenon::kit
