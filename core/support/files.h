// The world enters through one door: what reads or writes a file takes a Files. Tests use the one
// in memory (tests/support/memory_files.h).
#ifndef TENON_CORE_SUPPORT_FILES_H
#define TENON_CORE_SUPPORT_FILES_H

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tenon/diag.h"

namespace tenon {

class Files {
 public:
  virtual ~Files();
  /// The bytes of a regular file. TN2001 when there is none or it cannot be read.
  virtual Result<std::string> read(const std::string& path) const = 0;
  /// Replaces the file as a whole: a reader sees the old bytes or the new ones, never a part. Makes
  /// missing folders. TN2002 when that fails; then nothing has changed.
  virtual Status write(const std::string& path, std::string_view bytes) = 0;
  /// Names (not paths) of the regular files in a folder, sorted. A missing folder has none.
  virtual std::vector<std::string> list(const std::string& dir) const = 0;
  virtual bool exists(const std::string& path) const = 0;
};

class DiskFiles final : public Files {
 public:
  Result<std::string> read(const std::string& path) const override;
  Status write(const std::string& path, std::string_view bytes) override {
    return write_parts(path, {&bytes, 1});
  }
  /// The same for bytes that stand in several places.
  Status write_parts(const std::string& path, std::span<const std::string_view> parts);
  std::vector<std::string> list(const std::string& dir) const override;
  bool exists(const std::string& path) const override;
};

// Paths as text; none of these touches the disk.
/// `path` when absolute, else `dir`/`path`; `.` and `..` resolved.
std::string join_path(std::string_view dir, std::string_view path);
/// The folder part, "." when there is none.
std::string folder_of(std::string_view path);

}  // namespace tenon

#endif
