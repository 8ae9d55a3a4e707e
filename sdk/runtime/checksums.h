// The file `checksums` of an artefact: one line per file, "<32 hex digits>  <name>", the XXH3 hash
// of 128 bits of its bytes. `xxh128sum -c checksums` reads the same form.
//
// It finds accidents: a file that was edited, mixed up with another build's, or copied badly. It is
// no signature: whoever can write the folder can write the kernels.
#ifndef TENON_SDK_RUNTIME_CHECKSUMS_H
#define TENON_SDK_RUNTIME_CHECKSUMS_H

#include <map>
#include <string>
#include <string_view>

namespace tenon::runtime {

inline constexpr const char* checksums_name = "checksums";

/// 32 lower-case hex digits.
std::string checksum(std::string_view bytes);

class Checksums {
 public:
  /// Throws Error (TN_RT_DAMAGED) where `text` has another form.
  explicit Checksums(std::string_view text);
  /// Throws Error (TN_RT_DAMAGED) unless `bytes` are what was written as `name`.
  void check(const std::string& name, std::string_view bytes) const;

 private:
  std::map<std::string, std::string> sums_;  // hex digits by file name
};

}  // namespace tenon::runtime

#endif
