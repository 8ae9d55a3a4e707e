// SHA-256, the one hash by which Tenon names contents.
#ifndef TENON_CORE_SUPPORT_SHA256_H
#define TENON_CORE_SUPPORT_SHA256_H

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace tenon {

using Sha256 = std::array<std::uint8_t, 32>;
Sha256 sha256(std::span<const std::byte> bytes);
Sha256 sha256(std::string_view text);

/// The hash of pieces given one after another; equal to the hash of their concatenation.
class Sha256Stream {
 public:
  Sha256Stream();
  ~Sha256Stream();
  Sha256Stream(const Sha256Stream&) = delete;
  Sha256Stream& operator=(const Sha256Stream&) = delete;
  void add(std::span<const std::byte> bytes);
  void add(std::string_view text) { add(std::as_bytes(std::span(text.data(), text.size()))); }
  /// Ends the stream; call once.
  Sha256 finish();

 private:
  void* state_;
};

}  // namespace tenon

#endif
