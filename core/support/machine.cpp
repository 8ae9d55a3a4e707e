#include "core/support/machine.h"

#include <unistd.h>

namespace tenon {

std::uint64_t memory_of_machine() {
  return static_cast<std::uint64_t>(sysconf(_SC_PHYS_PAGES)) *
         static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
}

}  // namespace tenon
