#include "core/blame/explain.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <string.h>

#include <algorithm>
#include <tuple>

namespace tenon::blame {
namespace {

using Kind = Outcome::Kind;

/// "step 12 `x`, kernel `k`"; of a copy without the kernel.
std::string who(const Subject& s, std::uint32_t step) {
  std::string out = step_text(s, step);
  if (step < s.steps.size() && !s.steps[step].kernel.empty())
    out += fmt::format(", kernel `{}`", s.steps[step].kernel);
  return out;
}

std::string line(const Party& p) {
  std::string out = fmt::format("`{}`: {}", p.value, place_text(p));
  if (!p.token.empty() && p.token != p.value) out += fmt::format(", in token `{}`", p.token);
  if (p.live) out += fmt::format(", live in steps [{}, {})", p.live->first, p.live->end);
  return out;
}

Finding finding(int code, std::string kind, std::uint32_t step, std::string what, std::string fact,
                std::string fix, std::vector<Party> parties) {
  Finding f{std::move(kind), step, std::move(parties), std::move(fact), {}};
  f.diag = {.code = code, .what = std::move(what), .fix = std::move(fix)};
  for (const Party& p : f.parties) f.diag.notes.push_back(line(p));
  if (!f.fact.empty()) f.diag.notes.push_back("the fact: " + f.fact);
  return f;
}

const Arg* arg_of(const Subject& s, std::uint32_t step, std::uint32_t block, bool written) {
  if (step >= s.steps.size()) return nullptr;
  for (const Arg& a : s.steps[step].args)
    if (a.block == block && (a.written || !written)) return &a;
  return nullptr;
}

std::string signal_text(int signal) { return fmt::format("SIG{}", sigabbrev_np(signal)); }

std::string role_word(const Subject& s, const Arg& a) {
  if (!a.scratch) return "";
  const StorageToken* t = s.token(a.block);
  return t && t->members[a.member].role == Role::worker ? "worker scratch " : "scratch ";
}

/// A kernel went past the end (or the start) of what it was given of a block, up to byte `end` of
/// it.
Finding outside_argument(const Subject& s, std::uint32_t step, const Arg& a, std::int64_t first,
                         std::int64_t end, bool writing) {
  const auto bytes = static_cast<std::int64_t>(s.blocks[a.block].bytes);
  const bool past = first >= static_cast<std::int64_t>(a.in_block + a.bytes);
  const std::int64_t far = past ? end - static_cast<std::int64_t>(a.in_block + a.bytes)
                                : static_cast<std::int64_t>(a.in_block) - first;
  std::vector<Party> parties{party(s, a)};
  if (auto other = neighbour(s, a, first, end, step)) parties.push_back(std::move(*other));
  const char* verb = writing ? "writes" : "reads";
  std::string what =
      fmt::format("{} {} at least {} byte{} {} its {}`{}` of {} bytes", who(s, step), verb, far,
                  far == 1 ? "" : "s", past ? "past the end of" : "before the start of",
                  role_word(s, a), s.name(a), a.bytes);
  if (a.scratch)
    return finding(4521, "scratch", step, std::move(what),
                   fmt::format("the kernel says that {} bytes of {}suffice; it uses at least {}",
                               a.bytes, role_word(s, a), std::max(end, bytes)),
                   "correct the scratch that the kernel states", std::move(parties));
  return finding(4521, writing ? "overrun" : "overread", step, std::move(what),
                 fmt::format("the kernel says that this argument has {} bytes", a.bytes),
                 "correct the kernel: it may touch its arguments only", std::move(parties));
}

/// It wrote to something that it only reads.
Finding writes_operand(const Subject& s, std::uint32_t step, const Arg& a, std::int64_t at) {
  const bool caller = s.blocks[a.block].kind == Block::Kind::input;
  return finding(
      4521, caller ? "caller" : "operand", step,
      fmt::format("{} writes to {}`{}` (byte {}), which it only reads", who(s, step),
                  caller ? "the caller's " : "its operand ", s.name(a), at),
      caller ? "the memory of an input is the caller's: no step may write there, another run reads "
               "it again"
             : "an operand that the kernel does not say it takes over keeps its bytes",
      "let the kernel write to its results and scratch only, or declare the pair in place",
      {party(s, a)});
}

Finding crashed_alone(const Subject& s, const Outcome& o) {
  if (o.block != none) {
    const Arg* a = arg_of(s, o.step, o.block, false);
    if (!a) {
      return finding(
          4521, "stray", o.step,
          fmt::format("{} {} byte {} of `{}`, which is none of its arguments", who(s, o.step),
                      o.writing ? "writes to" : "reads", o.first, s.blocks[o.block].name),
          "a kernel may touch its arguments only", "correct the kernel", {});
    }
    const bool inside =
        o.first >= 0 && o.first < static_cast<std::int64_t>(s.blocks[o.block].bytes);
    if (inside && o.writing) return writes_operand(s, o.step, *a, o.first);
    if (!inside)
      return outside_argument(s, o.step, *a, o.first, o.first + (o.first < 0 ? 0 : 1), o.writing);
  }
  return finding(4523, "kernel", o.step,
                 fmt::format("{} crashes ({}), with every value in storage of its own",
                             who(s, o.step), signal_text(o.signal)),
                 "", "correct the kernel; the plan is not to blame", {});
}

std::vector<Party> parties_of(const Subject& s, const std::vector<std::uint32_t>& blocks) {
  std::vector<Party> out;
  for (const std::uint32_t b : blocks) {
    for (const Step& step : s.steps) {
      const auto it = std::ranges::find(step.args, b, &Arg::block);
      if (it == step.args.end()) continue;
      out.push_back(party(s, *it));
      break;
    }
    if (out.size() == 8) break;
  }
  return out;
}

/// What the trial saw, in numbers.
std::string seen(const Subject& s, const Outcome& o) {
  const auto bytes = [&](const Arg& a) {
    return fmt::format("{} of {} bytes of `{}`", o.count, a.bytes, s.name(a));
  };
  switch (o.kind) {
    case Kind::differs_before:
      return fmt::format("{} have changed when {} reads them", bytes(s.steps[o.step].args[o.arg]),
                         step_text(s, o.step));
    case Kind::differs_after:
      return fmt::format("{} come out differently", bytes(s.steps[o.step].args[o.arg]));
    case Kind::differs_at_end:
      return fmt::format("{} have changed by the end of the run", bytes(s.outputs[o.arg]));
    case Kind::crashed:
      return fmt::format("it crashes ({})", signal_text(o.signal));
    case Kind::failed:
      return o.text;
    default:
      return "it does not end";
  }
}

/// Two arguments of one step that stand on the same bytes: one, and the one that is written there.
std::pair<const Arg*, std::optional<ArgOf>> pair_within(const Subject& s, std::uint32_t step,
                                                        const std::vector<std::uint32_t>& needed) {
  const auto& args = s.steps[step].args;
  const auto counts = [&](const Arg& a) {
    return a.block != none && std::ranges::find(needed, a.block) != needed.end();
  };
  for (std::uint32_t i = 0; i < args.size(); ++i)
    for (const Arg& v : args)
      if (args[i].written && v.block != args[i].block && counts(v) && counts(args[i]) &&
          overlap(v, args[i]))
        return {&v, ArgOf{step, i}};
  return {nullptr, std::nullopt};
}

Finding in_place(const Subject& s, const Outcome& o, const Arg& a, const Arg& b) {
  const auto& args = s.steps[o.step].args;
  const auto number = [&](const Arg& x) { return &x - args.data(); };
  return finding(
      4524, "in-place", o.step,
      fmt::format("{} cannot put `{}` in the place of its operand `{}`: {}", who(s, o.step),
                  s.name(b), s.name(a), seen(s, o)),
      fmt::format("the kernel declares that argument {} may take the place of argument {}, so the "
                  "request joins the two tokens",
                  number(b), number(a)),
      "take the pair out of the kernel's in-place pairs; until then plan without joins: --set "
      "plan.with=naive",
      {party(s, a), party(s, b)});
}

Finding unexplained(const Subject& s, const Outcome& o, const std::vector<std::uint32_t>& needed) {
  return finding(4528, "sharing", o.step,
                 fmt::format("{}: it takes {} token{} where the plan has them", seen(s, o),
                             needed.size(), needed.size() == 1 ? "" : "s"),
                 "", "see `tenon plan at` for who stands there in that step",
                 parties_of(s, needed));
}

Finding alone(const Subject& s, const Outcome& o, std::uint32_t block, std::uint64_t align) {
  const Arg* a = arg_of(s, o.step, block, false);
  if (!a || align == 0) return unexplained(s, o, {block});
  const std::uint64_t at = a->offset - a->in_block;
  return finding(
      4526, "alignment", o.step,
      fmt::format("{} cannot work at the alignment of `{}`, offset {}: {}", who(s, o.step),
                  s.name(*a), at, seen(s, o)),
      fmt::format("the request says that `{}` needs alignment {}; it works from alignment {} on",
                  s.blocks[block].name, s.blocks[block].align, align),
      "correct the alignment that the kernel states for this argument", {party(s, *a)});
}

}  // namespace

Finding used_after_life(const Subject& s, std::uint32_t step, const Arg& a,
                        std::optional<ArgOf> by) {
  std::vector<Party> parties{party(s, a)};
  const Lifetime life = *parties[0].live;
  std::string what =
      fmt::format("{} {} `{}`, which the request has live in steps [{}, {}) only", who(s, step),
                  a.written ? "writes" : "reads", s.name(a), life.first, life.end);
  if (by) {
    const Arg& w = s.steps[by->step].args[by->arg];
    parties.push_back(party(s, w));
    what += fmt::format("; {} has put `{}` there", who(s, by->step), s.name(w));
  }
  const bool view = parties[0].token != parties[0].value;
  std::string fact =
      fmt::format("the last use of `{}`{} was missed: step {} counts as the last", s.name(a),
                  view ? fmt::format(", a view of `{}`,", parties[0].token) : "", life.end - 1);
  return finding(
      4525, "last-use", step, std::move(what), std::move(fact),
      "this is a fault of liveness or of what edited the request: report it, with the model",
      std::move(parties));
}

Finding stands_elsewhere(const Subject& s, std::uint32_t step, const Arg& a,
                         const std::string& why) {
  std::vector<Party> parties{party(s, a)};
  bool caller = false;
  for (const auto* list : {&s.inputs, &s.outputs})
    for (const Arg& io : *list)
      if (io.block != none && io.block != a.block && overlap(io, a) && !s.token(io.block)) {
        parties.push_back(party(s, io));
        caller = true;
      }
  return finding(4527, caller ? "caller" : "program", step,
                 fmt::format("{} {} `{}` in {}, which is not its place", who(s, step),
                             a.written ? "puts" : "looks for", s.name(a), s.regions[a.region].name),
                 why, "compile again; what wrote the program did not follow the plan",
                 std::move(parties));
}

Finding explain_alone(const Subject& s, const Outcome& o) {
  switch (o.kind) {
    case Kind::outside:
      return outside_argument(s, o.step, *arg_of(s, o.step, o.block, true), o.first, o.end, true);
    case Kind::crashed:
      return crashed_alone(s, o);
    default:
      return finding(4523, "kernel", o.step,
                     fmt::format("with every value in storage of its own: {}", seen(s, o)), "",
                     "correct the kernel; the plan is not to blame", {});
  }
}

Finding explain_unwritten(const Subject& s, const Outcome& o, std::uint32_t block, bool margin) {
  const Arg* a = arg_of(s, o.step, block, false);
  std::vector<Party> parties;
  if (a) parties.push_back(party(s, *a));
  return finding(
      4522, margin ? "overread" : "unwritten", o.step,
      fmt::format("{}: the result depends on what stands {} `{}`", who(s, o.step),
                  margin ? "behind the end of" : "already in", s.blocks[block].name),
      margin ? "a kernel may read its arguments only"
             : "no step has written these bytes before: what another value left there is read",
      "correct the kernel, or let a step write all of it first", std::move(parties));
}

Finding explain_sharing(const Subject& s, const Outcome& o,
                        const std::vector<std::uint32_t>& needed, std::uint64_t align) {
  const bool lost = o.kind == Kind::differs_before || o.kind == Kind::differs_at_end;
  const Arg* victim = nullptr;
  std::optional<ArgOf> by;
  if (lost) {
    victim = o.kind == Kind::differs_before ? &s.steps[o.step].args[o.arg] : &s.outputs[o.arg];
    by = overwriter(s, *victim, o.step);
  }
  const bool within = !lost && o.step < s.steps.size();
  if (within) std::tie(victim, by) = pair_within(s, o.step, needed);
  const Arg* writer = by ? &s.steps[by->step].args[by->arg] : nullptr;
  for (const Arg* a : {writer, victim})
    if (a)
      if (const std::string why = misplaced(s, *a); !why.empty())
        return stands_elsewhere(s, by ? by->step : o.step, *a, why);
  if (within && writer && joined(s, *victim, *writer)) return in_place(s, o, *victim, *writer);
  const std::uint32_t read = std::min(o.step, static_cast<std::uint32_t>(s.steps.size()) - 1);
  // Not needed when it was overwritten: in a loop that is seen by the step of the next iteration.
  if (writer && !(live(s, *victim, read) && live(s, *victim, by->step)))
    return used_after_life(s, o.step, *victim, by);
  if (needed.size() == 1 && !writer) return alone(s, o, needed[0], align);
  return unexplained(s, o, needed);
}

}  // namespace tenon::blame
