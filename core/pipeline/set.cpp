// `--set KEY=VALUE`: a key of the file, or of a step, pool or target by its id.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "core/pipeline/layers.h"
#include "core/pipeline/schema.h"

namespace tenon {
namespace {

std::string_view short_name(std::string_view name) {
  return name.starts_with("tenon.") ? name.substr(6) : name;
}

/// The name of a step, from `name` or `name: {...}`.
const std::string* step_name(const YamlNode& item) {
  if (item.kind == YamlNode::Kind::scalar) return &item.text;
  return item.kind == YamlNode::Kind::map && item.entries.size() == 1 ? &item.entries[0].key
                                                                      : nullptr;
}

/// What a key may start with, and where that stands in the file.
struct Owner {
  std::string id;
  std::string section;    // "targets", "pools", "steps", or "" for a key of the file
  std::size_t index = 0;  // of a step
};

std::vector<Owner> owners(const YamlNode& tree) {
  std::vector<Owner> out;
  for (const char* section : {"targets", "pools"})
    if (const YamlEntry* e = tree.find(section))
      for (const YamlEntry& child : e->value->entries) out.push_back({child.key, section});
  if (const YamlEntry* e = tree.find("steps")) {
    const std::vector<std::string> ids = step_ids(*e->value);
    for (std::size_t i = 0; i < ids.size(); ++i)
      if (!ids[i].empty()) out.push_back({ids[i], "steps", i});
  }
  return out;
}

YamlPtr with_entry(const YamlPtr& map, const std::string& key, const Loc& key_loc, YamlPtr value) {
  auto out = std::make_shared<YamlNode>(*map);
  out->kind = YamlNode::Kind::map;
  const auto it = std::ranges::find(out->entries, key, &YamlEntry::key);
  if (it != out->entries.end())
    *it = {key, key_loc, std::move(value)};
  else
    out->entries.push_back({key, key_loc, std::move(value)});
  return out;
}

/// `map` with `path` set to `value`; maps on the way are made where they are missing.
YamlPtr put(const YamlPtr& map, std::vector<std::string> path, const Loc& at,
            const YamlPtr& value) {
  const std::string key = path.front();
  path.erase(path.begin());
  if (path.empty()) return with_entry(map, key, at, value);
  const YamlEntry* e = map->find(key);
  const YamlPtr inner =
      e && e->value->kind == YamlNode::Kind::map
          ? e->value
          : std::make_shared<const YamlNode>(YamlNode{.kind = YamlNode::Kind::map, .loc = at});
  return with_entry(map, key, at, put(inner, std::move(path), at, value));
}

YamlPtr put_in_step(const YamlPtr& steps, std::size_t index, const std::vector<std::string>& path,
                    const Loc& at, const YamlPtr& value) {
  auto out = std::make_shared<YamlNode>(*steps);
  const YamlPtr& item = out->items[index];
  YamlPtr options =
      std::make_shared<const YamlNode>(YamlNode{.kind = YamlNode::Kind::map, .loc = item->loc});
  Loc name_loc = item->loc;
  if (item->kind == YamlNode::Kind::map) {
    name_loc = item->entries[0].key_loc;
    if (item->entries[0].value->kind == YamlNode::Kind::map) options = item->entries[0].value;
  }
  const std::string name = *step_name(*item);
  auto step = std::make_shared<YamlNode>(YamlNode{.kind = YamlNode::Kind::map, .loc = item->loc});
  step->entries.push_back({name, name_loc, put(options, path, at, value)});
  out->items[index] = step;
  return out;
}

std::vector<std::string> split(std::string_view text, char by) {
  std::vector<std::string> out;
  for (std::size_t from = 0; from <= text.size();) {
    const std::size_t end = std::min(text.find(by, from), text.size());
    out.emplace_back(text.substr(from, end - from));
    from = end + 1;
  }
  return out;
}

/// The value as in a file, except that plain text need not be YAML: globs and paths are common.
Result<YamlPtr> parse_value(const std::string& text, const Loc& at) {
  if (!text.empty() && std::string_view("[\"'").find(text[0]) != std::string_view::npos) {
    auto tree = parse_yaml(text, at.file);
    if (!tree) {
      Diag d = tree.errors()[0];
      d.loc = at;
      return d;
    }
    auto out = std::make_shared<YamlNode>(**tree);
    out->loc = at;
    return YamlPtr(out);
  }
  return std::make_shared<const YamlNode>(
      YamlNode{.kind = YamlNode::Kind::scalar, .text = text, .loc = at});
}

}  // namespace

std::vector<std::string> step_ids(const YamlNode& steps) {
  std::vector<std::string> ids;
  std::map<std::string, int, std::less<>> times;
  for (const YamlPtr& item : steps.items) {
    const std::string* name = step_name(*item);
    const YamlEntry* id =
        name && item->kind == YamlNode::Kind::map ? item->entries[0].value->find("id") : nullptr;
    if (id && id->value->kind == YamlNode::Kind::scalar) {
      ids.push_back(id->value->text);
    } else if (name) {
      const int n = ++times[std::string(short_name(*name))];
      ids.push_back(n == 1 ? std::string(short_name(*name))
                           : fmt::format("{}.{}", short_name(*name), n));
    } else {
      ids.emplace_back();
    }
  }
  return ids;
}

Result<YamlPtr> apply_set(const YamlPtr& tree, const std::string& assignment) {
  const Loc at{"--set " + assignment};
  const std::size_t eq = assignment.find('=');
  if (eq == std::string::npos || eq == 0 || eq + 1 == assignment.size())
    return Diag{.code = 2130,
                .loc = at,
                .what = fmt::format("'{}' is not KEY=VALUE", assignment),
                .fix = "write for example --set plan.tries=5"};
  const std::string key(short_name(std::string_view(assignment).substr(0, eq)));
  auto value = parse_value(assignment.substr(eq + 1), at);
  if (!value) return value.errors();

  const std::vector<std::string> path = split(key, '.');
  for (const schema::Key& k : schema::file_keys())
    if (k.name == path[0] && k.name != "steps" && k.name != "tenon" && k.name != "extends" &&
        k.name != "board")
      return put(tree, path, at, *value);

  const std::vector<Owner> all = owners(*tree);
  std::vector<Owner> hits;  // the longest ids that the key starts with
  for (const Owner& o : all) {
    if (!key.starts_with(o.id + ".")) continue;
    if (!hits.empty() && o.id.size() > hits[0].id.size()) hits.clear();
    if (hits.empty() || o.id.size() == hits[0].id.size()) hits.push_back(o);
  }
  if (hits.size() > 1)
    return Diag{.code = 2131,
                .loc = at,
                .what = fmt::format("'{}' is in {} and in {}", hits[0].id, hits[0].section,
                                    hits[1].section),
                .fix = fmt::format("write {}.{}", hits[0].section, key)};
  if (hits.empty()) {
    std::vector<std::string> known{"io", "keep"};
    for (const Owner& o : all) known.push_back(o.id);
    const std::string near = did_you_mean(path[0], known);
    return Diag{
        .code = 2131,
        .loc = at,
        .what = path.size() < 2 && std::ranges::find(known, path[0]) != known.end()
                    ? fmt::format("'{}' needs a key: {}.KEY=VALUE", path[0], path[0])
                    : fmt::format("'{}' is no step, pool, target or key of the pipeline", path[0]),
        .fix = near.empty() || near == path[0] ? "" : fmt::format("did you mean '{}'?", near),
        .notes = {fmt::format("there are: {}", fmt::join(known, ", "))}};
  }
  const Owner& o = hits[0];
  const std::vector<std::string> rest = split(std::string_view(key).substr(o.id.size() + 1), '.');
  const YamlEntry* section = tree->find(o.section);
  if (o.section == "steps")
    return with_entry(tree, "steps", section->key_loc,
                      put_in_step(section->value, o.index, rest, at, *value));
  const YamlEntry* child = section->value->find(o.id);
  YamlPtr changed = put(child->value, rest, at, *value);
  return with_entry(tree, o.section, section->key_loc,
                    with_entry(section->value, o.id, child->key_loc, std::move(changed)));
}

}  // namespace tenon
