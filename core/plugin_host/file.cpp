#include "core/plugin_host/file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <system_error>

namespace tenon::plugin_host {
namespace {

std::string reason(int error) { return std::generic_category().message(error); }

}  // namespace

Diag refuse(int code, std::string_view path, std::string_view why, std::string_view fix) {
  return Diag{.code = code,
              .what = fmt::format("plugin file '{}': {}", path, why),
              .fix = std::string(fix)};
}

Result<PluginFile> PluginFile::open(const std::string& given) {
  std::error_code ec;
  const std::filesystem::path real = std::filesystem::canonical(given, ec);
  if (ec)
    return refuse(1002, given, ec.message(),
                  "check the path; relative paths start at the file that names them");
  const std::string path = real.string();
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) return refuse(1002, given, reason(errno), "make the file readable for this user");
  PluginFile file(path, fd, 0);
  struct stat st {};
  if (::fstat(fd, &st) != 0) return refuse(1002, given, reason(errno), "check the file system");
  if (S_ISDIR(st.st_mode))
    return refuse(1002, given, "is a folder, not a shared object", "name the .so inside it");
  if (!S_ISREG(st.st_mode))
    return refuse(1002, given, "is not a regular file", "name the .so itself");
  if (st.st_size <= 0) return refuse(1002, given, "is empty (0 bytes)", "build or copy it again");
  if (st.st_mode & S_IWOTH)
    return refuse(1002, given,
                  fmt::format("everybody may write to it (mode {:04o})", st.st_mode & 07777),
                  fmt::format("chmod o-w '{}'", path));
  struct stat dir {};
  const std::string parent = real.parent_path().string();
  if (::stat(parent.c_str(), &dir) == 0 && (dir.st_mode & S_IWOTH) && !(dir.st_mode & S_ISVTX))
    return refuse(
        1002, given,
        fmt::format("everybody may write to its folder (mode {:04o})", dir.st_mode & 07777),
        fmt::format("chmod o-w '{}'", parent));
  file.size_ = static_cast<std::uint64_t>(st.st_size);
  return file;
}

PluginFile::PluginFile(PluginFile&& o) noexcept
    : path_(std::move(o.path_)), fd_(std::exchange(o.fd_, -1)), size_(o.size_) {}

PluginFile::~PluginFile() {
  if (fd_ >= 0) ::close(fd_);
}

bool PluginFile::read(std::uint64_t offset, void* to, std::uint64_t n) const {
  if (offset > size_ || n > size_ - offset) return false;
  auto* p = static_cast<std::byte*>(to);
  while (n != 0) {
    const ssize_t got = ::pread(fd_, p, n, static_cast<off_t>(offset));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    p += got;
    offset += static_cast<std::uint64_t>(got);
    n -= static_cast<std::uint64_t>(got);
  }
  return true;
}

Status check_folder(const std::string& dir) {
  struct stat st {};
  if (::stat(dir.c_str(), &st) == 0 && (st.st_mode & S_IWOTH))
    return Diag{.code = 1002,
                .what = fmt::format("plugin folder '{}': everybody may write to it (mode {:04o})",
                                    dir, st.st_mode & 07777),
                .fix = fmt::format("chmod o-w '{}'", dir)};
  return {};
}

}  // namespace tenon::plugin_host
