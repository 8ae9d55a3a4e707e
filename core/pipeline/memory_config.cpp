// Pools, reserved ranges, place rules: read, and checked as far as the file alone decides.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <bit>
#include <limits>
#include <utility>

#include "core/pipeline/convert.h"
#include "core/pipeline/schema.h"

namespace tenon {
namespace {

using Kind = YamlNode::Kind;

struct HoldsRow {
  std::string_view name;
  Holds holds;
};
constexpr HoldsRow holds_rows[] = {
    {"constants", Holds::constants}, {"data", Holds::data}, {"worker", Holds::worker}};
struct AccessRow {
  std::string_view name;
  Access access;
};
constexpr AccessRow access_rows[] = {
    {"r", Access::read}, {"rw", Access::write}, {"none", Access::none}};
struct RoleRow {
  std::string_view name;
  Role role;
};
constexpr RoleRow role_rows[] = {{"input", Role::input},           {"output", Role::output},
                                 {"constant", Role::constant},     {"state", Role::state},
                                 {"activation", Role::activation}, {"scratch", Role::scratch},
                                 {"worker", Role::worker}};

/// The row called `text`, or null after an error.
template <class Row, std::size_t N>
const Row* row(Reader& r, const Row (&rows)[N], const std::string& text, const Loc& at,
               std::string_view what) {
  std::vector<std::string_view> names;
  for (const Row& x : rows) names.push_back(x.name);
  return r.one_of(text, at, what, names) ? std::ranges::find(rows, text, &Row::name) : nullptr;
}

class MemoryReader {
 public:
  MemoryReader(PipelineConfig& out, Reader& reader) : out_(out), r_(reader) {}

  void pools(const YamlNode& n) {
    if (!r_.want_map(n, "'pools'")) return;
    for (const YamlEntry& e : n.entries)
      if (r_.id(e.key, e.key_loc, "a pool") &&
          r_.want_map(*e.value, fmt::format("pool '{}'", e.key)))
        pool(e);
    for (const StoragePool& p : memory().pools) image(p);
    overlaps();
  }

  void reserved(const YamlNode& n) {
    if (!r_.want_list(n, "'reserved'")) return;
    for (const YamlPtr& i : n.items) {
      if (!r_.want_map(*i, "a reserved range")) continue;
      OptionValues found;
      const auto keys = r_.read<schema::ReservedKeys>(*i, "a reserved range", {}, &found);
      bool complete = true;
      for (const char* key : {"pool", "at", "size"}) {
        complete &= find(found, key) != nullptr;
        if (!i->find(key))
          r_.fail(2107, i->loc, fmt::format("a reserved range has no '{}'", key),
                  "write {pool: ..., at: ..., size: ..., why: ...}");
      }
      if (!complete) continue;
      const StoragePool* p = known_pool(keys.pool, find(found, "pool")->loc);
      if (p && inside(*p, keys.at.n, keys.size.n, find(found, "at")->loc, "the reserved range"))
        memory().reserved.push_back({.pool = keys.pool,
                                     .why = keys.why,
                                     .at = keys.at.n,
                                     .size = keys.size.n,
                                     .loc = i->loc});
    }
  }

  void place(const YamlNode& n) {
    if (!r_.want_list(n, "'place'")) return;
    const YamlNode* all = nullptr;  // the rule that leaves nothing to later ones
    bool reported = false;
    for (const YamlPtr& i : n.items) {
      if (!r_.want_map(*i, "a place rule")) continue;
      if (all && !std::exchange(reported, true))
        r_.fail(2124, i->loc, "this rule is never reached: an earlier one matches every value",
                "move it up",
                {fmt::format("the earlier one is at {}:{}:{}", all->loc.file, all->loc.line,
                             all->loc.col)});
      memory().place.push_back(place_rule(*i));
      if (!all && matches_all(*i)) all = i.get();
    }
  }

  void state(const YamlNode& n) {
    if (!r_.want_list(n, "'state'")) return;
    for (const YamlPtr& i : n.items) {
      if (!r_.want_map(*i, "a pair of the state")) continue;
      OptionValues found;
      const auto keys = r_.read<schema::StateKeys>(*i, "a pair of the state", {}, &found);
      if (keys.input.empty() || keys.output.empty()) {
        r_.fail(2107, i->loc, "a pair of the state has no input or no output",
                "write {input: NAME, output: NAME}");
        continue;
      }
      memory().state.push_back({keys.input, keys.output, i->loc});
    }
  }

  void file_keys(const YamlNode& tree) {
    YamlNode own{.kind = Kind::map, .loc = tree.loc};
    for (const YamlEntry& e : tree.entries)
      if (e.key == "io" || e.key == "keep") own.entries.push_back(e);
    OptionValues found;
    const auto keys = r_.read<schema::FileKeys>(own, "the pipeline", {}, &found);
    constexpr std::string_view owners[] = {"caller", "planned"};
    if (const OptionValue* io = find(found, "io")) r_.one_of(keys.io, io->loc, "'io'", owners);
    memory().io_planned = keys.io == "planned";
    memory().keep = keys.keep;
  }

