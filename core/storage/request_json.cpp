// Requests as JSON; the schema is sdk/docs/schema/request.schema.json.
#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>

#include "core/storage/json_reader.h"
#include "core/storage/request.h"

namespace tenon {
namespace {

constexpr std::string_view kAccess[] = {"none", "read", "write"};
constexpr std::string_view kHolds[] = {"constants", "data", "worker"};
constexpr std::uint32_t kNoValue = UINT32_MAX;  // a member that no module stands behind
constexpr std::uint64_t kMaxStep = 100'000'000;

// ---- writing

std::string list(const std::vector<std::string>& items) {
  return fmt::format("[{}]", fmt::join(items, ", "));
}

std::string text(const StoragePool& p) {
  std::string s = fmt::format("{{\"id\": {}", json_text(p.id));
  if (p.capacity) s += fmt::format(", \"capacity\": {}", *p.capacity);
  s += fmt::format(", \"granule\": {}", p.granule);
  if (p.base) s += fmt::format(", \"base\": {}", *p.base);
  std::vector<std::string> items;
  for (const auto& [target, a] : p.access)
    items.push_back(fmt::format("{}: \"{}\"", json_text(target), kAccess[static_cast<int>(a)]));
  if (!items.empty()) s += fmt::format(", \"access\": {{{}}}", fmt::join(items, ", "));
  items.clear();
  for (const Holds h : p.holds) items.push_back(fmt::format("\"{}\"", kHolds[static_cast<int>(h)]));
  s += ", \"holds\": " + list(items);
  if (!p.image.empty()) s += ", \"image\": " + json_text(p.image);
  if (p.read_cost != 0) s += ", \"read\": " + Json(p.read_cost).dump();
  if (p.write_cost != 0) s += ", \"write\": " + Json(p.write_cost).dump();
  return s + "}";
}

std::string text(const TokenMember& m) {
  return fmt::format(
      "{{\"id\": {}, \"name\": {}, \"offset\": {}, \"size\": {}, \"live\": [{}, {}], \"role\": "
      "\"{}\"}}",
      m.id, json_text(m.name), m.offset, m.size, m.live.first, m.live.end, name(m.role));
}

std::string text(const StorageToken& t, const StorageRequest& r) {
  std::string s = fmt::format("{{\"name\": {}, \"size\": {}, \"align\": {}, \"live\": [{}, {}]",
                              json_text(t.name), t.size, t.align, t.first, t.end);
  if (t.at) s += fmt::format(", \"at\": {}", *t.at + r.pools[t.pools[0]].base.value_or(0));
  std::vector<std::string> items;
  for (const std::uint32_t p : t.pools) items.push_back(json_text(r.pools[p].id));
  s += ", \"pools\": " + list(items);
  if (std::any_of(t.cost.begin(), t.cost.end(), [](std::uint64_t c) { return c != 0; }))
    s += fmt::format(", \"cost\": [{}]", fmt::join(t.cost, ", "));
  items.clear();
  for (const TokenPart& p : t.parts)
    items.push_back(
        fmt::format("{{\"live\": [{}, {}], \"bytes\": [{}, {}]}}", p.first, p.end, p.lo, p.hi));
  if (!items.empty()) s += ", \"parts\": " + list(items);
  items.clear();
  for (const TokenMember& m : t.members) items.push_back(text(m));
  if (!items.empty()) s += ", \"values\": " + list(items);
  return s + "}";
}

// One element a line, so that a diff of two requests reads.
void put_lines(std::string& out, std::string_view key, const std::vector<std::string>& items) {
  out += fmt::format(",\n  \"{}\": [", key);
  for (std::size_t i = 0; i < items.size(); ++i)
    out += fmt::format("{}\n    {}", i ? "," : "", items[i]);
  out += items.empty() ? "]" : "\n  ]";
}

// ---- reading

class Reader {
 public:
  Reader(std::string_view text, std::string_view file) : in_(text, file) {}

  Result<StorageRequest> read() {
    const auto j = in_.parse();
    if (j && in_.object(*j, root_, {"tenon_request", "pools", "tokens"}, {"steps", "joins"})) {
      if (const auto v = in_.integer((*j)["tenon_request"], {&root_, "tenon_request"});
          v && *v != 1)
        in_.fail({&root_, "tenon_request"},
                 fmt::format("version {} is not known, this reads 1", *v));
      each(*j, "pools", [this](const Json& x, const Where& at) { pool(x, at); });
      for (std::uint32_t p = 0; p < r_.pools.size(); ++p) pool_of_.emplace(r_.pools[p].id, p);
      each(*j, "tokens", [this](const Json& x, const Where& at) { token(x, at); });
      for (std::uint32_t i = 0; i < r_.tokens.size(); ++i) token_of_.emplace(r_.tokens[i].name, i);
      if (j->contains("joins"))
        each(*j, "joins", [this](const Json& x, const Where& at) { join(x, at); });
      steps(*j);
    }
    if (!in_.ok()) return in_.take();
    return std::move(r_);
  }

