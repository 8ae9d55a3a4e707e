// Options of targets that say for which vectors the lowering schedules, whatever the CPU has. Two
// targets with equal answers get equal kernels, and so bitwise equal results.
#ifndef TENON_VECTOR_OPTIONS_H
#define TENON_VECTOR_OPTIONS_H

#include <bit>
#include <cstdint>
#include <string>
#include <string_view>

#include "tenon/target.h"

namespace tenon {

inline constexpr const char* vector_bytes_doc =
    "schedule for vectors of so many bytes, a power of two (4: no vectors); 0: the cpu's";
inline constexpr const char* vector_registers_doc = "schedule for so many registers; 0: the cpu's";

/// Where the pipeline file gives the value of an option.
inline Loc place_of(const OptionValues& values, std::string_view key) {
  for (const OptionValue& o : values)
    if (o.key == key) return o.loc;
  return {};
}

/// Puts the two options into the facts; 0 leaves what the cpu has. TN6106: no power of two.
inline Status apply_vector_options(std::int64_t bytes, std::int64_t registers,
                                   const OptionValues& values, TargetFacts& f) {
  const auto n = static_cast<std::uint32_t>(bytes);
  if (n != 0 && !std::has_single_bit(n))
    return Diag{
        .code = 6106,
        .loc = place_of(values, "vector_bytes"),
        .what = "vectors of " + std::to_string(n) + " bytes: the number must be a power of two",
        .fix = "write vector_bytes: " + std::to_string(std::bit_floor(n))};
  if (n != 0) f.vector_bytes = n;
  if (registers != 0) f.vector_registers = static_cast<std::uint32_t>(registers);
  return {};
}

}  // namespace tenon

#endif
