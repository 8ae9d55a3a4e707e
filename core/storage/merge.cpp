#include "core/storage/merge.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "core/storage/request.h"

namespace tenon {
namespace {

// Bytes that are nobody's: no member, pinned, always there. Every model of a board brings the same.
bool is_reserved(const StorageToken& t, std::size_t n_steps) {
  return t.members.empty() && t.at && t.first == 0 && t.end == n_steps;
}

bool outlives_a_run(const StorageToken& t, std::size_t n_steps) {
  return is_reserved(t, n_steps) || std::ranges::any_of(t.members, [](const TokenMember& m) {
           return m.role == Role::constant || m.role == Role::state;
         });
}

bool same_memory(const StoragePool& a, const StoragePool& b) {
  return a.capacity == b.capacity && a.granule == b.granule && a.base == b.base &&
         a.access == b.access && a.holds == b.holds && a.image == b.image &&
         a.read_cost == b.read_cost && a.write_cost == b.write_cost;
}

class Merger {
 public:
  explicit Merger(Merge how) : how_(how) {}

  Result<StorageRequest> run(const std::vector<NamedModel>& models) {
    std::set<std::string> names;
    for (const NamedModel& m : models)
      if (m.name.empty())
        errors_.push_back({.code = 4431,
                           .what = fmt::format("model {} has no name", &m - models.data() + 1),
                           .fix = "write NAME=FILE"});
      else if (!names.insert(m.name).second)
        errors_.push_back({.code = 4431,
                           .what = fmt::format("two models are called '{}'", m.name),
                           .fix = "give one another name"});
    if (models.empty()) errors_.push_back({.code = 4431, .what = "there is no model to merge"});
    for (const NamedModel& m : models)
      n_steps_ += static_cast<std::uint32_t>(m.request.steps.size());
    for (const NamedModel& m : models) add(m);
    if (!errors_.empty()) return std::move(errors_);
    return prepare_request(std::move(out_));
  }

 private:
  std::vector<std::uint32_t> pools_of(const NamedModel& m) {
    std::vector<std::uint32_t> where;
    for (const StoragePool& p : m.request.pools) {
      const auto known = std::ranges::find(out_.pools, p.id, &StoragePool::id);
      where.push_back(static_cast<std::uint32_t>(known - out_.pools.begin()));
      if (known == out_.pools.end())
        out_.pools.push_back(p);
      else if (!same_memory(*known, p))
        errors_.push_back(
            {.code = 4432,
             .what = fmt::format("pool '{}' of model '{}' is not the pool of that name of the "
                                 "models before it (capacity {} against {}, granule {} against {})",
                                 p.id, m.name, p.capacity ? fmt::format("{}", *p.capacity) : "none",
                                 known->capacity ? fmt::format("{}", *known->capacity) : "none",
                                 p.granule, known->granule),
             .fix = "export both requests with one board"});
    }
    return where;
  }

  void add(const NamedModel& m) {
    const std::vector<std::uint32_t> pool = pools_of(m);
    std::vector<std::uint32_t> index;
    for (StorageToken t : m.request.tokens) {
      for (std::uint32_t& p : t.pools) p = pool[p];
      const bool reserved = is_reserved(t, m.request.steps.size());
      place_in_time(t, m.request.steps.size());
      index.push_back(static_cast<std::uint32_t>(out_.tokens.size()));
      if (reserved) {
        const auto same = std::ranges::find_if(out_.tokens, [&](const StorageToken& o) {
          return is_reserved(o, n_steps_) && o.at == t.at && o.size == t.size && o.pools == t.pools;
        });
        if (same != out_.tokens.end()) {
          index.back() = static_cast<std::uint32_t>(same - out_.tokens.begin());
          continue;
        }
      }
      t.name = m.name + "/" + t.name;
      for (TokenMember& member : t.members) member.name = m.name + "/" + member.name;
      out_.tokens.push_back(std::move(t));
    }
    if (how_ == Merge::sequence)
      for (const TokenJoin& j : m.request.joins)
        out_.joins.push_back({index[j.a], index[j.b], j.delta});
    for (const std::string& s : m.request.steps) out_.steps.push_back(m.name + "/" + s);
  }

  void place_in_time(StorageToken& t, std::size_t n_steps) {
    const auto before = static_cast<std::uint32_t>(out_.steps.size());
    if (how_ == Merge::together || outlives_a_run(t, n_steps)) {
      t.first = 0, t.end = n_steps_;
      t.parts.clear();
      for (TokenMember& m : t.members) m.live = {0, n_steps_};
      return;
    }
    t.first += before, t.end += before;
    for (TokenPart& p : t.parts) p.first += before, p.end += before;
    for (TokenMember& m : t.members) m.live.first += before, m.live.end += before;
  }

  Merge how_;
  StorageRequest out_;
  std::uint32_t n_steps_ = 0;
  Diags errors_;
};

}  // namespace

Result<StorageRequest> merge_requests(const std::vector<NamedModel>& models, Merge how) {
  return Merger(how).run(models);
}

}  // namespace tenon