 private:
  template <class F>
  void each(const Json& j, std::string_view key, F f, const Where* up = nullptr) {
    const Where at{up ? up : &root_, key};
    const Json& list = j[std::string(key)];
    if (!in_.array(list, at)) return;
    for (std::size_t i = 0; i < list.size(); ++i) f(list[i], Where{&at, {}, i});
  }
  template <class T, class V>
  static void set(T& to, const std::optional<V>& v) {
    if (v) to = static_cast<T>(*v);
  }

  template <std::size_t N, class E>
  void pick(const Json& j, const Where& at, const std::string_view (&names)[N], E& to) {
    const auto s = in_.string(j, at);
    if (!s) return;
    const auto it = std::find(std::begin(names), std::end(names), *s);
    if (it == std::end(names))
      return in_.fail(at, fmt::format("'{}' is not known", *s),
                      fmt::format("one of: {}", fmt::join(names, ", ")));
    to = static_cast<E>(it - std::begin(names));
  }

  void pool(const Json& j, const Where& at) {
    StoragePool p;
    if (!in_.object(j, at, {"id"},
                    {"capacity", "granule", "base", "access", "holds", "image", "read", "write"}))
      return;
    set(p.id, in_.string(j["id"], {&at, "id"}));
    if (j.contains("capacity")) p.capacity = in_.integer(j["capacity"], {&at, "capacity"});
    if (j.contains("granule")) set(p.granule, in_.integer(j["granule"], {&at, "granule"}));
    if (j.contains("base")) p.base = in_.integer(j["base"], {&at, "base"});
    if (j.contains("image")) set(p.image, in_.string(j["image"], {&at, "image"}));
    if (j.contains("read")) set(p.read_cost, in_.number(j["read"], {&at, "read"}));
    if (j.contains("write")) set(p.write_cost, in_.number(j["write"], {&at, "write"}));
    if (j.contains("access")) {
      const Where access{&at, "access"};
      if (!j["access"].is_object())
        in_.fail(access, "an object {target: none|read|write} is wanted");
      else
        for (const auto& [target, a] : j["access"].items())
          pick(a, {&access, target}, kAccess, p.access[target]);
    }
    if (j.contains("holds")) {
      p.holds.clear();
      each(
          j, "holds",
          [&](const Json& x, const Where& w) { pick(x, w, kHolds, p.holds.emplace_back()); }, &at);
    }
    r_.pools.push_back(std::move(p));
  }

  void live(const Json& j, const Where& at, std::uint32_t& first, std::uint32_t& end) {
    if (const auto v = in_.interval(j, at, kMaxStep)) {
      first = static_cast<std::uint32_t>(v->first);
      end = static_cast<std::uint32_t>(v->second);
    }
  }

  void token(const Json& j, const Where& at) {
    StorageToken t;
    if (!in_.object(j, at, {"name", "size", "live"},
                    {"align", "at", "pools", "cost", "parts", "values"}))
      return;
    set(t.name, in_.string(j["name"], {&at, "name"}));
    set(t.size, in_.integer(j["size"], {&at, "size"}));
    if (j.contains("align")) set(t.align, in_.integer(j["align"], {&at, "align"}));
    live(j["live"], {&at, "live"}, t.first, t.end);
    if (j.contains("pools")) {
      each(
          j, "pools", [&](const Json& x, const Where& w) { token_pool(x, w, t); }, &at);
    } else {
      for (std::uint32_t p = 0; p < r_.pools.size(); ++p) t.pools.push_back(p);
    }
    if (j.contains("cost"))
      each(
          j, "cost",
          [&](const Json& x, const Where& w) { t.cost.push_back(in_.integer(x, w).value_or(0)); },
          &at);
    if (j.contains("parts"))
      each(
          j, "parts", [&](const Json& x, const Where& w) { part(x, w, t); }, &at);
    if (j.contains("values"))
      each(
          j, "values", [&](const Json& x, const Where& w) { member(x, w, t); }, &at);
    if (j.contains("at")) pin(j["at"], {&at, "at"}, t);
    end_ = std::max(end_, std::max(t.end, t.first + 1));
    r_.tokens.push_back(std::move(t));
  }

