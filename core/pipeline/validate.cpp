#include "core/pipeline/validate.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <set>

#include "core/diag/render.h"
#include "core/pipeline/slots.h"

namespace tenon {
namespace {

bool absent(const Diag& d) { return d.code == 1001 || d.code == 1012; }

std::string_view without_prefix(std::string_view id) {
  return id.starts_with("tenon.") ? id.substr(6) : id;
}

std::string listed(const std::vector<std::string>& names) {
  return names.empty() ? "none" : fmt::format("{}", fmt::join(names, ", "));
}

class Validator {
 public:
  Validator(const PipelineConfig& config, ImplementationIndex& index)
      : config_(config), index_(index) {}

  Diags run() {
    for (const TargetConfig& t : config_.targets) target(t);
    for (const Step& s : config_.steps) {
      if (const SlotStep* slot = slot_step(s.name))
        slot_step_at(s, *slot);
      else
        pass(s);
    }
    places();
    return sorted_and_capped(std::move(out_));
  }

 private:
  void report(int code, const Loc& at, std::string what, std::string fix = "",
              std::vector<std::string> notes = {}, Severity severity = Severity::error) {
    out_.push_back({.code = code,
                    .loc = at,
                    .what = std::move(what),
                    .fix = std::move(fix),
                    .notes = std::move(notes),
                    .severity = severity});
  }

  std::vector<std::string> ids(SlotKind slot) {
    std::vector<std::string> out;
    for (const Implementation& i : index_.all(slot)) out.emplace_back(without_prefix(i.id));
    return out;
  }

  void options(const Implementation& impl, const OptionValues& values, SlotKind slot) {
    const Status s =
        check_options(*impl.options, values, fmt::format("{} '{}'", name(slot), impl.id));
    out_.insert(out_.end(), s.errors().begin(), s.errors().end());
  }

  /// The implementation, after a report when it is not there or cannot be used.
  std::optional<Implementation> find(SlotKind slot, const std::string& id, const Loc& at) {
    auto r = index_.find(slot, id, at);
    if (r) return *r;
    if (!absent(r.errors()[0])) {
      out_.insert(out_.end(), r.errors().begin(), r.errors().end());
      return std::nullopt;
    }
    const std::vector<std::string> known = ids(slot);
    const std::string near = did_you_mean(without_prefix(id), known);
    std::vector<std::string> notes{fmt::format("{}s: {}", name(slot), listed(known))};
    notes.insert(notes.end(), r.errors()[0].notes.begin(), r.errors()[0].notes.end());
    report(2141, at, fmt::format("no {} is called '{}'", name(slot), id),
           near.empty() ? "load its plugin: `plugins: {name: {path: ...}}` or --plugin-path"
                        : fmt::format("did you mean '{}'?", near),
           std::move(notes));
    return std::nullopt;
  }

  void target(const TargetConfig& t) {
    const Loc& at = t.use.with_loc.file.empty() ? t.loc : t.use.with_loc;
    auto r = index_.find(SlotKind::target, t.use.with, at);
    if (r) return options(*r, t.use.options, SlotKind::target);
    if (!absent(r.errors()[0]))
      return void(out_.insert(out_.end(), r.errors().begin(), r.errors().end()));
    const std::vector<std::string> known = ids(SlotKind::target);
    report(2143, at,
           fmt::format("target '{}' asks for '{}', and no plugin offers it", t.id, t.use.with),
           "planning works; to make code, load the plugin",
           {fmt::format("targets that can be loaded: {}", listed(known))}, Severity::warning);
  }

  void slot_step_at(const Step& s, const SlotStep& slot) {
    binding(s, s.use, slot.slot, true);
    for (const auto& [target, b] : s.on) binding(s, b, slot.slot, false);
    for (const std::string& other : s.otherwise) find(slot.slot, other, s.loc);
    order(s, {slot.needs.begin(), slot.needs.end()}, {slot.gives.begin(), slot.gives.end()}, {});
  }

  void binding(const Step& s, const Binding& b, SlotKind slot, bool required) {
    const Loc& at = b.with_loc.file.empty() ? s.loc : b.with_loc;
    for (const auto& [part, id] : b.parts) find(slot, id, s.loc);
    if (!b.with.empty()) {
      if (const auto impl = find(slot, b.with, at)) options(*impl, b.options, slot);
      return;
    }
    if (!required || slot == SlotKind::frontend)
      return;  // a frontend is chosen by the file's ending
    report(2141, s.loc, fmt::format("step '{}' does not say which {}", s.id, name(slot)),
           fmt::format("write {}: {{with: ...}}", s.name),
           {fmt::format("{}s: {}", name(slot), listed(ids(slot)))});
  }

