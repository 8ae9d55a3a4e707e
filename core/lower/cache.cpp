#include "core/lower/cache.h"

namespace tenon {
namespace {

std::size_t mix(std::size_t h, std::size_t v) { return (h ^ v) * 0x9E3779B97F4A7C15ull + (h >> 7); }

std::size_t structural_hash(const LoweringKey& k) {
  std::size_t h = std::hash<std::string>()(k.lowering);
  h = mix(h, std::hash<std::string>()(k.target.id));
  for (const TensorType& t : k.compute.inputs) {
    h = mix(h, static_cast<std::size_t>(t.dtype));
    for (Dim d : t.dims) h = mix(h, static_cast<std::size_t>(d.value()));
  }
  for (const te::Stage& s : k.compute.stages) {
    for (const te::Axis& a : s.axes) h = mix(h, static_cast<std::size_t>(a.extent));
    for (const te::Axis& a : s.reduce) h = mix(h, static_cast<std::size_t>(a.extent));
  }
  for (const te::Expr& e : k.compute.exprs) {
    h = mix(h, static_cast<std::size_t>(e.kind) * 64 + static_cast<std::size_t>(e.op));
    h = mix(h, e.n);
    h = mix(h, static_cast<std::size_t>(e.i));
  }
  return h;
}

}  // namespace

LoweringCache::LoweringCache(Hash hash) : hash_(hash ? std::move(hash) : structural_hash) {}

std::shared_ptr<const Lowered> LoweringCache::find(std::size_t h, const LoweringKey& key) const {
  const auto [first, last] = entries_.equal_range(h);
  for (auto it = first; it != last; ++it)
    if (it->second.key == key) return it->second.value;
  return nullptr;
}

Result<std::shared_ptr<const Lowered>> LoweringCache::get(
    const LoweringKey& key, const std::function<Result<Lowered>()>& make) {
  const std::size_t h = hash_(key);
  {
    const std::lock_guard lock(mutex_);
    if (auto hit = find(h, key)) return hit;
  }
  auto made = make();
  if (!made) return made.errors();
  const std::lock_guard lock(mutex_);
  if (auto hit = find(h, key)) return hit;
  auto value = std::make_shared<const Lowered>(std::move(*made));
  entries_.emplace(h, Entry{key, value});
  return value;
}

std::size_t LoweringCache::size() const {
  const std::lock_guard lock(mutex_);
  return entries_.size();
}

}  // namespace tenon