 private:
  MemoryConfig& memory() { return out_.memory; }

  static bool matches_all(const YamlNode& rule) {
    return std::ranges::all_of(rule.entries, [](const YamlEntry& e) {
      return e.key == "pools" || e.key == "optional" || (e.key == "value" && e.value->text == "*");
    });
  }

  void pool(const YamlEntry& e) {
    const std::string owner = fmt::format("pool '{}'", e.key);
    OptionValues found;
    const auto keys = r_.read<schema::PoolKeys>(*e.value, owner, {"access"}, &found);
    StoragePool p{.id = e.key,
                  .granule = keys.granule.n,
                  .holds = {},
                  .image = keys.image,
                  .read_cost = keys.read,
                  .write_cost = keys.write,
                  .loc = e.key_loc};
    if (find(found, "capacity")) p.capacity = keys.capacity.n;
    if (find(found, "base")) p.base = keys.base.n;
    if (const YamlEntry* a = e.value->find("access")) access(*a->value, p);
    for (const char* cost : {"read", "write"})
      if (const OptionValue* v = find(found, cost);
          v && (cost[0] == 'r' ? keys.read : keys.write) < 0)
        r_.fail(2105, v->loc,
                fmt::format("'{}' of {} is {}, cycles are not negative", cost, owner, v->items[0]));
    if (!std::has_single_bit(p.granule)) {
      r_.fail(2121, find(found, "granule")->loc,
              fmt::format("granule of {} is {}, not a power of two", owner, p.granule),
              fmt::format("write {}", std::bit_ceil(p.granule)));
      p.granule = 1;
    }
    if (p.base && *p.base % p.granule)
      r_.fail(2121, find(found, "base")->loc,
              fmt::format("base 0x{:x} of {} is not a multiple of its granule {}", *p.base, owner,
                          p.granule));
    if (p.base && p.capacity && *p.capacity > std::numeric_limits<std::uint64_t>::max() - *p.base) {
      r_.fail(2121, find(found, "capacity")->loc,
              fmt::format("{} ends past the last address: base 0x{:x}, capacity {}", owner, *p.base,
                          *p.capacity));
      p.capacity.reset();
    }
    holds(found, owner, p);
    memory().pools.push_back(std::move(p));
  }

  void access(const YamlNode& n, StoragePool& p) {
    if (!r_.want_map(n, fmt::format("'access' of pool '{}'", p.id))) return;
    for (const YamlEntry& e : n.entries) {
      known_target(e.key, e.key_loc);
      const std::string text = r_.text(*e.value, fmt::format("access of '{}'", e.key));
      if (text.empty()) continue;
      if (const AccessRow* a = row(r_, access_rows, text, e.value->loc,
                                   fmt::format("access of '{}' to pool '{}'", e.key, p.id)))
        p.access[e.key] = a->access;
    }
  }

  void holds(const OptionValues& found, const std::string& owner, StoragePool& p) {
    const OptionValue* given = find(found, "holds");
    if (!given) {
      const bool writable = p.access.empty() || std::ranges::any_of(p.access, [](const auto& a) {
                              return a.second == Access::write;
                            });
      p.holds = {writable ? Holds::data : Holds::constants};
      return;
    }
    if (given->items.empty())
      r_.fail(2121, given->loc, fmt::format("{} holds nothing", owner),
              "leave `holds` out, or write capacity: 0 to switch the pool off");
    for (const std::string& text : given->items)
      if (const HoldsRow* h =
              row(r_, holds_rows, text, given->loc, fmt::format("'holds' of {}", owner))) {
        if (std::ranges::find(p.holds, h->holds) == p.holds.end()) p.holds.push_back(h->holds);
      }
  }

  void image(const StoragePool& p) {
    if (p.image.empty()) return;
    const StoragePool* from = known_pool(p.image, p.loc);
    if (from == &p)
      r_.fail(2121, p.loc, fmt::format("pool '{}' is its own image", p.id),
              "name the pool that keeps the constants while power is off");
    const bool constants = std::ranges::find(p.holds, Holds::constants) != p.holds.end();
    if (!constants)
      r_.fail(2121, p.loc, fmt::format("pool '{}' has an image but holds no constants", p.id),
              "write holds: [constants, data]");
  }

  /// Two pools whose addresses overlap would give one byte to two owners.
  void overlaps() {
    std::vector<const StoragePool*> at;
    for (const StoragePool& p : memory().pools)
      if (p.base && p.capacity && *p.capacity) at.push_back(&p);
    std::ranges::sort(at, {}, [](const StoragePool* p) { return *p->base; });
    for (std::size_t i = 1; i < at.size(); ++i) {
      const StoragePool &a = *at[i - 1], &b = *at[i];
      if (*a.base + *a.capacity > *b.base)
        r_.fail(2121, b.loc,
                fmt::format("pool '{}' starts at 0x{:x}, inside pool '{}' [0x{:x}, 0x{:x})", b.id,
                            *b.base, a.id, *a.base, *a.base + *a.capacity));
    }
  }

