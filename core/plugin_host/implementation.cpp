#include "tenon/implementation.h"

#include <dlfcn.h>
#include <fmt/format.h>
#include <sys/stat.h>

namespace tenon {

namespace {

/// Of the shared object that contains `anchor`; "" when the loader does not know.
std::string path_of(const void* anchor) {
  Dl_info info{};
  return dladdr(anchor, &info) && info.dli_fname ? info.dli_fname : "";
}

std::string beside(const std::string& self, std::string_view file) {
  const auto slash = self.rfind('/');
  return slash == self.npos ? std::string(file) : self.substr(0, slash + 1) + std::string(file);
}

}  // namespace

std::string implementation_identity(const void* anchor, std::string_view file) {
  const std::string self = path_of(anchor);
  std::string out;
  for (const std::string& path : {self, beside(self, file)}) {
    struct stat s {};
    if (stat(path.c_str(), &s) == 0)
      out += fmt::format("{} {}.{:09} ", s.st_size, s.st_mtim.tv_sec, s.st_mtim.tv_nsec);
  }
  return out;
}

Result<void*> load_implementation(const void* anchor, std::string_view file,
                                  std::string_view symbol, std::string_view fix) {
  const std::string path = beside(path_of(anchor), file);
  void* handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  void* entry = handle ? dlsym(handle, std::string(symbol).c_str()) : nullptr;
  if (entry) return entry;
  const char* why = dlerror();
  return Diag{
      .code = 1013,
      .loc = {path, 0, 0},
      .what = fmt::format("cannot load this half of a plugin: {}", why ? why : "symbol missing"),
      .fix = std::string(fix)};
}

}  // namespace tenon
