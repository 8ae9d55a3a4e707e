// A plugin file, opened once and read by offset. It is never mapped: reading a mapped file that
// somebody cuts short raises SIGBUS, a short read is a value.
#ifndef TENON_CORE_PLUGIN_HOST_FILE_H
#define TENON_CORE_PLUGIN_HOST_FILE_H

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "tenon/diag.h"

namespace tenon::plugin_host {

/// `plugin file 'PATH': WHY`, with a remedy. The one form of every message about a file.
Diag refuse(int code, std::string_view path, std::string_view why, std::string_view fix);

class PluginFile {
 public:
  /// TN1002: not there, not a regular file, empty, unreadable, or writable by everybody (itself or
  /// its folder, sticky folders excepted).
  static Result<PluginFile> open(const std::string& path);
  PluginFile(PluginFile&& o) noexcept;
  PluginFile& operator=(PluginFile&&) = delete;
  ~PluginFile();

  const std::string& path() const { return path_; }  ///< absolute, links resolved
  std::uint64_t size() const { return size_; }
  /// False when [offset, offset + n) is not in the file.
  bool read(std::uint64_t offset, void* to, std::uint64_t n) const;

 private:
  PluginFile(std::string path, int fd, std::uint64_t size)
      : path_(std::move(path)), fd_(fd), size_(size) {}
  std::string path_;
  int fd_ = -1;
  std::uint64_t size_ = 0;
};

/// TN1002 when everybody may write into the folder: anyone could add a plugin.
Status check_folder(const std::string& dir);

}  // namespace tenon::plugin_host

#endif
