// Brings a copy of a core function, as a static library of core would.
#include <cstdlib>

#include "tenon/plugin.h"

namespace tenon {
__attribute__((visibility("default"))) void bug(const char*, int, std::string_view) {
  std::abort();
}
}  // namespace tenon

static void describe(tenon::Registration&) {}
TENON_PLUGIN("captive", "1.0.0", "a captive core", describe, TN_KIND_PASS);
