// Sizes for people.
#ifndef TENON_CORE_SUPPORT_SIZE_TEXT_H
#define TENON_CORE_SUPPORT_SIZE_TEXT_H

#include <cstdint>
#include <string>

namespace tenon {

/// 1234567 -> "1.18 MiB"; below 10 KiB in bytes.
std::string size_text(std::uint64_t bytes);

}  // namespace tenon

#endif
