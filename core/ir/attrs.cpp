#include <algorithm>
#include <bit>

#include "tenon/ir.h"

namespace tenon {
namespace {

bool same_real(double a, double b) {
  return std::bit_cast<std::uint64_t>(a) == std::bit_cast<std::uint64_t>(b);
}

// Equality of data, not of pointers; NaN equals itself, so that a module equals its clone.
bool same(const AttrValue& a, const AttrValue& b) {
  if (a.index() != b.index()) return false;
  if (auto* c = std::get_if<Constant>(&a)) return same_constant(*c, std::get<Constant>(b));
  if (auto* d = std::get_if<double>(&a)) return same_real(*d, std::get<double>(b));
  if (auto* v = std::get_if<std::vector<double>>(&a))
    return std::ranges::equal(*v, std::get<std::vector<double>>(b), same_real);
  return a == b;
}

auto key_of = [](const auto& row) -> std::string_view { return row.first; };

}  // namespace

void Attrs::set(std::string key, AttrValue v) {
  auto it = std::ranges::lower_bound(rows_, std::string_view(key), {}, key_of);
  if (it != rows_.end() && it->first == key)
    it->second = std::move(v);
  else
    rows_.insert(it, {std::move(key), std::move(v)});
}

void Attrs::erase(std::string_view key) {
  std::erase_if(rows_, [&](auto& r) { return r.first == key; });
}

const AttrValue* Attrs::find(std::string_view key) const {
  auto it = std::ranges::lower_bound(rows_, key, {}, key_of);
  return it != rows_.end() && it->first == key ? &it->second : nullptr;
}

bool Attrs::operator==(const Attrs& other) const {
  return std::ranges::equal(rows_, other.rows_, [](auto& a, auto& b) {
    return a.first == b.first && same(a.second, b.second);
  });
}

}  // namespace tenon
