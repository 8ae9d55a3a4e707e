// What this machine has.
#ifndef TENON_CORE_SUPPORT_MACHINE_H
#define TENON_CORE_SUPPORT_MACHINE_H

#include <cstdint>

namespace tenon {

/// Bytes of main memory.
std::uint64_t memory_of_machine();

}  // namespace tenon

#endif
