// A planner's option table (texts of C) against what the user gave.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "core/storage/solve.h"
#include "core/support/scalars.h"
#include "tenon/options.h"

namespace tenon {
namespace {

// "lo..hi"; either may be missing.
template <class T>
bool in_range(const T& v, std::string_view range) {
  const std::size_t dots = range.find("..");
  if (dots == range.npos) return true;
  T lo{}, hi{};
  const std::string_view a = range.substr(0, dots), b = range.substr(dots + 2);
  return (a.empty() || !read_scalar(a, lo) || v >= lo) &&
         (b.empty() || !read_scalar(b, hi) || v <= hi);
}

bool fits(const tn_option& o, std::string_view value) {
  const std::string_view type = o.type, range = o.range ? o.range : "";
  if (type == "bool") return value == "true" || value == "false";
  if (type == "enum") {
    const auto choices = choices_of(range);
    return std::ranges::find(choices, value) != choices.end();
  }
  if (std::int64_t i = 0; type == "int") return read_scalar(value, i) && in_range(i, range);
  if (double x = 0; type == "float") return read_scalar(value, x) && in_range(x, range);
  if (Bytes b; type == "bytes") return read_scalar(value, b);
  return true;
}

std::string known_keys(const tn_planner& p) {
  std::string out;
  for (std::uint32_t i = 0; i < p.n_options; ++i)
    out += fmt::format("{}{} ({}{}{})", i ? ", " : "", p.options[i].key, p.options[i].type,
                       p.options[i].range && *p.options[i].range ? " " : "",
                       p.options[i].range ? p.options[i].range : "");
  return out.empty() ? "it has no options" : "its options: " + out;
}

std::string known_keys_fix(const tn_planner& p, const std::string& key) {
  std::vector<std::string> keys;
  for (std::uint32_t i = 0; i < p.n_options; ++i) keys.emplace_back(p.options[i].key);
  const std::string near = did_you_mean(key, keys);
  return (near.empty() ? "" : fmt::format("did you mean '{}'? ", near)) + known_keys(p);
}

Diag wrong_value(const tn_planner& p, const tn_option& o, const std::string& value,
                 const Loc& loc) {
  const std::string range = o.range ? o.range : "", doc = o.doc ? o.doc : "";
  Diag d{.code = 4311, .loc = loc, .what = "", .fix = fmt::format("{}: {}", o.key, doc)};
  const std::string head = fmt::format("option '{}' of planner '{}': '{}'", o.key, p.id, value);
  if (const auto choices = choices_of(range); std::string_view(o.type) == "enum") {
    d.what = fmt::format("{} is none of {}", head, fmt::join(choices, ", "));
    if (const std::string near = did_you_mean(value, choices); !near.empty())
      d.fix = fmt::format("did you mean '{}'?", near);
  } else {
    d.what = fmt::format("{} is no {}{}{}", head, o.type, range.empty() ? "" : " of ", range);
  }
  return d;
}

}  // namespace

Result<std::map<std::string, std::string>> planner_options(
    const tn_planner& planner, const std::map<std::string, std::string>& given, const Loc& loc) {
  std::map<std::string, std::string> out;
  Diags errors;
  for (std::uint32_t i = 0; i < planner.n_options; ++i)
    out[planner.options[i].key] = planner.options[i].dflt ? planner.options[i].dflt : "";
  for (const auto& [key, value] : given) {
    const auto *begin = planner.options, *end = begin + planner.n_options;
    const auto* o = std::find_if(begin, end, [&](const tn_option& x) { return key == x.key; });
    if (o == end)
      errors.push_back({.code = 4310,
                        .loc = loc,
                        .what = fmt::format("planner '{}' has no option '{}'", planner.id, key),
                        .fix = known_keys_fix(planner, key)});
    else if (!fits(*o, value))
      errors.push_back(wrong_value(planner, *o, value, loc));
    else
      out[key] = value;
  }
  if (!errors.empty()) return errors;
  return out;
}

}  // namespace tenon
