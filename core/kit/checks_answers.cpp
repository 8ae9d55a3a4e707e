// Are the plans right, and are the claims about them true?
#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "core/kit/planner_kit.h"
#include "core/kit/requests.h"
#include "core/storage/request.h"

namespace tenon::kit {
namespace {

SolveSettings settings_of(const Subject& s) {
  SolveSettings out;
  out.find = s.find;
  out.work = 2'000'000;
  return out;
}

bool has_capacity(const StorageRequest& r) {
  return std::ranges::any_of(r.pools, [](const StoragePool& p) { return p.capacity.has_value(); });
}

/// "" when `solved` is a right plan or an honest refusal of `r`. Without a capacity a plan exists
/// and every planner can make one: only what it does not support may be refused.
std::string fault_of(const StorageRequest& r, const Result<Solved>& solved) {
  if (!solved) {
    const Diag& d = solved.errors()[0];
    const bool may = d.code == 4304 || d.code == 4308 ||
                     (has_capacity(r) && (d.code == 4301 || d.code == 4302 || d.code == 4303));
    if (may) return "";
    return d.what + (d.notes.empty() ? "" : ": " + d.notes[0]) +
           (has_capacity(r) ? "" : ", although no pool has a capacity");
  }
  for (const Diag& m : solved->messages)
    if (m.severity != Severity::note) return m.what;
  return "";
}

std::string fixed_cases(const Subject& s) {
  for (const NamedRequest& c : fixed_requests())
    if (const std::string fault = fault_of(c.request, solve(c.request, s.planner, settings_of(s)));
        !fault.empty())
      return fmt::format("case '{}': {}", c.name, fault);
  return "";
}

std::string random_cases(const Subject& s) {
  for (std::uint64_t seed = 1; seed <= s.requests; ++seed) {
    const StorageRequest r = random_request(seed, {});
    if (const std::string fault = fault_of(r, solve(r, s.planner, settings_of(s))); !fault.empty())
      return fmt::format("random request {}: {}", seed, fault);
  }
  return "";
}

/// Least peak of a request with one pool, without parts and joins; UINT64_MAX: nothing fits.
/// Every packing, pushed down in the order of its offsets, is the lowest-offset packing of some
/// order: trying all orders finds the best.
std::uint64_t least_peak(const StorageRequest& r) {
  std::vector<std::uint32_t> order(r.tokens.size());
  std::iota(order.begin(), order.end(), 0u);
  const StoragePool& pool = r.pools[0];
  std::uint64_t best = UINT64_MAX;
  std::vector<std::uint64_t> at(r.tokens.size());
  do {
    std::uint64_t peak = 0;
    std::vector<std::uint32_t> placed;
    for (std::uint32_t i = 0; i < r.tokens.size(); ++i)
      if (r.tokens[i].at) at[i] = *r.tokens[i].at, placed.push_back(i);
    for (std::uint32_t i : order) {
      const StorageToken& t = r.tokens[i];
      if (!t.at) {
        const std::uint64_t step = std::max(t.align, pool.granule);
        std::uint64_t o = 0;
        for (bool moved = true; moved;) {
          moved = false;
          for (std::uint32_t k : placed) {
            const StorageToken& other = r.tokens[k];
            if (other.first < t.end && t.first < other.end && at[k] < o + t.size &&
                o < at[k] + other.size)
              o = round_up_to(at[k] + other.size, step), moved = true;
          }
        }
        at[i] = o;
        placed.push_back(i);
      }
      peak = std::max(peak, round_up_to(at[i] + t.size, pool.granule));
    }
    if (!pool.capacity || peak <= *pool.capacity) best = std::min(best, peak);
  } while (std::ranges::next_permutation(order).found);
  return best;
}

std::string claims(const Subject& s) {
  const Kind kind{.tokens = 5, .pools = false, .parts = false, .joins = false};
  for (std::uint64_t seed = 1; seed <= s.requests; ++seed) {
    const StorageRequest r = random_request(seed, kind);
    const std::uint64_t best = least_peak(r);
    const auto solved = solve(r, s.planner, settings_of(s));
    if (!solved && solved.errors()[0].code == 4302 && best != UINT64_MAX)
      return fmt::format("random request {}: says infeasible; a plan of {} bytes fits", seed, best);
    if (solved && solved->plan.optimal && solved->plan.pools[0].peak > best)
      return fmt::format("random request {}: claims that {} bytes are optimal; {} are enough", seed,
                         solved->plan.pools[0].peak, best);
  }
  return "";
}

/// Values of an option worth trying: ends of its range, members of its enum.
std::vector<std::string> values_of(const tn_option& o) {
  const std::string type = o.type, range = o.range ? o.range : "";
  std::vector<std::string> out;
  if (type == "bool") return {"true", "false"};
  if (type == "enum")
    for (std::size_t at = 0; at <= range.size();) {
      const std::size_t bar = std::min(range.find('|', at), range.size());
      out.push_back(range.substr(at, bar - at));
      at = bar + 1;
    }
  const std::size_t dots = range.find("..");
  if ((type == "int" || type == "float") && dots != range.npos) {
    out.push_back(range.substr(0, dots));
    out.push_back(range.substr(dots + 2));
  }
  std::erase(out, "");
  return out;
}

std::string options(const Subject& s) {
  const tn_planner& p = *s.planner.planner;
  for (std::uint32_t i = 0; i < p.n_options; ++i)
    for (const std::string& value : values_of(p.options[i])) {
      SolveSettings with = settings_of(s);
      with.options[p.options[i].key] = value;
      for (std::uint64_t seed = 1; seed <= 30; ++seed) {
        const StorageRequest r = random_request(seed, {});
        if (const std::string fault = fault_of(r, solve(r, s.planner, with)); !fault.empty())
          return fmt::format("{}={}, random request {}: {}", p.options[i].key, value, seed, fault);
      }
    }
  return "";
}

}  // namespace

std::vector<Check> answer_checks() {
  return {{"cases", "small requests, one per rule, are planned right", 60, fixed_cases},
          {"random", "random requests are planned right or refused honestly", 300, random_cases},
          {"claims", "`proved` and `infeasible` are true, against every packing", 300, claims},
          {"options", "every option works at both ends of its range", 120, options}};
}

}  // namespace tenon::kit
