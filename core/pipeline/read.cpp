#include "core/pipeline/read.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "core/support/scalars.h"

namespace tenon {

void Reader::fail(int code, const Loc& at, std::string what, std::string fix,
                  std::vector<std::string> notes) {
  errors.push_back({.code = code,
                    .loc = at,
                    .what = std::move(what),
                    .fix = std::move(fix),
                    .notes = std::move(notes)});
}

bool Reader::want_map(const YamlNode& n, std::string_view what) {
  if (n.kind == YamlNode::Kind::map) return true;
  fail(2102, n.loc, fmt::format("{} is a map, got {}", what, describe(n)),
       "write `key: value` lines, or {key: value}");
  return false;
}

bool Reader::want_list(const YamlNode& n, std::string_view what) {
  if (n.kind == YamlNode::Kind::list) return true;
  fail(2102, n.loc, fmt::format("{} is a list, got {}", what, describe(n)),
       "write `- item` lines, or [item, item]");
  return false;
}

std::string Reader::text(const YamlNode& n, std::string_view what) {
  if (n.kind != YamlNode::Kind::scalar || (n.text.empty() && !n.quoted)) {
    fail(2102, n.loc, fmt::format("{} is a name, got {}", what, describe(n)));
    return "";
  }
  if (!n.quoted && doubtful_number(n.text)) {
    fail(2103, n.loc, fmt::format("{} is a name, and {} may be a number", what, n.text),
         fmt::format("write '{}' in quotes", n.text));
    return "";
  }
  return n.text;
}

bool Reader::id(const std::string& id, const Loc& at, std::string_view what) {
  const auto letter = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
  };
  const bool good =
      !id.empty() && id.size() <= 100 && letter(id[0]) &&
      std::ranges::all_of(id, [&](char c) { return letter(c) || c == '-' || c == '.'; });
  if (!good)
    fail(2103, at, fmt::format("'{}' cannot be the id of {}", id, what),
         "use letters, digits, `_`, `-` and `.`");
  return good;
}

bool Reader::one_of(const std::string& text, const Loc& at, std::string_view what,
                    std::span<const std::string_view> words) {
  if (std::ranges::find(words, text) != words.end()) return true;
  const std::string near = did_you_mean(text, {words.begin(), words.end()});
  fail(2105, at, fmt::format("{} cannot be '{}'", what, text),
       near.empty() ? "" : fmt::format("did you mean '{}'?", near),
       {fmt::format("one of: {}", fmt::join(words, ", "))});
  return false;
}

OptionValues Reader::options(const YamlNode& map, std::initializer_list<std::string_view> skip) {
  OptionValues out;
  for (const YamlEntry& e : map.entries) {
    if (std::ranges::find(skip, e.key) != skip.end()) continue;
    const YamlNode& n = *e.value;
    OptionValue o{
        .key = e.key, .items = {}, .key_loc = e.key_loc, .loc = n.loc, .quoted = n.quoted};
    if (n.kind == YamlNode::Kind::map) {
      fail(2102, n.loc, fmt::format("'{}' is a value or a list of values, got a map", e.key));
      continue;
    }
    o.is_list = n.kind == YamlNode::Kind::list;
    if (!o.is_list) o.items = {n.text};
    bool flat = true;
    for (const YamlPtr& item : n.items) {
      flat &= item->kind == YamlNode::Kind::scalar;
      if (item->kind != YamlNode::Kind::scalar)
        fail(2102, item->loc,
             fmt::format("'{}' is a list of values, got {} in it", e.key, describe(*item)));
      o.items.push_back(item->text);
    }
    if (flat) out.push_back(std::move(o));
  }
  return out;
}

OptionValues Reader::checked(const std::vector<OptionRow>& rows, const OptionValues& values,
                             std::string_view owner) {
  OptionValues right;
  for (const OptionValue& v : values) {
    const Status s = check_options(rows, {v}, owner);
    errors.insert(errors.end(), s.errors().begin(), s.errors().end());
    if (s) right.push_back(v);
  }
  return right;
}

const OptionValue* find(const OptionValues& values, std::string_view key) {
  const auto it = std::ranges::find(values, key, &OptionValue::key);
  return it == values.end() ? nullptr : &*it;
}

}  // namespace tenon
