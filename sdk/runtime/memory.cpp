#include "memory.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "error.h"
#include "tenon/c/runtime.h"

namespace tenon::runtime {
namespace {

constexpr std::uint64_t page = 4096, large_page = 2 << 20;
/// From here on, clearing a large page costs less than the faults of small ones.
constexpr std::uint64_t worth_large = 512 << 10;
/// Files up to this are read into large pages: as a mapping, each page costs a fault in the first
/// run, and a place in the TLB in every other. Beyond, a copy of its own in each process is more
/// than that is worth, and much of a large file may never be touched.
constexpr std::uint64_t worth_copy = 32 << 20;
/// Pools up to this are touched when they are made: in one call that costs a tenth of what touching
/// page by page costs, and a run touches them all.
constexpr std::uint64_t soon_touched = 64 << 20;
constexpr std::uint64_t most = std::uint64_t{1}
                               << 47;  // more cannot be mapped, and sums below cannot overflow

std::uint64_t round_up(std::uint64_t n, std::uint64_t to) { return (n + to - 1) / to * to; }

bool large_pages() {
  static const bool there = [] {
    const int fd = open("/sys/kernel/mm/transparent_hugepage/enabled", O_RDONLY | O_CLOEXEC);
    if (fd < 0) return false;
    char text[64];
    const ssize_t n = read(fd, text, sizeof text);
    close(fd);
    return n > 0 && std::string_view(text, static_cast<std::size_t>(n)).find("[never]") ==
                        std::string_view::npos;
  }();
  return there;
}

[[noreturn]] void no_memory(std::uint64_t bytes, const std::string& what) {
  throw Error(TN_RT_MEMORY, what + ": no memory for " + std::to_string(bytes) + " bytes");
}

}  // namespace

/// A file that is open for reading, with its size.
struct File {
  explicit File(const std::string& path) : fd(open(path.c_str(), O_RDONLY | O_CLOEXEC)) {
    struct stat s {};
    if (fd < 0 || fstat(fd, &s) != 0) throw Error(TN_RT_FILE, path + ": " + std::strerror(errno));
    if (!S_ISREG(s.st_mode)) throw Error(TN_RT_FILE, path + ": is not a file");
    size = static_cast<std::uint64_t>(s.st_size);
  }
  ~File() {
    if (fd >= 0) close(fd);
  }
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  int fd;
  std::uint64_t size = 0;
};

namespace {

/// Fills `to` from the file.
void read_all(const File& f, const std::string& path, char* to, std::uint64_t bytes) {
  for (std::uint64_t at = 0; at < bytes;) {
    const ssize_t n = read(f.fd, to + at, bytes - at);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0)
      throw Error(TN_RT_FILE,
                  path + ": cannot be read: " + (n < 0 ? std::strerror(errno) : "it shrank"));
    at += static_cast<std::uint64_t>(n);
  }
}

/// Hints; what the system does not know of changes nothing.
void make_quick(std::byte* at, std::uint64_t bytes) {
  if (bytes >= worth_large) madvise(at, round_up(bytes, large_page), MADV_HUGEPAGE);
#ifdef MADV_POPULATE_WRITE
  if (bytes <= soon_touched)
    madvise(at - reinterpret_cast<std::uintptr_t>(at) % page, round_up(bytes, page),
            MADV_POPULATE_WRITE);
#endif
}

}  // namespace

Region::Region(Region&& o) noexcept { *this = std::move(o); }
Region& Region::operator=(Region&& o) noexcept {
  std::swap(base_, o.base_);
  std::swap(length_, o.length_);
  std::swap(data_, o.data_);
  std::swap(bytes_, o.bytes_);
  std::swap(slack_, o.slack_);
  return *this;
}
Region::~Region() {
  if (base_) munmap(base_, length_);
}

Region Region::allocate(std::uint64_t bytes, std::uint64_t align, bool guard,
                        const std::string& what) {
  if (bytes > most || align > most) no_memory(bytes, what);
  const bool large = !guard && bytes >= worth_large;
  if (large) align = std::max(align, large_page);
  const std::uint64_t inner =
      round_up(std::max<std::uint64_t>(bytes, 1), large ? large_page : page) +
      (align > page ? align : 0);
  Region r;
  r.length_ = inner + (guard ? page : 0);
  void* p = mmap(nullptr, r.length_, PROT_READ | PROT_WRITE,
                 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (p == MAP_FAILED) no_memory(bytes, what);
  r.base_ = static_cast<std::byte*>(p);
  const auto start = reinterpret_cast<std::uintptr_t>(p), end = start + inner;
  if (guard && mprotect(r.base_ + inner, page, PROT_NONE) != 0) no_memory(bytes, what);
  const std::uintptr_t at = guard ? (end - bytes) / align * align : round_up(start, align);
  r.data_ = r.base_ + (at - start);
  r.bytes_ = bytes;
  r.slack_ = guard ? end - at - bytes : 0;
  if (!guard) make_quick(r.data_, bytes);
  return r;
}

Region Region::map_file(const std::string& path, std::uint64_t bytes, std::uint64_t align) {
  const File f(path);
  if (f.size != bytes)
    throw Error(TN_RT_FILE, path + ": has " + std::to_string(f.size) + " bytes instead of " +
                                std::to_string(bytes));
  return map(f, path, align);
}

Region Region::map_file(const std::string& path) { return map(File(path), path, 1); }

Region Region::map(const File& f, const std::string& path, std::uint64_t align) {
  const std::uint64_t bytes = f.size;
  if (bytes == 0) return allocate(0, align, false, path);
  if (bytes > most || align > most) no_memory(bytes, path);
  if (bytes >= worth_large && bytes <= worth_copy && large_pages()) {
    Region r = allocate(bytes, align, false, path);
    read_all(f, path, reinterpret_cast<char*>(r.data_), bytes);
    mprotect(r.data_, round_up(bytes, large_page), PROT_READ);  // whole: parts would split pages
    return r;
  }
  // Reserve enough to align by hand where a page is not enough, then map the file over it.
  Region r;
  r.length_ = round_up(bytes, page) + (align > page ? align : 0);
  void* p = mmap(nullptr, r.length_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (p == MAP_FAILED) no_memory(bytes, path);
  r.base_ = static_cast<std::byte*>(p);
  const auto start = reinterpret_cast<std::uintptr_t>(p);
  r.data_ = r.base_ + (round_up(start, align) - start);
  r.bytes_ = bytes;
  if (mmap(r.data_, bytes, PROT_READ, MAP_PRIVATE | MAP_FIXED | MAP_POPULATE, f.fd, 0) ==
      MAP_FAILED)
    throw Error(TN_RT_FILE, path + ": cannot be mapped: " + std::strerror(errno));
  return r;
}

std::string read_file(const std::string& path) {
  const File f(path);
  std::string out(f.size, '\0');
  read_all(f, path, out.data(), out.size());
  return out;
}

}  // namespace tenon::runtime
