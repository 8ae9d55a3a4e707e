#include "core/support/files.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstring>
#include <filesystem>

namespace tenon {
namespace fs = std::filesystem;
namespace {

std::string reason(int error) { return std::generic_category().message(error); }

Diag unreadable(const std::string& path, std::string why) {
  return {.code = 2001,
          .loc = {path},
          .what = fmt::format("cannot read '{}': {}", path, why),
          .fix = "check the path"};
}
Diag unwritable(const std::string& path, std::string why) {
  return {.code = 2002,
          .loc = {path},
          .what = fmt::format("cannot write '{}': {}", path, why),
          .fix = "check that the folder exists and may be written"};
}

/// A file descriptor that is closed on every way out.
struct Descriptor {
  int fd;
  explicit Descriptor(int f) : fd(f) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() {
    if (fd >= 0) ::close(fd);
  }
};

int write_all(int fd, std::span<const std::string_view> parts) {
  std::vector<iovec> left;
  for (const std::string_view p : parts)
    if (!p.empty()) left.push_back({const_cast<char*>(p.data()), p.size()});
  for (std::size_t at = 0; at < left.size();) {
    const std::size_t most = std::min<std::size_t>(left.size() - at, IOV_MAX);
    const ssize_t n = ::writev(fd, left.data() + at, static_cast<int>(most));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return errno;
    for (auto written = static_cast<std::size_t>(n); written > 0;) {
      const std::size_t k = std::min(written, left[at].iov_len);
      left[at].iov_base = static_cast<char*>(left[at].iov_base) + k;
      left[at].iov_len -= k;
      written -= k;
      if (left[at].iov_len == 0) ++at;
    }
  }
  return 0;
}

}  // namespace

Files::~Files() = default;

Result<std::string> DiskFiles::read(const std::string& path) const {
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (file.fd < 0) return unreadable(path, reason(errno));
  struct stat st {};
  if (::fstat(file.fd, &st) != 0) return unreadable(path, reason(errno));
  if (S_ISDIR(st.st_mode)) return unreadable(path, "it is a folder");
  if (!S_ISREG(st.st_mode)) return unreadable(path, "it is not a regular file");
  std::string bytes(static_cast<std::size_t>(st.st_size), '\0');
  std::size_t at = 0;
  while (at < bytes.size()) {
    const ssize_t n = ::read(file.fd, bytes.data() + at, bytes.size() - at);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return unreadable(path, reason(errno));
    if (n == 0) break;
    at += static_cast<std::size_t>(n);
  }
  bytes.resize(at);
  return bytes;
}

Status DiskFiles::write_parts(const std::string& given, std::span<const std::string_view> parts) {
  std::error_code failed;
  // A link stays and what it names is replaced; what is no regular file is nobody's to replace.
  std::string path = given;
  if (fs::is_symlink(given, failed)) {
    path = fs::canonical(given, failed).string();
    if (failed) return unwritable(given, "it is a link that leads nowhere");
  }
  if (const fs::file_status there = fs::status(path, failed); fs::exists(there)) {
    if (fs::is_directory(there)) return unwritable(given, "it is a folder");
    if (!fs::is_regular_file(there)) return unwritable(given, "it is not a regular file");
    if ((there.permissions() & fs::perms::owner_write) == fs::perms::none)
      return unwritable(given, "it is write-protected");
  }
  fs::create_directories(folder_of(path), failed);
  if (failed) return unwritable(path, failed.message());
  std::string temp = path + ".XXXXXX";
  const Descriptor file(::mkstemp(temp.data()));
  if (file.fd < 0) return unwritable(path, reason(errno));
  const mode_t mask = ::umask(0);
  ::umask(mask);
  int error = write_all(file.fd, parts);
  if (!error && ::fchmod(file.fd, 0666 & ~mask) != 0) error = errno;
  if (!error && ::rename(temp.c_str(), path.c_str()) != 0) error = errno;
  if (!error) return {};
  ::unlink(temp.c_str());
  return unwritable(path, reason(error));
}

std::vector<std::string> DiskFiles::list(const std::string& dir) const {
  std::vector<std::string> names;
  std::error_code failed;
  for (fs::directory_iterator it(dir, failed), end; !failed && it != end; it.increment(failed)) {
    std::error_code ignored;
    if (it->is_regular_file(ignored)) names.push_back(it->path().filename().string());
  }
  std::ranges::sort(names);
  return names;
}

bool DiskFiles::exists(const std::string& path) const {
  std::error_code failed;
  return fs::is_regular_file(path, failed);
}

std::string join_path(std::string_view dir, std::string_view path) {
  const fs::path p(path);
  return (p.is_absolute() ? p : fs::path(dir) / p).lexically_normal().string();
}

std::string folder_of(std::string_view path) {
  const std::string dir = fs::path(path).parent_path().string();
  return dir.empty() ? "." : dir;
}

}  // namespace tenon