  void pass(const Step& s) {
    auto r = index_.find(SlotKind::pass, s.name, s.loc);
    if (!r && absent(r.errors()[0])) return unknown_step(s, r.errors()[0]);
    if (!r) return void(out_.insert(out_.end(), r.errors().begin(), r.errors().end()));
    options(*r, s.use.options, SlotKind::pass);
    const PassInfo& p = *r->pass;
    order(s, {p.needs.begin(), p.needs.end()}, {p.gives.begin(), p.gives.end()},
          {p.destroys.begin(), p.destroys.end()});
  }

  void unknown_step(const Step& s, const Diag& why) {
    std::vector<std::string> known = ids(SlotKind::pass);
    for (const SlotStep& slot : slot_steps()) known.emplace_back(slot.name);
    const std::string near = did_you_mean(s.name, known);
    std::vector<std::string> notes{fmt::format("steps: {}", fmt::join(known, ", "))};
    notes.insert(notes.end(), why.notes.begin(), why.notes.end());
    report(2140, s.loc, fmt::format("unknown step '{}'", s.name),
           near.empty() ? "" : fmt::format("did you mean '{}'?", near), std::move(notes));
    order_known_ = false;  // it may have given anything
  }

  using Names = std::vector<std::string_view>;

  /// Facts as the steps declare them; a module is not at hand.
  void order(const Step& s, const Names& needs, const Names& gives, const Names& destroys) {
    for (std::string_view fact : needs) {
      if (facts_.contains(fact) || !order_known_) continue;
      std::vector<std::string> notes;
      if (const auto gone = destroyed_.find(fact); gone != destroyed_.end())
        notes.push_back(fmt::format("step '{}' destroys it", gone->second));
      report(2144, s.loc,
             fmt::format("step '{}' needs '{}', which no earlier step gives", s.id, fact),
             fix(fact, s), std::move(notes));
      facts_.insert(std::string(fact));  // reported once
    }
    for (std::string_view fact : destroys) {
      facts_.erase(std::string(fact));
      destroyed_[std::string(fact)] = s.id;
    }
    for (std::string_view fact : gives) facts_.insert(std::string(fact));
  }

  /// "insert `infer-shapes` before step `plan`", or "move step ...".
  std::string fix(std::string_view fact, const Step& s) {
    std::vector<std::string> givers;
    for (const SlotStep& slot : slot_steps())
      if (std::ranges::find(slot.gives, fact) != slot.gives.end()) givers.emplace_back(slot.name);
    for (const Implementation& i : index_.all(SlotKind::pass))
      if (std::ranges::find(i.pass->gives, fact) != i.pass->gives.end())
        givers.emplace_back(without_prefix(i.id));
    if (givers.empty()) return fmt::format("load a pass that gives '{}'", fact);
    const auto later = std::ranges::find_if(
        config_.steps, [&](const Step& x) { return x.name == givers[0] && x.id != s.id; });
    const bool move = later != config_.steps.end() && !destroyed_.contains(fact);
    return fmt::format("{} `{}` before step `{}`", move ? "move" : "insert", givers[0], s.id);
  }

  /// `import` comes first; each of import, plan and emit comes once.
  void places() {
    std::map<std::string, const Step*> first;
    for (const Step& s : config_.steps) {
      if (s.name != "import" && s.name != "plan" && s.name != "emit") continue;
      const auto [it, is_new] = first.emplace(s.name, &s);
      if (!is_new)
        report(2145, s.loc, fmt::format("step '{}' stands twice", s.name), "keep one of them",
               {fmt::format("first at {}", place(it->second->loc))});
      if (s.name == "import" && is_new && &s != &config_.steps.front())
        report(2145, s.loc, "step 'import' is not the first",
               "move it to the top: it makes the module");
    }
  }

  const PipelineConfig& config_;
  ImplementationIndex& index_;
  Diags out_;
  std::set<std::string, std::less<>> facts_;
  std::map<std::string, std::string, std::less<>> destroyed_;
  bool order_known_ = true;
};

}  // namespace

Diags validate(const PipelineConfig& config, ImplementationIndex& index) {
  return Validator(config, index).run();
}

bool has_errors(const Diags& all) {
  return std::ranges::any_of(all, [](const Diag& d) { return d.severity == Severity::error; });
}

}  // namespace tenon
