#include "core/pipeline/run.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <exception>
#include <set>

#include "core/diag/render.h"
#include "core/pipeline/slots.h"
#include "core/pipeline/steps/planning.h"
#include "core/pipeline/steps/targets.h"
#include "core/program/normalise.h"
#include "core/storage/request.h"
#include "tenon/text.h"

namespace tenon {
namespace {

class Context final : public PassContext {
 public:
  /// `c` may be null: a pass on its own.
  Context(const OptionValues& options, Diags* reports, TimedScope* timed, Compilation* c)
      : options_(options), reports_(reports), timed_(timed), compilation_(c) {}
  unsigned threads() const override { return compilation_ ? compilation_->threads : 1; }
  const OptionValues& options() const override { return options_; }
  void report(Diag d) override {
    if (d.severity == Severity::error)
      d.severity = Severity::warning;  // an error is what a pass returns
    if (reports_) reports_->push_back(std::move(d));
  }
  void count(std::string name, std::int64_t n) override {
    if (timed_) timed_->count(std::move(name), n);
  }
  std::optional<std::uint64_t> memory_bound(const Module& m) const override {
    if (!compilation_) return std::nullopt;
    Module copy = m.clone();
    make_outputs_ownable(copy);  // as `plan` does
    const auto input = planning_input(copy, compilation_->config.memory);
    if (!input) return std::nullopt;
    std::uint64_t sum = 0;
    for (const std::uint64_t bound : pool_bounds(input->request)) sum += bound;
    return sum;
  }
  const TargetFacts* target() const override {
    if (!compilation_ || !resolve_targets(*compilation_))
      return nullptr;  // what is wrong with the targets is told by the step that needs them
    return &compilation_->targets.at(compilation_->config.targets.front().id);
  }

 private:
  const OptionValues& options_;
  Diags* reports_;
  TimedScope* timed_;
  Compilation* compilation_;
};

Diag thrown(std::string_view who, std::string_view what) {
  return {.code = 3901,
          .what = fmt::format("{} threw an exception: {}", who, what),
          .fix = "this is a fault of the plugin that offers it; report it there"};
}

/// Calls into a plugin: failures are values, also those that are thrown.
template <class Call>
Status guarded(std::string_view who, Call call) {
  try {
    return call();
  } catch (const std::exception& e) {
    return thrown(who, e.what());
  } catch (...) {
    return thrown(who, "not a std::exception");
  }
}

/// The facts, needs and gives of a step, wherever they are declared.
struct Contract {
  std::string who;  ///< "pass 'tenon.fuse-ops'", "step 'plan'"
  std::vector<std::string> needs, gives, destroys;
};
Contract contract_of(const PassInfo& p) {
  return {fmt::format("pass '{}'", p.id), p.needs, p.gives, p.destroys};
}
Contract contract_of(const SlotStep& s) {
  return {fmt::format("step '{}'", s.name),
          {s.needs.begin(), s.needs.end()},
          {s.gives.begin(), s.gives.end()},
          {}};
}

/// Facts that hold: core facts are asked of the module, others are remembered.
class Facts {
 public:
  Facts(const Module& m, const FactContext& context) : module_(m), context_(context) {}
  bool hold(const std::string& fact) const {
    return is_core_fact(fact) ? holds(fact, module_, context_) : given_.contains(fact);
  }

  Status before(const Contract& c) const {
    Diags errors;
    for (const std::string& f : c.needs) {
      if (hold(f)) continue;
      const bool stale = f == "memory-planned" && module_.plan;
      errors.push_back(
          {.code = 3902,
           .what = fmt::format("{} needs '{}', which does not hold here", c.who, f),
           .fix = stale ? "an earlier step changed what storage the module asks for; move it "
                          "before `plan`"
                        : "put a step that gives it before this one; `tenon validate` says which"});
    }
    return errors;
  }
  Status after(const Contract& c) {
    for (const std::string& f : c.destroys) given_.erase(f);
    Diags errors;
    for (const std::string& f : c.gives) {
      given_.insert(f);
      if (!hold(f))
        errors.push_back(
            {.code = 3903,
             .what = fmt::format("{} says that it gives '{}', and that does not hold after it",
                                 c.who, f)});
    }
    return errors;
  }

