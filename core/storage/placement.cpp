#include "core/storage/placement.h"

#include <fmt/format.h>

#include <cmath>

#include "tenon/options.h"

namespace tenon {
namespace {

constexpr std::uint32_t none = UINT32_MAX;

std::string_view sort_name(Holds h) {
  return h == Holds::constants ? "constants" : h == Holds::worker ? "worker scratch" : "data";
}

Holds sort_of(Role r) {
  return r == Role::constant ? Holds::constants : r == Role::worker ? Holds::worker : Holds::data;
}

bool holds(const StoragePool& p, Holds h) {
  return std::find(p.holds.begin(), p.holds.end(), h) != p.holds.end();
}

std::string rule_name(const PlaceRule& r, std::size_t index) {
  std::string s = fmt::format("rule {} of `place`", index + 1);
  if (!r.value.empty()) s += fmt::format(" (value: {})", r.value);
  if (!r.op.empty()) s += fmt::format(" (op: {})", r.op);
  return s;
}

std::string where(const PlaceRule& r, std::size_t index) {
  return r.loc.line > 0 ? fmt::format("{}:{}", r.loc.file, r.loc.line)
                        : fmt::format("place[{}]", index);
}

class Placement {
 public:
  Placement(const MemoryConfig& config, const std::vector<ValueHome>& homes,
            const std::vector<PlacementFacts>& facts, StorageValues& values)
      : config_(config),
        homes_(homes),
        facts_(facts),
        values_(values),
        rule_of_(values.values.size(), none),
        hits_(config.place.size()) {}

  Status run() {
    pools();
    rules();
    if (errors_.empty()) match();
    if (errors_.empty()) assign();
    if (errors_.empty()) pins();
    if (errors_.empty()) keeps();
    return std::move(errors_);
  }

 private:
  void fail(int code, const Loc& loc, std::string what, std::string fix,
            std::vector<std::string> notes = {}) {
    if (errors_.size() < 20)
      errors_.push_back({code, loc, std::move(what), std::move(fix), std::move(notes)});
  }

  void pools() {
    values_.pools = config_.pools.empty() ? default_memory_config().pools : config_.pools;
    values_.reserved = config_.reserved;
    // Worker scratch is a pool of its own; a device that says nothing about it gets one without a
    // limit.
    const bool worker = std::any_of(values_.pools.begin(), values_.pools.end(),
                                    [](const StoragePool& p) { return holds(p, Holds::worker); });
    const bool needed = std::any_of(values_.values.begin(), values_.values.end(),
                                    [](const StorageValue& v) { return v.role == Role::worker; });
    if (needed && !worker) values_.pools.push_back({.id = "worker", .holds = {Holds::worker}});
    for (const ReservedRange& r : values_.reserved) pool(r.pool, r.loc);
  }

  std::uint32_t pool(const std::string& id, const Loc& loc) {
    std::vector<std::string> known;
    for (std::uint32_t p = 0; p < values_.pools.size(); ++p) {
      if (values_.pools[p].id == id) return p;
      known.push_back(values_.pools[p].id);
    }
    const std::string near = did_you_mean(id, known);
    fail(4204, loc, fmt::format("there is no pool `{}`; pools are {}", id, fmt::join(known, ", ")),
         near.empty() ? "" : fmt::format("did you mean `{}`?", near));
    return none;
  }

  void rules() {
    for (std::size_t i = 0; i < config_.place.size(); ++i) {
      const PlaceRule& r = config_.place[i];
      rule_pools_.emplace_back();
      for (const std::string& id : r.pools) rule_pools_.back().push_back(pool(id, r.loc));
      if (r.at && r.pools.size() != 1) {
        fail(4207, r.loc,
             fmt::format("{} pins to {:#x} but names {} pools", rule_name(r, i), *r.at,
                         r.pools.size()),
             "a pin needs exactly one pool");
      }
    }
  }

  bool matches(const PlaceRule& r, std::size_t v) const {
    const StorageValue& value = values_.values[v];
    const PlacementFacts& f = facts_[v];
    if (f.alias && r.value.empty()) return false;
    if (value.role == Role::worker && r.role != Role::worker) return false;
    if (!r.value.empty() && !glob_match(r.value, value.name)) return false;
    if (r.role && *r.role != value.role) return false;
    if (!r.on.empty() && r.on != f.on) return false;
    return r.op.empty() || glob_match(r.op, value.op) || glob_match(r.op, f.compute);
  }

