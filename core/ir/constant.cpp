#include <openssl/evp.h>

#include "tenon/ir.h"

namespace tenon {

Constant make_constant(TensorType type, std::vector<std::byte> bytes) {
  TENON_CHECK(byte_size(type) == bytes.size());
  auto c = std::make_shared<ConstantData>();
  c->type = std::move(type);
  c->bytes = std::move(bytes);
  unsigned n = 0;
  TENON_CHECK(EVP_Digest(c->bytes.data(), c->bytes.size(), c->sha256.data(), &n, EVP_sha256(),
                         nullptr) == 1 &&
              n == 32);
  return c;
}

bool same_constant(const Constant& a, const Constant& b) {
  return a == b || (a && b && a->type == b->type && a->sha256 == b->sha256);
}

std::string sha256_hex(const std::array<std::uint8_t, 32>& h) {
  std::string s;
  for (std::uint8_t b : h) {
    s += "0123456789abcdef"[b >> 4];
    s += "0123456789abcdef"[b & 15];
  }
  return s;
}

}  // namespace tenon
