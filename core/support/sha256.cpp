#include "core/support/sha256.h"

#include <openssl/evp.h>

#include "tenon/diag.h"

namespace tenon {

Sha256Stream::Sha256Stream() : state_(EVP_MD_CTX_new()) {
  TENON_CHECK(state_ &&
              EVP_DigestInit_ex(static_cast<EVP_MD_CTX*>(state_), EVP_sha256(), nullptr) == 1);
}
Sha256Stream::~Sha256Stream() { EVP_MD_CTX_free(static_cast<EVP_MD_CTX*>(state_)); }

void Sha256Stream::add(std::span<const std::byte> bytes) {
  TENON_CHECK(EVP_DigestUpdate(static_cast<EVP_MD_CTX*>(state_), bytes.data(), bytes.size()) == 1);
}

Sha256 Sha256Stream::finish() {
  Sha256 out{};
  TENON_CHECK(EVP_DigestFinal_ex(static_cast<EVP_MD_CTX*>(state_), out.data(), nullptr) == 1);
  return out;
}

Sha256 sha256(std::span<const std::byte> bytes) {
  Sha256Stream s;
  s.add(bytes);
  return s.finish();
}
Sha256 sha256(std::string_view text) {
  return sha256(std::as_bytes(std::span(text.data(), text.size())));
}

}  // namespace tenon