 private:
  const Module& module_;
  const FactContext& context_;
  std::set<std::string> given_;
};

Status invalid(const Contract& c, const Status& why) {
  Diag d{.code = 3904,
         .what = fmt::format("{} left an invalid module", c.who),
         .fix = "this is a fault of the plugin that offers it; report it there"};
  for (const Diag& e : why.errors()) d.notes.push_back(e.what);
  return d;
}

/// One step with all that stands around it.
template <class Body>
Status checked_step(Module& m, Facts& facts, const Contract& contract,
                    std::vector<TimedPart>& parts, Body body) {
  if (Status s = facts.before(contract); !s) return s;
  if (Status s = guarded(contract.who, body); !s) return s;
  {
    const TimedScope scope(parts, "verify");
    if (Status s = verify(m); !s) return invalid(contract, s);
  }
  if (Status s = facts.after(contract); !s) return s;
  m.compact();
  return {};
}

/// Errors of a step point at it: by a note, and by the place where they have none.
Status at_step(Status status, const Step& step) {
  Diags errors = std::move(status).take();
  for (Diag& d : errors) {
    if (d.loc.file.empty() && !d.loc.line)
      d.loc = step.loc;
    else
      d.notes.push_back(fmt::format("in step '{}' at {}", step.id, place(step.loc)));
  }
  return sorted_and_capped(std::move(errors));
}

class Runner {
 public:
  Runner(Compilation& c, ImplementationIndex& index, const SlotBodies& bodies,
         const Instruments& in)
      : c_(c), index_(index), bodies_(bodies), in_(in), facts_(c.module, c.facts) {}

  Status run() {
    if (c_.config.steps.empty())
      return Diag{.code = 2107,
                  .loc = {c_.config.path, 1, 1},
                  .what = "there are no steps to run",
                  .fix = "a board has none: name a pipeline"};
    for (const std::string& id : in_.print_after)
      if (Status s = known(id, "--print-after"); id != "*" && !s) return s;
    if (Status s = in_.stop_after.empty() ? Status() : known(in_.stop_after, "--stop-after"); !s)
      return s;
    if (Status s = verify(c_.module); c_.module.main() && !s) return s;
    for (const Step& step : c_.config.steps) {
      if (Status s = one(step); !s) return at_step(std::move(s), step);
      if (step.id == in_.stop_after) break;
    }
    return {};
  }

 private:
  Status known(const std::string& id, std::string_view option) const {
    if (c_.config.step(id)) return {};
    std::vector<std::string> ids;
    for (const Step& s : c_.config.steps) ids.push_back(s.id);
    const std::string near = did_you_mean(id, ids);
    return Diag{.code = 2146,
                .loc = {fmt::format("{} {}", option, id)},
                .what = fmt::format("no step is called '{}'", id),
                .fix = near.empty() ? "" : fmt::format("did you mean '{}'?", near),
                .notes = {fmt::format("steps: {}", fmt::join(ids, ", "))}};
  }

  Status one(const Step& step) {
    const bool shown = in_.print && std::ranges::any_of(in_.print_after, [&](const std::string& p) {
                         return p == "*" || p == step.id;
                       });
    const std::string before = shown ? print(c_.module) : "";
    Status s = dispatch(step);
    if (s && shown) {
      const std::string after = print(c_.module);
      in_.print(step, before == after ? "(unchanged)\n" : after);
    }
    if (in_.after_step) in_.after_step();
    return s;
  }

  Status dispatch(const Step& step) {
    const std::size_t before = c_.timing.size();
    TimedScope timed(c_.timing, step.id);
    Status s = work(step, timed);
    // What a body has filed with the compilation is a part of its step.
    const auto filed = c_.timing.begin() + static_cast<std::ptrdiff_t>(before);
    timed.parts().insert(timed.parts().begin(), filed, c_.timing.end());
    c_.timing.erase(filed, c_.timing.end());
    return s;
  }

  Status work(const Step& step, TimedScope& timed) {
    if (const SlotStep* slot = slot_step(step.name)) {
      const auto body = bodies_.find(step.name);
      if (body == bodies_.end()) TENON_BUG("a slot without a body: " + step.name);
      return checked_step(c_.module, facts_, contract_of(*slot), timed.parts(),
                          [&] { return body->second(c_, step); });
    }
    const auto impl = index_.find(SlotKind::pass, step.name, step.loc);
    if (!impl) return impl.errors();
    Context context(step.use.options, &c_.reports, &timed, &c_);
    return checked_step(c_.module, facts_, contract_of(*impl->pass), timed.parts(),
                        [&] { return impl->pass->run(c_.module, context); });
  }

  Compilation& c_;
  ImplementationIndex& index_;
  const SlotBodies& bodies_;
  const Instruments& in_;
  Facts facts_;
};

}  // namespace

Status run_pipeline(Compilation& c, ImplementationIndex& index, const SlotBodies& bodies,
                    const Instruments& instruments) {
  return Runner(c, index, bodies, instruments).run();
}

Status run_pass(Module& m, const PassInfo& pass, const OptionValues& options, Diags* reports,
                const Loc& at) {
  const Contract contract = contract_of(pass);
  if (Status s = check_options(pass.options, options, contract.who); !s) return s;
  if (Status s = verify(m); !s) return s;
  const FactContext context;
  Facts facts(m, context);
  std::vector<TimedPart> parts;
  Context pass_context(options, reports, nullptr, nullptr);
  Status s = checked_step(m, facts, contract, parts, [&] { return pass.run(m, pass_context); });
  Step step;
  step.id = step.name = pass.id;
  step.loc = at;
  return s ? std::move(s) : at_step(std::move(s), step);
}

}  // namespace tenon
