#include "core/support/size_text.h"

#include <fmt/format.h>

namespace tenon {

std::string size_text(std::uint64_t bytes) {
  if (bytes < 10240) return fmt::format("{} B", bytes);
  double v = static_cast<double>(bytes) / 1024;
  const char* unit = "KiB";
  for (const char* next : {"MiB", "GiB", "TiB"}) {
    if (v < 1024) break;
    v /= 1024;
    unit = next;
  }
  return fmt::format("{:.{}f} {}", v, v < 100 ? 2 : 1, unit);
}

}  // namespace tenon