  void token_pool(const Json& j, const Where& at, StorageToken& t) {
    const auto id = in_.string(j, at);
    if (!id) return;
    if (const auto it = pool_of_.find(*id); it != pool_of_.end())
      return t.pools.push_back(it->second);
    std::string known;
    for (const StoragePool& p : r_.pools) known += (known.empty() ? "" : ", ") + p.id;
    in_.fail(at, fmt::format("no pool is called '{}'", *id), "pools: " + known, 4403);
  }

  // In the file an address where the pool has a base; in memory always an offset.
  void pin(const Json& j, const Where& at, StorageToken& t) {
    const auto v = in_.integer(j, at);
    if (!v) return;
    const std::uint64_t base = t.pools.empty() ? 0 : r_.pools[t.pools[0]].base.value_or(0);
    if (*v < base)
      return in_.fail(at,
                      fmt::format("address {} lies below pool '{}', which begins at {}", *v,
                                  r_.pools[t.pools[0]].id, base),
                      "a pin is an address where the pool has a base", 4104);
    t.at = *v - base;
  }

  void part(const Json& j, const Where& at, StorageToken& t) {
    TokenPart p;
    if (!in_.object(j, at, {"live", "bytes"})) return;
    live(j["live"], {&at, "live"}, p.first, p.end);
    if (const auto v = in_.interval(j["bytes"], {&at, "bytes"})) std::tie(p.lo, p.hi) = *v;
    t.parts.push_back(p);
  }

  void member(const Json& j, const Where& at, StorageToken& t) {
    TokenMember m;
    m.value = kNoValue;
    if (!in_.object(j, at, {"id", "name", "offset", "size", "live"}, {"role"})) return;
    set(m.id, in_.integer(j["id"], {&at, "id"}, UINT32_MAX));
    set(m.name, in_.string(j["name"], {&at, "name"}));
    set(m.offset, in_.integer(j["offset"], {&at, "offset"}));
    set(m.size, in_.integer(j["size"], {&at, "size"}));
    live(j["live"], {&at, "live"}, m.live.first, m.live.end);
    static constexpr std::string_view kRoles[] = {"input",      "output",  "constant", "state",
                                                  "activation", "scratch", "worker"};
    if (j.contains("role")) pick(j["role"], {&at, "role"}, kRoles, m.role);
    t.members.push_back(std::move(m));
  }

  void join(const Json& j, const Where& at) {
    TokenJoin x;
    if (!in_.object(j, at, {"a", "b"}, {"delta"})) return;
    const auto find = [&](std::string_view key, std::uint32_t& to) {
      const Where w{&at, key};
      const auto id = in_.string(j[std::string(key)], w);
      if (!id) return;
      if (const auto it = token_of_.find(*id); it != token_of_.end())
        to = it->second;
      else
        in_.fail(w, fmt::format("no token is called '{}'", *id), "", 4403);
    };
    find("a", x.a);
    find("b", x.b);
    if (j.contains("delta")) set(x.delta, in_.integer(j["delta"], {&at, "delta"}));
    r_.joins.push_back(x);
  }

  void steps(const Json& j) {
    if (!j.contains("steps")) return r_.steps.resize(end_);
    each(j, "steps", [this](const Json& x, const Where& at) {
      r_.steps.push_back(in_.string(x, at).value_or(""));
    });
  }

  JsonReader in_;
  const Where root_;
  StorageRequest r_;
  std::unordered_map<std::string, std::uint32_t> pool_of_, token_of_;
  std::uint32_t end_ = 0;
};

}  // namespace

std::string to_json(const StorageRequest& r) {
  std::string out = "{\n  \"tenon_request\": 1";
  std::vector<std::string> items;
  for (const StoragePool& p : r.pools) items.push_back(text(p));
  put_lines(out, "pools", items);
  items.clear();
  for (const std::string& s : r.steps) items.push_back(json_text(s));
  out += ",\n  \"steps\": " + list(items);
  items.clear();
  for (const StorageToken& t : r.tokens) items.push_back(text(t, r));
  put_lines(out, "tokens", items);
  items.clear();
  for (const TokenJoin& j : r.joins)
    items.push_back(fmt::format("{{\"a\": {}, \"b\": {}, \"delta\": {}}}",
                                json_text(r.tokens[j.a].name), json_text(r.tokens[j.b].name),
                                j.delta));
  if (!items.empty()) put_lines(out, "joins", items);
  return out + "\n}\n";
}

Result<StorageRequest> request_from_json(std::string_view text, std::string_view file) {
  return Reader(text, file).read();
}

}  // namespace tenon
