#include "core/storage/request_view.h"

#include <cstring>
#include <type_traits>

namespace tenon {
namespace {

template <class T>
void append(std::vector<std::byte>& out, const T& x, std::size_t stride) {
  static_assert(std::is_trivially_copyable_v<T>);
  out.resize(out.size() + stride, std::byte{0xa5});  // appended fields are not zero by accident
  std::memcpy(out.data() + out.size() - stride, &x, sizeof x);
}

}  // namespace

RequestView::RequestView(const StorageRequest& r, std::size_t extra) : parts_(r.tokens.size()) {
  const std::size_t pool_stride = sizeof(tn_pool) + extra, token_stride = sizeof(tn_token) + extra;
  pools_.reserve(r.pools.size() * pool_stride);
  tokens_.reserve(r.tokens.size() * token_stride);
  for (const StoragePool& p : r.pools)
    append(pools_, tn_pool{p.id.c_str(), p.capacity.value_or(TN_ANY), p.granule}, pool_stride);
  bool pins = false;
  for (std::size_t i = 0; i < r.tokens.size(); ++i) {
    const StorageToken& t = r.tokens[i];
    for (const TokenPart& p : t.parts) parts_[i].push_back({p.first, p.end, p.lo, p.hi});
    pins = pins || t.at;
    append(tokens_,
           tn_token{t.name.c_str(), t.size, t.align, t.at.value_or(TN_ANY), t.first, t.end,
                    t.pools.data(), t.cost.data(), static_cast<std::uint32_t>(t.pools.size()),
                    static_cast<std::uint32_t>(t.parts.size()), parts_[i].data()},
           token_stride);
  }
  for (const TokenJoin& j : r.joins) joins_.push_back({j.a, j.b, j.delta});
  raw_.struct_size = sizeof raw_;
  raw_.pool_stride = static_cast<std::uint32_t>(pool_stride);
  raw_.token_stride = static_cast<std::uint32_t>(token_stride);
  raw_.n_pools = static_cast<std::uint32_t>(r.pools.size());
  raw_.n_tokens = static_cast<std::uint32_t>(r.tokens.size());
  raw_.n_joins = static_cast<std::uint32_t>(joins_.size());
  raw_.n_steps = static_cast<std::uint32_t>(r.steps.size());
  raw_.needs = (r.pools.size() > 1 ? TN_POOLS : 0u) | (pins ? TN_PINS : 0u);
  raw_.pools = reinterpret_cast<const tn_pool*>(pools_.data());
  raw_.tokens = reinterpret_cast<const tn_token*>(tokens_.data());
  raw_.joins = joins_.data();
}

}  // namespace tenon