  const StoragePool* known_pool(const std::string& id, const Loc& at) {
    std::vector<std::string> ids;
    for (const StoragePool& p : memory().pools) {
      if (p.id == id) return &p;
      ids.push_back(p.id);
    }
    const std::string near = did_you_mean(id, ids);
    r_.fail(
        2120, at, fmt::format("no pool is called '{}'", id),
        near.empty() ? "" : fmt::format("did you mean '{}'?", near),
        {fmt::format("pools: {}", ids.empty() ? "none" : fmt::format("{}", fmt::join(ids, ", ")))});
    return nullptr;
  }

  void known_target(const std::string& id, const Loc& at) {
    std::vector<std::string> ids;
    for (const TargetConfig& t : out_.targets) ids.push_back(t.id);
    if (std::ranges::find(ids, id) != ids.end()) return;
    const std::string near = did_you_mean(id, ids);
    r_.fail(2123, at, fmt::format("no target is called '{}'", id),
            near.empty() ? "" : fmt::format("did you mean '{}'?", near),
            {fmt::format("targets: {}",
                         ids.empty() ? "none" : fmt::format("{}", fmt::join(ids, ", ")))});
  }

  /// [at, at + size) lies in the pool; `at` is an address where the pool has a base.
  bool inside(const StoragePool& p, std::uint64_t at, std::uint64_t size, const Loc& loc,
              std::string_view what) {
    const std::uint64_t base = p.base.value_or(0);
    const std::string pool =
        fmt::format("pool '{}' [0x{:x}, {})", p.id, base,
                    p.capacity ? fmt::format("0x{:x}", base + *p.capacity) : "no end");
    if (at < base) {
      r_.fail(2122, loc, fmt::format("{} starts at 0x{:x}, before {}", what, at, pool),
              "give an address of the pool");
      return false;
    }
    if (size > std::numeric_limits<std::uint64_t>::max() - at ||
        (p.capacity && (at - base > *p.capacity || size > *p.capacity - (at - base)))) {
      r_.fail(2122, loc,
              fmt::format("{} at 0x{:x} with {} bytes ends outside {}", what, at, size, pool));
      return false;
    }
    return true;
  }

  PlaceRule place_rule(const YamlNode& n) {
    OptionValues found;
    const auto keys = r_.read<schema::PlaceKeys>(n, "a place rule", {}, &found);
    PlaceRule rule{.value = keys.value,
                   .on = keys.on,
                   .op = keys.op,
                   .pools = {},
                   .optional = keys.optional,
                   .loc = n.loc};
    if (const OptionValue* v = find(found, "role"))
      if (const RoleRow* r = row(r_, role_rows, keys.role, v->loc, "'role'")) rule.role = r->role;
    if (const OptionValue* v = find(found, "on")) known_target(keys.on, v->loc);
    const OptionValue* pools = find(found, "pools");
    if (!n.find("pools") || (pools && pools->items.empty()))
      r_.fail(2107, n.loc, "a place rule names no pools", "write pools: [name, ...]");
    for (const std::string& id : keys.pools) {
      if (std::ranges::find(rule.pools, id) != rule.pools.end())
        r_.fail(2124, pools->loc, fmt::format("pool '{}' stands twice in one rule", id));
      else if (known_pool(id, pools->loc))
        rule.pools.push_back(id);
    }
    if (const OptionValue* v = find(found, "at")) pin(rule, keys.at.n, v->loc);
    return rule;
  }

  void pin(PlaceRule& rule, std::uint64_t at, const Loc& loc) {
    rule.at = at;
    if (rule.pools.size() != 1) {
      if (rule.pools.size() > 1)
        r_.fail(2124, loc, fmt::format("a pin needs one pool, the rule has {}", rule.pools.size()),
                "name the pool in which the address lies");
      return;
    }
    const StoragePool& p = *std::ranges::find(memory().pools, rule.pools[0], &StoragePool::id);
    if (inside(p, at, 1, loc, "the pin") && (at - p.base.value_or(0)) % p.granule)
      r_.fail(2122, loc,
              fmt::format("the pin 0x{:x} is not a multiple of the granule {} of pool '{}'", at,
                          p.granule, p.id));
  }

  PipelineConfig& out_;
  Reader& r_;
};

}  // namespace

void convert_memory(const YamlNode& tree, PipelineConfig& out, Reader& reader) {
  MemoryReader m(out, reader);
  const auto each = [&](std::string_view key, auto read) {
    if (const YamlEntry* e = tree.find(key)) (m.*read)(*e->value);
  };
  each("pools", &MemoryReader::pools);
  each("reserved", &MemoryReader::reserved);
  each("place", &MemoryReader::place);
  each("state", &MemoryReader::state);
  m.file_keys(tree);
}

}  // namespace tenon
