#define XXH_INLINE_ALL
#include <xxhash.h>

#include <cstring>

#include "core/support/sha256.h"
#include "tenon/ir.h"

namespace tenon {

Constant make_constant(TensorType type, std::span<const std::byte> bytes,
                       std::shared_ptr<const void> owner) {
  TENON_CHECK(byte_size(type) == bytes.size());
  const XXH128_hash_t h = XXH3_128bits(bytes.data(), bytes.size());
  return std::make_shared<ConstantData>(
      ConstantData{std::move(type), bytes, std::move(owner), {h.low64, h.high64}});
}

Constant make_constant(TensorType type, std::vector<std::byte> bytes) {
  const auto owner = std::make_shared<const std::vector<std::byte>>(std::move(bytes));
  return make_constant(std::move(type), *owner, owner);
}

bool same_bytes(const ConstantData& a, const ConstantData& b) {
  if (a.hash != b.hash || a.bytes.size() != b.bytes.size()) return false;
  return a.bytes.data() == b.bytes.data() || a.bytes.empty() ||
         std::memcmp(a.bytes.data(), b.bytes.data(), a.bytes.size()) == 0;
}

bool same_constant(const Constant& a, const Constant& b) {
  return a == b || (a && b && a->type == b->type && same_bytes(*a, *b));
}

std::string sha256_of(const ConstantData& c) { return sha256_hex(sha256(c.bytes)); }

std::string sha256_hex(const std::array<std::uint8_t, 32>& h) {
  std::string s;
  for (std::uint8_t b : h) {
    s += "0123456789abcdef"[b >> 4];
    s += "0123456789abcdef"[b & 15];
  }
  return s;
}

}  // namespace tenon
