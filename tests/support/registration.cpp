#include "tests/support/registration.h"

#include <dlfcn.h>
#include <doctest/doctest.h>

#include <algorithm>

namespace tenon::test {

Registration registration_of(const std::string& file) {
  void* plugin =
      dlopen((TENON_BUILD_DIR "/lib/tenon/abi-0/" + file).c_str(), RTLD_NOW | RTLD_LOCAL);
  REQUIRE_MESSAGE(plugin != nullptr, dlerror());
  auto* entry = reinterpret_cast<void (*)(Registration*)>(dlsym(plugin, "tenon_plugin_entry"));
  REQUIRE(bool(entry));
  Registration r;
  entry(&r);
  return r;
}

PassInfo pass_of(const std::string& id) {
  const Registration r = registration_of("tenon-passes.so");
  const auto pass = std::ranges::find(r.passes, id, &PassInfo::id);
  REQUIRE_MESSAGE((pass != r.passes.end()), id);
  return *pass;
}

}  // namespace tenon::test
