#include "core/blame/facts.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/blame/explain.h"

namespace tenon::blame {

std::string step_text(const Subject& s, std::uint32_t step) {
  if (step >= s.steps.size()) return "the end of the run";
  return fmt::format("step {} `{}`", step, s.steps[step].name);
}

Party party(const Subject& s, const Arg& a) {
  Party p{.value = s.name(a),
          .token = "",
          .region = s.regions[a.region].name,
          .offset = a.offset,
          .bytes = a.bytes,
          .live = {}};
  if (const StorageToken* t = s.token(a.block)) {
    p.token = t->name;
    p.live = a.member != none ? t->members[a.member].live : Lifetime{t->first, t->end};
  }
  return p;
}

std::string place_text(const Party& p) {
  return fmt::format("{} [{}, {})", p.region, p.offset, p.offset + p.bytes);
}

bool live(const Subject& s, const Arg& a, std::uint32_t step) {
  const auto life = party(s, a).live;
  return !life || (life->first <= step && step < life->end);
}

std::string misplaced(const Subject& s, const Arg& a) {
  const StorageToken* t = s.token(a.block);
  if (!t) return "";
  const Slot slot = s.plan->slots[s.blocks[a.block].index];
  if (slot.pool == a.region && slot.offset + a.in_block == a.offset) return "";
  return fmt::format("the plan has `{}` in pool {} at {}, the program in {} at {}", s.name(a),
                     s.request->pools[slot.pool].id, slot.offset + a.in_block,
                     s.regions[a.region].name, a.offset);
}

bool joined(const Subject& s, const Arg& a, const Arg& b) {
  if (!s.token(a.block) || !s.token(b.block)) return false;
  for (const TokenJoin& j : s.request->joins)
    if (j.a == s.blocks[a.block].index && j.b == s.blocks[b.block].index) return true;
  return false;
}

bool overlap(const Arg& a, const Arg& b) {
  return a.block != none && b.block != none && a.region == b.region &&
         a.offset < b.offset + b.bytes && b.offset < a.offset + a.bytes;
}

std::optional<Party> neighbour(const Subject& s, const Arg& a, std::int64_t lo, std::int64_t hi,
                               std::uint32_t step) {
  const auto base = static_cast<std::int64_t>(a.offset) - static_cast<std::int64_t>(a.in_block);
  std::optional<Party> other;  // somebody who stands there in another step
  for (std::uint32_t t = 0; t < s.request->tokens.size(); ++t) {
    const StorageToken& token = s.request->tokens[t];
    const Slot slot = s.plan->slots[t];
    const auto at = static_cast<std::int64_t>(slot.offset);
    if (t == a.block || slot.pool != a.region || at >= base + hi ||
        at + static_cast<std::int64_t>(token.size) <= base + lo)
      continue;
    Party p{.value = token.name,
            .token = token.name,
            .region = s.regions[a.region].name,
            .offset = slot.offset,
            .bytes = token.size,
            .live = Lifetime{token.first, token.end}};
    if (token.first <= step && step < token.end) return p;
    if (!other) other = std::move(p);
  }
  return other;
}

namespace {

/// The steps that may have run before `step`, the latest first: within a loop also those of the
/// iteration before. Calls `each` until it says false.
template <class Each>
void backwards(const Subject& s, std::uint32_t step, Each each) {
  std::uint32_t first = step, end = step;  // what has been visited
  const auto visit = [&](std::uint32_t lo, std::uint32_t hi) {
    for (std::uint32_t k = hi; k-- > lo;)
      if (!each(k)) return false;
    return true;
  };
  for (std::uint32_t k = step; k-- > 0;) {  // innermost loop first
    const std::uint32_t last = s.steps[k].last;
    if (last == none || last < end) continue;
    if (!visit(k + 1, first) || !visit(end, last + 1)) return;
    first = k + 1;
    end = last + 1;
  }
  visit(0, first);
}

}  // namespace

std::optional<ArgOf> overwriter(const Subject& s, const Arg& a, std::uint32_t step) {
  std::optional<ArgOf> out;
  const auto own = [&](const Arg& w) {
    return w.written && w.block == a.block && w.in_block < a.in_block + a.bytes &&
           a.in_block < w.in_block + w.bytes;
  };
  backwards(s, step, [&](std::uint32_t k) {
    const auto& args = s.steps[k].args;
    for (std::uint32_t i = 0; i < args.size() && !out; ++i)
      if (args[i].written && args[i].block != a.block && overlap(args[i], a)) out = ArgOf{k, i};
    return !out && std::ranges::none_of(args, own);
  });
  return out;
}

std::optional<Finding> contradiction(const Subject& s) {
  for (std::uint32_t k = 0; k < s.steps.size(); ++k) {
    for (const Arg& a : s.steps[k].args) {
      if (a.block == none || !(a.read || a.written)) continue;  // not in this step of a loop
      if (std::string why = misplaced(s, a); !why.empty()) return stands_elsewhere(s, k, a, why);
      if (!live(s, a, k)) return used_after_life(s, k, a, std::nullopt);
    }
  }
  return std::nullopt;
}

}  // namespace tenon::blame
