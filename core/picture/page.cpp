// The page: core/picture/page.html with the plans' data in it.
#include <fmt/format.h>

#include <algorithm>

#include "core/picture/page_template.h"
#include "core/picture/picture.h"
#include "core/picture/roles.h"
#include "core/storage/files.h"
#include "nlohmann/json.hpp"

namespace tenon {
namespace {

using Json = nlohmann::ordered_json;

Json pools_json(const ShownPlan& s) {
  Json out = Json::array();
  const std::vector<std::uint64_t> alone = unshared(*s.request, *s.plan);
  for (std::size_t p = 0; p < s.request->pools.size(); ++p) {
    const StoragePool& pool = s.request->pools[p];
    const PoolUse& use = s.plan->pools[p];
    Json j{{"id", pool.id},      {"granule", pool.granule},    {"peak", use.peak},
           {"bound", use.bound}, {"peak_step", use.peak_step}, {"unshared", alone[p]}};
    j["capacity"] = pool.capacity ? Json(*pool.capacity) : Json(nullptr);
    out.push_back(std::move(j));
  }
  return out;
}

/// What only a click shows: where a token may live and why, and what it holds.
Json details(const StorageRequest& r, const StorageToken& t) {
  Json out = Json::object();
  if (t.align > 1) out["align"] = t.align;
  Json why = Json::array();
  if (t.at) why.push_back(fmt::format("pinned to offset {}", *t.at));
  if (t.pools.size() == 1 && r.pools.size() > 1)
    why.push_back(fmt::format("may live in {} only", r.pools[t.pools[0]].id));
  if (t.pools.size() > 1) {
    std::string order = "may live in ";
    for (std::size_t k = 0; k < t.pools.size(); ++k)
      order += fmt::format("{}{} (cost {})", k ? ", then " : "", r.pools[t.pools[k]].id, t.cost[k]);
    why.push_back(order);
  }
  for (const TokenPart& p : t.parts)
    why.push_back(fmt::format("bytes [{}, {}) in steps {} to {}", p.lo, p.hi, p.first, p.end - 1));
  if (!why.empty()) out["why"] = std::move(why);
  if (t.members.size() > 1 || (t.members.size() == 1 && t.members[0].name != t.name)) {
    Json values = Json::array();
    for (const TokenMember& m : t.members)
      values.push_back(fmt::format("{}: {} bytes at +{}, steps {} to {}, {}", m.name, m.size,
                                   m.offset, m.live.first, m.live.end - 1, name(m.role)));
    out["values"] = std::move(values);
  }
  return out;
}

Json plan_json(const ShownPlan& s) {
  const StorageRequest& r = *s.request;
  Json out{{"title", s.title},
           {"planner", s.plan->planner},
           {"optimal", optimality(r, *s.plan)},
           {"pools", pools_json(s)}};
  Json names = Json::array(), pool = Json::array(), offset = Json::array(), size = Json::array(),
       first = Json::array(), end = Json::array(), role = Json::array(), more = Json::array();
  for (std::size_t i = 0; i < r.tokens.size(); ++i) {
    const StorageToken& t = r.tokens[i];
    names.push_back(t.name);
    pool.push_back(s.plan->slots[i].pool);
    offset.push_back(s.plan->slots[i].offset);
    size.push_back(t.size);
    first.push_back(t.first);
    end.push_back(t.end);
    role.push_back(picture::look_of(t));
    Json d = details(r, t);
    more.push_back(d.empty() ? Json(0) : std::move(d));
  }
  out["name"] = std::move(names);
  out["pool"] = std::move(pool);
  out["offset"] = std::move(offset);
  out["size"] = std::move(size);
  out["first"] = std::move(first);
  out["end"] = std::move(end);
  out["role"] = std::move(role);
  out["more"] = std::move(more);
  return out;
}

}  // namespace

std::string picture_page(std::string_view title, std::span<const ShownPlan> plans) {
  Json data{{"title", title}};
  for (const picture::RoleLook& look : picture::kRoles)
    data["roles"].push_back(
        {{"name", name(look.role)}, {"light", look.light}, {"dark", look.dark}});
  const ShownPlan& longest = *std::ranges::max_element(
      plans, {}, [](const ShownPlan& s) { return s.request->steps.size(); });
  data["steps"] = longest.request->steps;
  for (const ShownPlan& s : plans) data["plans"].push_back(plan_json(s));
  std::string text = data.dump(-1, ' ', false, Json::error_handler_t::replace);
  for (std::size_t at = 0; (at = text.find('<', at)) != text.npos; at += 6)
    text.replace(at, 1, "\\u003c");  // nothing in a name can end the script
  std::string out(picture::page_template());
  return out.replace(out.find("@DATA@"), 6, text);
}

}  // namespace tenon
