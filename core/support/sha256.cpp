#include "core/support/sha256.h"

// The function alone, which is linked statically: OpenSSL's way to ask for it by name needs all of
// libcrypto, whose relocations are a third of what starting `tenon` costs.
#define OPENSSL_SUPPRESS_DEPRECATED
#include <openssl/sha.h>

#include "tenon/diag.h"

namespace tenon {
namespace {
SHA256_CTX* context(void* state) { return static_cast<SHA256_CTX*>(state); }
}  // namespace

Sha256Stream::Sha256Stream() : state_(new SHA256_CTX) {
  TENON_CHECK(SHA256_Init(context(state_)) == 1);
}
Sha256Stream::~Sha256Stream() { delete context(state_); }

void Sha256Stream::add(std::span<const std::byte> bytes) {
  TENON_CHECK(SHA256_Update(context(state_), bytes.data(), bytes.size()) == 1);
}

Sha256 Sha256Stream::finish() {
  Sha256 out{};
  TENON_CHECK(SHA256_Final(out.data(), context(state_)) == 1);
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
