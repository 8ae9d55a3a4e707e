#include "core/blame/surroundings.h"

namespace tenon::blame {

Surroundings::Surroundings(const Subject& s, const Pieces& apart, const Step& step)
    : apart_(apart) {
  for (const Arg& a : step.args) {
    if (!a.written || a.block == none) continue;
    apart.allow(a.block, true);
    given_.push_back({a.block, a.in_block, a.in_block + a.bytes});
    if (a.bytes == s.blocks[a.block].bytes || kept(a.block)) continue;
    const auto all = apart.contents(a.block);
    before_.push_back({a.block, {all.begin(), all.end()}});
  }
}

std::optional<Outcome> Surroundings::check(std::byte margin) {
  std::optional<Outcome> out;
  for (const Given& g : given_) {
    if (!out) out = changed(g.block, margin);
    apart_.allow(g.block, false);
  }
  return out;
}

const Surroundings::Kept* Surroundings::kept(std::uint32_t block) const {
  for (const Kept& k : before_)
    if (k.block == block) return &k;
  return nullptr;
}

bool Surroundings::given(std::uint32_t block, std::uint64_t byte) const {
  for (const Given& g : given_)
    if (g.block == block && g.lo <= byte && byte < g.hi) return true;
  return false;
}

std::optional<Outcome> Surroundings::changed(std::uint32_t block, std::byte margin) const {
  Outcome o{.kind = Outcome::Kind::outside, .block = block};
  const auto note = [&](std::uint64_t byte) {
    if (o.count++ == 0) o.first = static_cast<std::int64_t>(byte);
    o.end = static_cast<std::int64_t>(byte) + 1;
  };
  const auto now = apart_.contents(block);
  if (const Kept* k = kept(block))
    for (std::uint64_t i = 0; i < now.size(); ++i)
      if (now[i] != k->bytes[i] && !given(block, i)) note(i);
  const auto behind = apart_.margin(block);
  for (std::uint64_t i = 0; i < behind.size(); ++i)
    if (behind[i] != margin) note(now.size() + i);
  return o.count > 0 ? std::optional(o) : std::nullopt;
}

}  // namespace tenon::blame
