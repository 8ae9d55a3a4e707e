#include "tenon/implementation.h"

#include <dlfcn.h>
#include <fmt/format.h>

namespace tenon {

Result<void*> load_implementation(const void* anchor, std::string_view file,
                                  std::string_view symbol, std::string_view fix) {
  Dl_info info{};
  std::string path(file);
  if (dladdr(anchor, &info) && info.dli_fname) {
    const std::string self = info.dli_fname;
    if (const auto slash = self.rfind('/'); slash != self.npos)
      path = self.substr(0, slash + 1) + path;
  }
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
