#include "core/plugin_host/validate.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <set>

#include "core/plugin_host/file.h"
#include "core/support/scalars.h"

namespace tenon::plugin_host {
namespace {

/// Words of `allowed` punctuation: `acme.first-fit` for ids, `acme.window_max` for ops.
bool well_formed(std::string_view name, char punctuation) {
  if (name.empty() || name[0] < 'a' || name[0] > 'z') return false;
  return std::ranges::all_of(name, [&](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == punctuation;
  });
}

class Checker {
 public:
  Checker(const Candidate& c, Diags& out) : c_(c), out_(out) {}

  /// `punctuation`: '-' in ids, '_' in names of ops.
  void id(std::uint32_t kind, std::string_view id, char punctuation) {
    kinds_ |= kind;
    const std::string what = fmt::format("{} '{}'", kinds_text(kind), id);
    const auto dot = id.find('.');
    if (dot == id.npos || id.substr(0, dot) != c_.prefix() ||
        !well_formed(id.substr(dot + 1), punctuation))
      bad(fmt::format("{}: the id is not '{}.' and lower-case letters, digits and '{}'", what,
                      c_.prefix(), punctuation));
    if (!seen_.emplace(kind, id).second) bad(fmt::format("{} is offered twice", what));
  }
  void need(bool ok, std::uint32_t kind, std::string_view id, std::string_view what) {
    if (!ok) bad(fmt::format("{} '{}' has no {}", kinds_text(kind), id, what));
  }
  void options(std::uint32_t kind, std::string_view id, const std::vector<OptionRow>& rows) {
    constexpr std::string_view kTypes[] = {"bool",   "int",          "float",
                                           "string", "list<string>", "bytes"};
    std::set<std::string_view> keys;
    for (const OptionRow& r : rows) {
      const std::string what = fmt::format("option '{}' of {} '{}'", r.key, kinds_text(kind), id);
      if (!well_formed(r.key, '_'))
        bad(fmt::format("{}: the key is not of lower-case letters, digits and '_'", what));
      if (!keys.insert(r.key).second) bad(fmt::format("{} is declared twice", what));
      const auto choices = choices_of(r.type);
      if (choices.empty() && std::ranges::find(kTypes, r.type) == std::end(kTypes))
        bad(fmt::format("{}: no type is called '{}'", what, r.type));
      if (!choices.empty() && std::ranges::find(choices, r.dflt) == choices.end())
        bad(fmt::format("{}: default '{}' is none of {}", what, r.dflt, r.type));
      if (r.doc.empty()) bad(fmt::format("{} has no doc", what));
      if (r.range.min > r.range.max)
        bad(fmt::format("{}: range {}..{} is empty", what, r.range.min, r.range.max));
      if (std::int64_t v = 0;
          r.type == "int" && (!read_scalar(r.dflt, v) || v < r.range.min || v > r.range.max))
        bad(fmt::format("{}: default '{}' is not in {}..{}", what, r.dflt, r.range.min,
                        r.range.max));
      if (bool v = false; r.type == "bool" && !read_scalar(r.dflt, v))
        bad(fmt::format("{}: default '{}' is neither true nor false", what, r.dflt));
    }
  }
  void end() {
    if (kinds_ == 0) bad("offers nothing");
    if (c_.descriptor.kinds != 0 && (kinds_ & ~c_.descriptor.kinds) != 0)
      bad(fmt::format("declares {} but offers {}", kinds_text(c_.descriptor.kinds),
                      kinds_text(kinds_)));
  }

 private:
  void bad(std::string why) {
    out_.push_back(refuse(1011, c_.path, fmt::format("plugin '{}': {}", c_.id(), why),
                          "nothing of this plugin is taken; report it to its author"));
  }
  const Candidate& c_;
  Diags& out_;
  std::uint32_t kinds_ = 0;
  std::set<std::pair<std::uint32_t, std::string>> seen_;
};

template <class T>
void check_all(Checker& check, std::uint32_t kind, const std::vector<T>& items,
               auto&& has_functions) {
  for (const T& x : items) {
    check.id(kind, x.id, '-');
    check.need(!x.doc.empty(), kind, x.id, "doc");
    check.need(has_functions(x), kind, x.id, "function");
    check.options(kind, x.id, x.options);
  }
}

void check_planner(Checker& check, const tn_planner& p) {
  // A shorter struct than this host's is an older plugin's; up to `plan` all of them reach.
  const bool whole = p.struct_size >= offsetof(tn_planner, plan) + sizeof p.plan;
  const std::string id = whole && p.id ? p.id : "?";
  check.need(whole, TN_KIND_PLANNER, id, "complete table of functions");
  if (!whole) return;
  check.id(TN_KIND_PLANNER, id, '-');
  check.need(p.doc && *p.doc, TN_KIND_PLANNER, id, "doc");
  check.need(p.plan != nullptr, TN_KIND_PLANNER, id, "function");
  check.need(p.n_options == 0 || p.options, TN_KIND_PLANNER, id, "table of options");
  check.options(TN_KIND_PLANNER, id, planner_options(p));
}

std::string text(const char* s) { return s ? s : ""; }

}  // namespace

std::vector<OptionRow> planner_options(const tn_planner& p) {
  std::vector<OptionRow> rows;
  for (std::uint32_t i = 0; p.options && i < p.n_options; ++i) {
    const tn_option& o = p.options[i];  // frozen: never grows
    OptionRow row{text(o.key), text(o.type), text(o.dflt), text(o.doc), {}};
    const std::string range = text(o.range);
    if (row.type == "enum") row.type = range;  // "a|b": its own name for the type
    if (const auto dots = range.find(".."); dots != range.npos) {
      std::from_chars(range.data(), range.data() + dots, row.range.min);
      std::from_chars(range.data() + dots + 2, range.data() + range.size(), row.range.max);
    }
    rows.push_back(std::move(row));
  }
  return rows;
}

Status validate(const Candidate& c, const Offer& offer) {
  Diags out;
  Checker check(c, out);
  const Registration& r = offer.native;
  for (const OpDef& op : r.ops) {
    check.id(TN_KIND_OP, op.name, '_');
    check.need(!op.doc.empty(), TN_KIND_OP, op.name, "doc");
    check.need(op.infer != nullptr, TN_KIND_OP, op.name, "type rule");
  }
  check_all(check, TN_KIND_PASS, r.passes, [](const PassInfo& x) { return x.run != nullptr; });
  check_all(check, TN_KIND_FRONTEND, r.frontends,
            [](const FrontendInfo& x) { return x.import != nullptr; });
  check_all(check, TN_KIND_LOWERING, r.lowerings,
            [](const LoweringInfo& x) { return x.compute || x.schedule || x.kernel; });
  check_all(check, TN_KIND_TARGET, r.targets,
            [](const TargetInfo& x) { return x.facts && x.compile && !x.objects == !x.link; });
  check_all(check, TN_KIND_EXECUTOR, r.executors,
            [](const ExecutorInfo& x) { return x.emit != nullptr; });
  for (const tn_planner* p : offer.planners) check_planner(check, *p);
  check.end();
  return out;
}

}  // namespace tenon::plugin_host
