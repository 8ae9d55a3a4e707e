// Memory of pools: mapped, aligned, and given back with the object.
#ifndef TENON_SDK_RUNTIME_MEMORY_H
#define TENON_SDK_RUNTIME_MEMORY_H

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace tenon::runtime {

struct File;

class Region {
 public:
  Region() = default;
  Region(Region&& o) noexcept;
  Region& operator=(Region&& o) noexcept;
  Region(const Region&) = delete;
  Region& operator=(const Region&) = delete;
  ~Region();

  /// Zeroed, writable. With `guard` the last aligned place is taken before a page that may not be
  /// touched: between the end and that page lie at most align - 1 bytes, slack(). Throws Error
  /// (TN_RT_MEMORY). 0 bytes: data() is not null.
  static Region allocate(std::uint64_t bytes, std::uint64_t align, bool guard,
                         const std::string& what);
  /// The file, read-only: a copy in large pages where it is small and the system has them, else
  /// shared with every other mapping of it. Throws Error (TN_RT_FILE) unless it has `bytes`.
  static Region map_file(const std::string& path, std::uint64_t bytes, std::uint64_t align);
  /// All of it, whatever its size.
  static Region map_file(const std::string& path);

  std::string_view text() const { return {reinterpret_cast<const char*>(data_), bytes_}; }
  std::byte* data() const { return data_; }
  std::uint64_t size() const { return bytes_; }
  std::uint64_t slack() const { return slack_; }

 private:
  static Region map(const File& f, const std::string& path, std::uint64_t align);

  std::byte* base_ = nullptr;  // of the mapping
  std::size_t length_ = 0;
  std::byte* data_ = nullptr;
  std::uint64_t bytes_ = 0, slack_ = 0;
};

/// Bytes of a file. Throws Error (TN_RT_FILE).
std::string read_file(const std::string& path);

}  // namespace tenon::runtime

#endif
