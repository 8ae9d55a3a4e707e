#include "core/pipeline/convert.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <limits>
#include <set>

#include "core/pipeline/layers.h"
#include "core/pipeline/schema.h"

namespace tenon {
namespace {

using Kind = YamlNode::Kind;

bool is_slot_name(std::string_view name) {
  return std::ranges::find(schema::slots, name) != std::end(schema::slots);
}

/// "10s", "500ms" -> milliseconds.
std::optional<std::uint64_t> milliseconds(std::string_view text) {
  struct Unit {
    std::string_view name;
    std::uint64_t ms;
  };
  for (const Unit& u : std::array<Unit, 3>{{{"ms", 1}, {"s", 1000}, {"min", 60000}}}) {
    std::uint64_t n = 0;
    if (text.ends_with(u.name) && read_scalar(text.substr(0, text.size() - u.name.size()), n) &&
        n > 0 && n <= std::numeric_limits<std::int64_t>::max() / u.ms)
      return n * u.ms;
  }
  return std::nullopt;
}

class Converter {
 public:
  Converter(PipelineConfig& out, Reader& reader) : out_(out), r_(reader) {}

  void targets(const YamlNode& n) {
    if (!r_.want_map(n, "'targets'")) return;
    for (const YamlEntry& e : n.entries) {
      r_.id(e.key, e.key_loc, "a target");
      if (!r_.want_map(*e.value, fmt::format("target '{}'", e.key))) continue;
      TargetConfig t{.id = e.key, .use = {}, .loc = e.key_loc};
      t.use.options = r_.options(*e.value, {"with"});
      with(*e.value, t.use);
      if (t.use.with.empty() && !e.value->find("with"))
        r_.fail(2107, e.key_loc, fmt::format("target '{}' does not say what makes its code", e.key),
                fmt::format("write {}: {{with: ...}}", e.key));
      out_.targets.push_back(std::move(t));
    }
  }

  void plugins(const YamlNode& n) {
    if (!r_.want_map(n, "'plugins'")) return;
    for (const YamlEntry& e : n.entries) {
      r_.id(e.key, e.key_loc, "a plugin");
      if (!r_.want_map(*e.value, fmt::format("plugin '{}'", e.key))) continue;
      OptionValues found;
      const auto keys =
          r_.read<schema::PluginKeys>(*e.value, fmt::format("plugin '{}'", e.key), {}, &found);
      const OptionValue* path = find(found, "path");
      if (!path) {
        if (!e.value->find("path"))
          r_.fail(2107, e.key_loc, fmt::format("plugin '{}' has no path", e.key),
                  "write path: ./file.so");
        continue;
      }
      const bool hex = std::ranges::all_of(
          keys.sha256, [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); });
      if (const OptionValue* pin = find(found, "sha256"); pin && (keys.sha256.size() != 64 || !hex))
        r_.fail(2105, pin->loc,
                fmt::format(
                    "sha256 of plugin '{}' has {} characters, a hash is 64 lower-case hex digits",
                    e.key, keys.sha256.size()));
      const std::string dir = path->loc.line ? folder_of(path->loc.file) : ".";
      out_.plugins.push_back({.id = e.key,
                              .path = join_path(dir, keys.path),
                              .sha256 = keys.sha256,
                              .loc = path->loc});
    }
  }

  void defaults(const YamlNode& n) {
    if (!r_.want_map(n, "'defaults'")) return;
    for (const YamlEntry& e : n.entries) {
      if (r_.one_of(e.key, e.key_loc, "a slot", schema::slots))
        defaults_[e.key] = {.with = r_.text(*e.value, fmt::format("the default of '{}'", e.key)),
                            .with_loc = e.value->loc,
                            .parts = {},
                            .options = {}};
    }
  }

