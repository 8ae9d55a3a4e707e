// A hash map for graphs of a million nodes: entries side by side in the order in which they came,
// and an index over them. Nothing is ever erased; adding moves entries. Keys are small and cheap to
// compare.
#ifndef TENON_CORE_SUPPORT_FLAT_MAP_H
#define TENON_CORE_SUPPORT_FLAT_MAP_H

#include <bit>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

namespace tenon {

template <class K, class V, class Hash = std::hash<K>>
class FlatMap {
 public:
  std::size_t size() const { return entries_.size(); }
  bool empty() const { return entries_.empty(); }
  auto begin() const { return entries_.begin(); }
  auto end() const { return entries_.end(); }

  void reserve(std::size_t n) {
    entries_.reserve(n);
    if (2 * n > index_.size()) index_over(std::bit_ceil(2 * n));
  }

  /// Null when there is none.
  const V* find(const K& key) const {
    if (entries_.empty()) return nullptr;
    const std::uint32_t at = index_[place(key)];
    return at ? &entries_[at - 1].second : nullptr;
  }
  V* find(const K& key) { return const_cast<V*>(std::as_const(*this).find(key)); }
  bool contains(const K& key) const { return find(key) != nullptr; }

  /// The entry of `key`, and whether it is new.
  std::pair<V*, bool> try_emplace(const K& key, V value = {}) {
    if (2 * (entries_.size() + 1) > index_.size())
      index_over(index_.empty() ? 16 : 2 * index_.size());
    std::uint32_t& at = index_[place(key)];
    const bool fresh = at == 0;
    if (fresh) {
      entries_.emplace_back(key, std::move(value));
      at = static_cast<std::uint32_t>(entries_.size());
    }
    return {&entries_[at - 1].second, fresh};
  }
  V& operator[](const K& key) { return *try_emplace(key).first; }

 private:
  /// Of the key in the index, or the free place where it would stand.
  std::size_t place(const K& key) const {
    // Addresses are multiples of 16: the product carries their bits to the top.
    std::size_t i = Hash()(key) * 0x9E3779B97F4A7C15u >> shift_;
    while (index_[i] != 0 && !(entries_[index_[i] - 1].first == key))
      i = (i + 1) & (index_.size() - 1);
    return i;
  }
  void index_over(std::size_t places) {
    index_.assign(places, 0);
    shift_ = static_cast<unsigned>(64 - std::countr_zero(places));
    for (std::size_t e = 0; e < entries_.size(); ++e)
      index_[place(entries_[e].first)] = static_cast<std::uint32_t>(e + 1);
  }

  std::vector<std::pair<K, V>> entries_;
  std::vector<std::uint32_t> index_;  // 0: free; else 1 + number of an entry
  unsigned shift_ = 0;
};

}  // namespace tenon

#endif