  void match() {
    for (std::size_t v = 0; v < values_.values.size(); ++v) {
      for (std::size_t i = 0; i < config_.place.size(); ++i) {
        if (!matches(config_.place[i], v)) continue;
        hits_[i].push_back(v);
        if (rule_of_[v] == none) rule_of_[v] = static_cast<std::uint32_t>(i);
      }
      const bool own_rule = facts_[v].alias || values_.values[v].role == Role::worker;
      if (!config_.place.empty() && rule_of_[v] == none && !own_rule) {
        fail(4206, {},
             fmt::format("no rule of `place` matches the {} `{}`", name(values_.values[v].role),
                         values_.values[v].name),
             "end `place` with a rule that matches everything, such as {pools: [...]}");
      }
    }
    for (std::size_t i = 0; i < hits_.size(); ++i) {
      if (hits_[i].empty()) nothing_matched(config_.place[i], i);
      if (config_.place[i].at && hits_[i].size() > 1) {
        fail(4207, config_.place[i].loc,
             fmt::format("{} pins {} values (`{}`, `{}`, ...) to one place",
                         rule_name(config_.place[i], i), hits_[i].size(),
                         values_.values[hits_[i][0]].name, values_.values[hits_[i][1]].name),
             "name one value");
      } else if (config_.place[i].at && hits_[i].size() == 1 && rule_of_[hits_[i][0]] != i) {
        fail(4207, config_.place[i].loc,
             fmt::format("{} pins `{}`, for which {} decides", rule_name(config_.place[i], i),
                         values_.values[hits_[i][0]].name,
                         rule_name(config_.place[rule_of_[hits_[i][0]]], rule_of_[hits_[i][0]])),
             "put the pin first");
      }
    }
  }

  /// Rules that name no value, op or place are policies: a model may have nothing for them.
  void nothing_matched(const PlaceRule& r, std::size_t index) {
    if (r.optional || (r.value.empty() && r.op.empty() && !r.at)) return;
    for (const ValueHome& h : homes_) {
      if (h.kind != ValueHome::Kind::input && h.kind != ValueHome::Kind::output) continue;
      const std::string value = value_name(h.value.node->results[h.value.index]);
      if (r.value.empty() || !glob_match(r.value, value)) continue;
      return fail(
          4205, r.loc,
          fmt::format("{} matches only `{}`, which the caller owns", rule_name(r, index), value),
          "set `io: planned` to let Tenon place inputs and outputs");
    }
    std::vector<std::string> known;
    for (std::size_t v = 0; v < values_.values.size(); ++v) {
      known.push_back(r.value.empty() ? values_.values[v].op : values_.values[v].name);
    }
    const std::string near = did_you_mean(r.value.empty() ? r.op : r.value, known);
    fail(4205, r.loc, fmt::format("{} matches no value", rule_name(r, index)),
         near.empty() ? "correct it, or add `optional: true`"
                      : fmt::format("did you mean `{}`? else add `optional: true`", near));
  }

  /// Whether the tensor expression decides where the value lives: no rule speaks of the value.
  bool asks(std::uint32_t v, std::uint32_t rule) const {
    if (facts_[v].pools.empty()) return false;
    return rule == none || (config_.place[rule].value.empty() && config_.place[rule].op.empty());
  }

  /// Why the pool may not hold the value; empty when it may.
  std::string refusal(const StoragePool& p, std::size_t v) const {
    const Holds sort = sort_of(values_.values[v].role);
    if (!holds(p, sort)) return fmt::format("pool `{}` does not hold {}", p.id, sort_name(sort));
    for (const auto& [target, writes] : facts_[v].targets) {
      if (p.access.empty() || target.empty()) continue;
      const auto it = p.access.find(std::string(target));
      const Access access = it == p.access.end() ? Access::none : it->second;
      if (access < (writes ? Access::write : Access::read)) {
        return fmt::format("target `{}` cannot {} pool `{}`", target, writes ? "write" : "read",
                           p.id);
      }
    }
    return "";
  }

  void assign() {
    // Owners first: a value that no rule speaks of goes where its storage goes.
    std::vector<std::uint32_t> index_of(homes_.size(), none);
    for (std::uint32_t v = 0; v < values_.values.size(); ++v) {
      if (values_.values[v].id < homes_.size()) index_of[values_.values[v].id] = v;
      if (!facts_[v].alias) assign(v, rule_of_[v]);
    }
    for (std::uint32_t v = 0; v < values_.values.size(); ++v) {
      if (!facts_[v].alias) continue;
      const std::uint32_t rule = rule_of_[v];
      assign(v, rule != none ? rule : rule_of_[index_of[homes_[values_.values[v].id].owner]]);
    }
  }

