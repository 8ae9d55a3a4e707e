// tenon plan at: who stands on a byte of memory, and when. For a debugger's address.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>

#include "core/cli/planning.h"

namespace tenon::cli {
namespace {

struct AtArgs {
  std::string folder, address, pool;
  std::optional<std::uint32_t> step;
};

Result<std::uint64_t> address_from(std::string_view text) {
  const bool hex = text.starts_with("0x") || text.starts_with("0X");
  const std::string_view digits = hex ? text.substr(2) : text;
  std::uint64_t v = 0;
  const auto [p, ec] =
      std::from_chars(digits.data(), digits.data() + digits.size(), v, hex ? 16 : 10);
  if (ec == std::errc() && p == digits.data() + digits.size() && !digits.empty()) return v;
  return Diag{.code = 2151,
              .what = fmt::format("'{}' is not an address", text),
              .fix = "write a number, 0x... for hexadecimal"};
}

struct Byte {
  std::uint32_t pool = 0;
  std::uint64_t offset = 0;
};

/// An address in a pool with a base; in a pool that is named, or the only one, also an offset.
Result<Byte> byte_of(const StorageRequest& r, const StoragePlan& plan, const AtArgs& a) {
  auto address = address_from(a.address);
  if (!address) return address.errors();
  std::string known;
  bool named = false;
  for (std::uint32_t p = 0; p < r.pools.size(); ++p) {
    const StoragePool& pool = r.pools[p];
    const std::uint64_t base = pool.base.value_or(0);
    const std::uint64_t end = pool.capacity.value_or(plan.pools[p].peak);
    known += fmt::format("{}{} {}[0x{:x}, 0x{:x})", known.empty() ? "" : ", ", pool.id,
                         pool.base ? "" : "offsets ", base, base + end);
    if (a.pool.empty() ? !pool.base && r.pools.size() > 1 : pool.id != a.pool) continue;
    named = true;
    if (*address >= base && *address - base < end) return Byte{p, *address - base};
    if ((!a.pool.empty() || r.pools.size() == 1) && *address < end) return Byte{p, *address};
  }
  if (!a.pool.empty() && !named)
    return Diag{.code = 2151,
                .what = fmt::format("the plan has no pool '{}'", a.pool),
                .fix = "pools: " + known};
  return Diag{.code = 2151,
              .what = fmt::format("0x{:x} is in no pool{}", *address,
                                  a.pool.empty() ? "" : fmt::format(" '{}'", a.pool)),
              .fix = "pools: " + known + "; one without a base needs --pool, and an offset"};
}

std::string values_at(const StorageToken& t, std::uint64_t byte,
                      std::optional<std::uint32_t> step) {
  std::string out;
  for (const TokenMember& m : t.members) {
    if (byte < m.offset || byte >= m.offset + m.size) continue;
    if (step && (*step < m.live.first || *step >= m.live.end)) continue;
    out +=
        fmt::format("{}{} byte {} of {}", out.empty() ? "" : "; ", m.name, byte - m.offset, m.size);
  }
  return out.empty() ? fmt::format("byte {} of {}", byte, t.size) : out;
}

std::string step_text(const StorageRequest& r, std::uint32_t s) {
  return s < r.steps.size() ? fmt::format("{} {}", s, r.steps[s]) : fmt::format("{}", s);
}

int at_verb(Context& ctx, const AtArgs& a) {
  auto loaded = load_planned(a.folder);
  if (!loaded) return ctx.report(loaded.errors());
  const StorageRequest& r = loaded->request.request;
  auto byte = byte_of(r, loaded->plan, a);
  if (!byte) return ctx.report(byte.errors());
  if (a.step && *a.step >= r.steps.size())
    return ctx.report(Diag{.code = 2151,
                           .what = fmt::format("there is no step {}", *a.step),
                           .fix = fmt::format("steps are 0 to {}", r.steps.size() - 1)});
  std::vector<std::uint32_t> there;  // tokens over the byte, by time
  for (std::uint32_t i = 0; i < r.tokens.size(); ++i) {
    const Slot s = loaded->plan.slots[i];
    if (s.pool == byte->pool && s.offset <= byte->offset &&
        byte->offset - s.offset < r.tokens[i].size)
      there.push_back(i);
  }
  std::ranges::sort(there, {}, [&](std::uint32_t i) { return r.tokens[i].first; });
  say(fmt::format("pool {}, offset {}{}\n", r.pools[byte->pool].id, byte->offset,
                  a.step ? ", step " + step_text(r, *a.step) : ""));
  std::vector<std::vector<std::string>> rows{{"", "token", "from step", "to step", "what"}};
  bool now = false;
  for (std::uint32_t i : there) {
    const StorageToken& t = r.tokens[i];
    const bool here = a.step && t.first <= *a.step && *a.step < t.end;
    now |= here;
    const char* when = !a.step ? "" : here ? "now" : t.end <= *a.step ? "before" : "after";
    rows.push_back(
        {when, t.name, step_text(r, t.first), step_text(r, t.end - 1),
         values_at(t, byte->offset - loaded->plan.slots[i].offset, here ? a.step : std::nullopt)});
  }
  say(rows.size() > 1 ? table(rows) : std::string("no token ever stands there\n"));
  if (a.step && !now) say("free in this step\n");
  return 0;
}

}  // namespace

void add_plan_at(CLI::App& plan, Context& ctx) {
  auto* at = plan.add_subcommand("at", "Who stands on a byte of memory, and when");
  auto a = std::make_shared<AtArgs>();
  at->add_option("DIR", a->folder, "Artefact folder")->required();
  at->add_option("--address", a->address,
                 "Address, in a pool that has a base; else an offset, with --pool")
      ->required();
  at->add_option("--pool", a->pool, "The pool");
  at->add_option("--step", a->step, "A step: who is there now, who was before, who comes after");
  at->footer(
      "Example:\n  tenon plan at out --address 0x20000400 --step 12\n  tenon plan at out --pool "
      "ram --address 1024");
  at->callback([a, &ctx] { at_verb(ctx, *a); });
}

}  // namespace tenon::cli
