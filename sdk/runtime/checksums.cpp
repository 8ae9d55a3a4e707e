#include "checksums.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "error.h"
#include "tenon/c/runtime.h"

namespace tenon::runtime {
namespace {

constexpr std::size_t digits = 2 * sizeof(XXH128_canonical_t);

bool is_checksum(std::string_view s) {
  return s.size() == digits && s.find_first_not_of("0123456789abcdef") == s.npos;
}

}  // namespace

std::string checksum(std::string_view bytes) {
  XXH128_canonical_t sum;
  XXH128_canonicalFromHash(&sum, XXH3_128bits(bytes.data(), bytes.size()));
  static constexpr char hex[] = "0123456789abcdef";
  std::string out;
  for (const unsigned char b : sum.digest) out += {hex[b >> 4], hex[b & 15]};
  return out;
}

Checksums::Checksums(std::string_view text) {
  for (unsigned line = 1; !text.empty(); ++line) {
    const std::string_view row = text.substr(0, text.find('\n'));
    const bool whole = row.size() < text.size() && row.size() > digits + 2;
    if (!whole || !is_checksum(row.substr(0, digits)) || row.substr(digits, 2) != "  ")
      throw Error(TN_RT_DAMAGED, std::string(checksums_name) + ": line " + std::to_string(line) +
                                     " is not 32 hex digits, two blanks and a file name");
    sums_.emplace(row.substr(digits + 2), row.substr(0, digits));
    text.remove_prefix(row.size() + 1);
  }
}

void Checksums::check(const std::string& name, std::string_view bytes) const {
  const auto it = sums_.find(name);
  if (it == sums_.end()) throw Error(TN_RT_DAMAGED, name + ": has no line in " + checksums_name);
  const std::string found = checksum(bytes);
  if (found != it->second)
    throw Error(TN_RT_DAMAGED, name + ": is not what was compiled: its checksum is " + found +
                                   ", " + checksums_name + " says " + it->second);
}

}  // namespace tenon::runtime
