// Plans as JSON; the schema is sdk/docs/schema/plan.schema.json. Slots name their tokens, so a plan
// reads without its request.
#include <fmt/format.h>

#include <unordered_map>

#include "core/storage/json_reader.h"
#include "core/storage/request.h"

namespace tenon {
namespace {

class Reader {
 public:
  Reader(std::string_view text, std::string_view file, const StorageRequest& r)
      : in_(text, file), r_(r) {
    for (std::uint32_t i = 0; i < r.pools.size(); ++i) pool_of_.emplace(r.pools[i].id, i);
    for (std::uint32_t i = 0; i < r.tokens.size(); ++i) token_of_.emplace(r.tokens[i].name, i);
  }

  Result<StoragePlan> read() {
    const auto j = in_.parse();
    if (j &&
        in_.object(*j, root_, {"tenon_plan", "request", "planner", "version", "pools", "slots"},
                   {"options", "cost", "optimal", "reproducible"}))
      document(*j);
    if (!in_.ok()) return in_.take();
    return std::move(p_);
  }

 private:
  void document(const Json& j) {
    if (const auto v = in_.integer(j["tenon_plan"], {&root_, "tenon_plan"}); v && *v != 1)
      in_.fail({&root_, "tenon_plan"}, fmt::format("version {} is not known, this reads 1", *v));
    p_.request_hash = in_.string(j["request"], {&root_, "request"}).value_or("");
    p_.planner = in_.string(j["planner"], {&root_, "planner"}).value_or("");
    p_.version = in_.string(j["version"], {&root_, "version"}).value_or("");
    if (j.contains("cost")) p_.cost = in_.integer(j["cost"], {&root_, "cost"}).value_or(0);
    if (j.contains("optimal"))
      p_.optimal = in_.boolean(j["optimal"], {&root_, "optimal"}).value_or(false);
    if (j.contains("reproducible"))
      p_.reproducible = in_.boolean(j["reproducible"], {&root_, "reproducible"}).value_or(true);
    if (j.contains("options")) options(j["options"], {&root_, "options"});
    pools(j["pools"], {&root_, "pools"});
    slots(j["slots"], {&root_, "slots"});
  }

  void options(const Json& j, const Where& at) {
    if (!j.is_object()) return in_.fail(at, "an object of strings is wanted");
    for (const auto& [key, value] : j.items())
      p_.options[key] = in_.string(value, {&at, key}).value_or("");
  }

  // The index that `name` has in the request; each at most once.
  std::optional<std::uint32_t> find(const std::unordered_map<std::string, std::uint32_t>& of,
                                    const Json& j, const Where& at, std::string_view what) {
    const auto name = in_.string(j, at);
    if (!name) return std::nullopt;
    const auto it = of.find(*name);
    if (it != of.end()) return it->second;
    in_.fail(at, fmt::format("the request has no {} '{}'", what, *name),
             "is it the plan of this request?", 4403);
    return std::nullopt;
  }

  void pools(const Json& j, const Where& at) {
    p_.pools.resize(r_.pools.size());
    if (!in_.array(j, at)) return;
    std::vector<char> seen(r_.pools.size(), 0);
    for (std::size_t i = 0; i < j.size(); ++i) {
      const Where w{&at, {}, i};
      if (!in_.object(j[i], w, {"id", "peak"}, {"bound", "peak_step"})) continue;
      const auto p = find(pool_of_, j[i]["id"], {&w, "id"}, "pool");
      if (!p) continue;
      if (seen[*p]++) in_.fail(w, fmt::format("pool '{}' is listed twice", r_.pools[*p].id));
      PoolUse& use = p_.pools[*p];
      use.peak = in_.integer(j[i]["peak"], {&w, "peak"}).value_or(0);
      if (j[i].contains("bound")) use.bound = in_.integer(j[i]["bound"], {&w, "bound"}).value_or(0);
      if (j[i].contains("peak_step"))
        use.peak_step = static_cast<std::uint32_t>(
            in_.integer(j[i]["peak_step"], {&w, "peak_step"}, UINT32_MAX).value_or(0));
    }
  }

  void slots(const Json& j, const Where& at) {
    p_.slots.resize(r_.tokens.size());
    if (!in_.array(j, at)) return;
    std::vector<char> seen(r_.tokens.size(), 0);
    for (std::size_t i = 0; i < j.size(); ++i) {
      const Where w{&at, {}, i};
      if (!in_.object(j[i], w, {"token", "pool", "offset"})) continue;
      const auto t = find(token_of_, j[i]["token"], {&w, "token"}, "token");
      const auto p = find(pool_of_, j[i]["pool"], {&w, "pool"}, "pool");
      const auto o = in_.integer(j[i]["offset"], {&w, "offset"});
      if (!t || !p || !o) continue;
      if (seen[*t]++) in_.fail(w, fmt::format("token '{}' has two slots", r_.tokens[*t].name));
      p_.slots[*t] = {*p, *o};
    }
    for (std::size_t i = 0; i < seen.size(); ++i)
      if (!seen[i])
        in_.fail(at, fmt::format("token '{}' of the request has no slot", r_.tokens[i].name),
                 "plan again", 4001);
  }

  JsonReader in_;
  const Where root_;
  const StorageRequest& r_;
  std::unordered_map<std::string, std::uint32_t> pool_of_, token_of_;
  StoragePlan p_;
};

}  // namespace

std::string to_json(const StoragePlan& p, const StorageRequest& r) {
  std::string out = fmt::format(
      "{{\n  \"tenon_plan\": 1,\n  \"request\": {},\n  \"planner\": {},\n  \"version\": {}",
      json_text(p.request_hash), json_text(p.planner), json_text(p.version));
  out += ",\n  \"options\": {";
  for (bool first = true; const auto& [key, value] : p.options) {
    out += fmt::format("{}{}: {}", first ? "" : ", ", json_text(key), json_text(value));
    first = false;
  }
  out += fmt::format(
      "}},\n  \"cost\": {},\n  \"optimal\": {},\n  \"reproducible\": {},\n  \"pools\": [", p.cost,
      p.optimal, p.reproducible);
  for (std::size_t i = 0; i < p.pools.size(); ++i)
    out += fmt::format("{}\n    {{\"id\": {}, \"peak\": {}, \"bound\": {}, \"peak_step\": {}}}",
                       i ? "," : "", json_text(r.pools[i].id), p.pools[i].peak, p.pools[i].bound,
                       p.pools[i].peak_step);
  out += "\n  ],\n  \"slots\": [";
  for (std::size_t i = 0; i < p.slots.size(); ++i)
    out += fmt::format("{}\n    {{\"token\": {}, \"pool\": {}, \"offset\": {}}}", i ? "," : "",
                       json_text(r.tokens[i].name), json_text(r.pools[p.slots[i].pool].id),
                       p.slots[i].offset);
  return out + (p.slots.empty() ? "]\n}\n" : "\n  ]\n}\n");
}

Result<StoragePlan> plan_from_json(std::string_view text, std::string_view file,
                                   const StorageRequest& r) {
  return Reader(text, file, r).read();
}

}  // namespace tenon