  void steps(const YamlNode& n) {
    if (!r_.want_list(n, "'steps'")) return;
    if (n.items.empty())
      r_.fail(
          2107, n.loc, "'steps' lists no step: nothing would be compiled",
          "begin with `steps: [import, infer-shapes, ...]`, or extend a pipeline that has steps");
    const std::vector<std::string> ids = step_ids(n);
    std::map<std::string, Loc> seen;
    for (std::size_t i = 0; i < n.items.size(); ++i) {
      const std::size_t before = r_.errors.size();
      std::optional<Step> s = step(*n.items[i]);
      if (!s || r_.errors.size() != before) continue;
      s->id = ids[i];
      const auto [first, is_new] = seen.emplace(s->id, s->loc);
      if (!is_new)
        r_.fail(2142, s->loc, fmt::format("two steps have the id '{}'", s->id),
                "give one of them another `id`",
                {fmt::format("first at {}:{}:{}", first->second.file, first->second.line,
                             first->second.col)});
      out_.steps.push_back(*std::move(s));
    }
  }

 private:
  void with(const YamlNode& map, Binding& use) {
    const YamlEntry* e = map.find("with");
    if (!e) return;
    use.with = r_.text(*e->value, "'with'");
    use.with_loc = e->value->loc;
  }

  std::optional<Step> step(const YamlNode& item) {
    if (item.kind == Kind::scalar) {
      const std::string name = r_.text(item, "a step");
      return name.empty() ? std::nullopt
                          : std::optional(finish({.name = short_name(name),
                                                  .loc = item.loc,
                                                  .use = {},
                                                  .otherwise = {},
                                                  .on = {}}));
    }
    if (item.kind != Kind::map || item.entries.empty()) {
      r_.fail(2102, item.loc,
              fmt::format("a step is a name or `name: {{options}}`, got {}", describe(item)));
      return std::nullopt;
    }
    if (item.entries.size() > 1) {
      const YamlEntry& second = item.entries[1];
      r_.fail(
          2102, second.key_loc,
          fmt::format("a step has one name, got '{}' and '{}'", item.entries[0].key, second.key),
          item.entries[0].value->kind == Kind::null
              ? fmt::format("indent '{}' more than '{}'", second.key, item.entries[0].key)
              : "start each step with `- `");
      return std::nullopt;
    }
    const YamlEntry& e = item.entries[0];
    if (e.value->kind != Kind::map) {
      const std::string name = short_name(e.key);
      r_.fail(2102, e.value->loc,
              fmt::format("options of step '{}' are a map, got {}", e.key, describe(*e.value)),
              e.value->kind == Kind::null ? fmt::format("write `- {}`", e.key)
              : is_slot_name(name) && e.value->kind == Kind::scalar
                  ? fmt::format("write {}: {{with: {}}}", e.key, e.value->text)
                  : "");
      return std::nullopt;
    }
    Step s{.name = short_name(e.key), .loc = e.key_loc, .use = {}, .otherwise = {}, .on = {}};
    step_keys(*e.value, s);
    return finish(std::move(s));
  }

  void step_keys(const YamlNode& map, Step& s) {
    if (const YamlEntry* when = map.find("when"))
      r_.fail(2108, when->key_loc, "'when' is not in this version",
              "use `extends` and another list of steps");
    if (const YamlEntry* id = map.find("id"))
      r_.id(r_.text(*id->value, "'id'"), id->value->loc, "a step");
    with(map, s.use);
    if (!s.is_slot() && map.find("with"))
      r_.fail(
          2101, map.find("with")->key_loc,
          fmt::format("step '{}' is a pass: it has no implementations to choose from", s.name),
          fmt::format("name the pass itself: `- {}`", s.use.with.empty() ? "name" : s.use.with));
    if (const YamlEntry* e = map.find("else")) {
      if (s.name == "plan")
        otherwise(*e->value, s);
      else
        r_.fail(2101, e->key_loc,
                fmt::format("'else' at step '{}': only `plan` can try others", s.name));
    }
    if (s.name == "lower") {
      lower_keys(map, s.use);
      if (const YamlEntry* on = map.find("on")) overrides(*on->value, s);
      s.use.options =
          r_.options(map, {"with", "id", "compute", "schedule", "kernel", "on", "else", "when"});
    } else if (s.name == "plan") {
      plan_keys(map, s);
      s.use.options = r_.options(map, {"with", "id", "else", "work", "deadline", "when"});
    } else {
      s.use.options = r_.options(map, {"with", "id", "else", "when"});
    }
  }