  void assign(std::uint32_t v, std::uint32_t rule) {
    StorageValue& value = values_.values[v];
    std::vector<std::uint32_t> candidates;
    if (asks(v, rule)) {
      value.place_why = "asked for by the tensor expression";
      for (const std::string& id : facts_[v].pools) {
        if (const std::uint32_t p = pool(id, {}); p != none) candidates.push_back(p);
      }
    } else if (rule != none) {
      value.place_why = where(config_.place[rule], rule);
      candidates = rule_pools_[rule];
    }
    if (candidates.empty()) {
      for (std::uint32_t p = 0; p < values_.pools.size(); ++p) candidates.push_back(p);
    }
    std::vector<std::string> why;
    for (const std::uint32_t p : candidates) {
      std::string no = refusal(values_.pools[p], v);
      if (no.empty()) {
        value.pools.push_back(p);
        value.cost.push_back(cost(value, values_.pools[p]));
      } else {
        why.push_back(std::move(no));
      }
    }
    if (!value.pools.empty()) return;
    fail(4206, rule == none ? Loc{} : config_.place[rule].loc,
         fmt::format("no pool is left for the {} `{}`", name(value.role), value.name),
         rule == none ? "declare a pool that may hold it" : "allow it another pool in `place`",
         std::move(why));
  }

  static std::uint64_t cost(const StorageValue& v, const StoragePool& p) {
    const double c = (static_cast<double>(v.reads) * p.read_cost +
                      static_cast<double>(v.writes) * p.write_cost) /
                     8;
    return c <= 0 ? 0 : static_cast<std::uint64_t>(std::min(std::ceil(c), 0x1p53));
  }

  void pins() {
    for (std::size_t v = 0; v < values_.values.size(); ++v) {
      if (rule_of_[v] == none || !config_.place[rule_of_[v]].at) continue;
      const PlaceRule& r = config_.place[rule_of_[v]];
      const StoragePool& p = values_.pools[rule_pools_[rule_of_[v]][0]];
      const std::uint64_t base = p.base.value_or(0);
      if (*r.at < base) {
        fail(4207, r.loc,
             fmt::format("`{}` is pinned to address {:#x}, below pool `{}`, which starts at {:#x}",
                         values_.values[v].name, *r.at, p.id, base),
             "pins are addresses where the pool has a base");
        continue;
      }
      values_.values[v].at = *r.at - base;
    }
  }

  void keeps() {
    for (const std::string& glob : config_.keep) {
      std::vector<std::string> known;
      bool hit = false;
      for (const StorageValue& v : values_.values) known.push_back(v.name);
      for (const ValueHome& h : homes_) {
        hit |= h.value.node && glob_match(glob, value_name(h.value.node->results[h.value.index]));
      }
      if (hit) continue;
      const std::string near = did_you_mean(glob, known);
      fail(4208, {}, fmt::format("`keep: {}` matches no value", glob),
           near.empty() ? "" : fmt::format("did you mean `{}`?", near));
    }
  }

  const MemoryConfig& config_;
  const std::vector<ValueHome>& homes_;
  const std::vector<PlacementFacts>& facts_;
  StorageValues& values_;
  std::vector<std::vector<std::uint32_t>> rule_pools_;
  std::vector<std::uint32_t> rule_of_;          ///< by value: the rule that decides, or none
  std::vector<std::vector<std::size_t>> hits_;  ///< by rule: values that it matches
  Diags errors_;
};

}  // namespace

MemoryConfig default_memory_config() {
  MemoryConfig c;
  c.pools.push_back({.id = "ram"});
  c.pools.push_back({.id = "const", .holds = {Holds::constants}});
  c.pools.push_back({.id = "worker", .holds = {Holds::worker}});
  return c;
}

bool config_keeps(const MemoryConfig& config, std::string_view value) {
  return std::any_of(config.keep.begin(), config.keep.end(),
                     [&](const std::string& g) { return glob_match(g, value); });
}

bool glob_match(std::string_view glob, std::string_view text) {
  std::size_t g = 0, t = 0, star = std::string_view::npos, resume = 0;
  while (t < text.size()) {
    if (g < glob.size() && glob[g] == '*') {
      star = g++;
      resume = t;
    } else if (g < glob.size() && (glob[g] == '?' || glob[g] == text[t])) {
      ++g;
      ++t;
    } else if (star != std::string_view::npos) {
      g = star + 1;
      t = ++resume;
    } else {
      return false;
    }
  }
  while (g < glob.size() && glob[g] == '*') ++g;
  return g == glob.size();
}

Status place_values(const MemoryConfig& config, const std::vector<ValueHome>& homes,
                    const std::vector<PlacementFacts>& facts, StorageValues& values) {
  return Placement(config, homes, facts, values).run();
}

}  // namespace tenon