  void otherwise(const YamlNode& n, Step& s) {
    if (n.kind != Kind::list) {
      s.otherwise.push_back(r_.text(n, "'else'"));
      return;
    }
    for (const YamlPtr& i : n.items) s.otherwise.push_back(r_.text(*i, "'else'"));
  }

  void lower_keys(const YamlNode& map, Binding& use) {
    for (const OptionRow& row : option_rows<schema::LowerKeys>())
      if (const YamlEntry* e = map.find(row.key))
        use.parts[row.key] = r_.text(*e->value, fmt::format("'{}'", row.key));
  }

  void overrides(const YamlNode& n, Step& s) {
    if (!r_.want_map(n, "'on' of lower")) return;
    std::vector<std::string> targets;
    for (const TargetConfig& t : out_.targets) targets.push_back(t.id);
    for (const YamlEntry& e : n.entries) {
      if (std::ranges::find(targets, e.key) == targets.end()) {
        const std::string near = did_you_mean(e.key, targets);
        r_.fail(2123, e.key_loc, fmt::format("no target is called '{}'", e.key),
                near.empty() ? "" : fmt::format("did you mean '{}'?", near),
                {fmt::format("targets: {}", fmt::join(targets, ", "))});
      }
      if (!r_.want_map(*e.value, fmt::format("lower.on.{}", e.key))) continue;
      Binding b;
      with(*e.value, b);
      lower_keys(*e.value, b);
      b.options = r_.options(*e.value, {"with", "compute", "schedule", "kernel"});
      s.on[e.key] = std::move(b);
    }
  }

  void plan_keys(const YamlNode& map, Step& s) {
    YamlNode own{.kind = Kind::map, .loc = map.loc};
    for (const YamlEntry& e : map.entries)
      if (e.key == "work" || e.key == "deadline") own.entries.push_back(e);
    OptionValues found;
    const auto keys = r_.read<schema::PlanKeys>(own, "step 'plan'", {}, &found);
    if (find(found, "work")) s.work = static_cast<std::uint64_t>(keys.work);
    if (const OptionValue* d = find(found, "deadline")) {
      s.deadline_ms = milliseconds(keys.deadline);
      if (!s.deadline_ms)
        r_.fail(2105, d->loc, fmt::format("'{}' is no deadline", keys.deadline),
                "write for example 10s or 500ms");
    }
  }

  /// A slot without `with` takes the default.
  Step finish(Step s) const {
    if (const auto it = defaults_.find(s.name);
        s.is_slot() && s.use.with.empty() && it != defaults_.end()) {
      s.use.with = it->second.with;
      s.use.with_loc = it->second.with_loc;
    }
    return s;
  }

  static std::string short_name(std::string_view name) {
    return std::string(name.starts_with("tenon.") ? name.substr(6) : name);
  }

  PipelineConfig& out_;
  Reader& r_;
  std::map<std::string, Binding, std::less<>> defaults_;
};

}  // namespace

bool Step::is_slot() const { return is_slot_name(name); }

void convert(const YamlNode& tree, PipelineConfig& out, Reader& reader) {
  Converter c(out, reader);
  const auto each = [&](std::string_view key, auto read) {
    if (const YamlEntry* e = tree.find(key)) (c.*read)(*e->value);
  };
  each("targets", &Converter::targets);
  each("plugins", &Converter::plugins);
  each("defaults", &Converter::defaults);
  each("steps", &Converter::steps);
  convert_memory(tree, out, reader);
}

}  // namespace tenon
