// Codes of the reader; pages in sdk/docs/errors.
#ifndef TENON_CORE_TEXT_CODES_H
#define TENON_CORE_TEXT_CODES_H

#include <cstddef>

namespace tenon::text {

inline constexpr std::size_t max_errors = 20;

namespace code {
inline constexpr int syntax = 3050;   // what stands here is not what must follow
inline constexpr int unknown = 3051;  // a name or number that nothing has
inline constexpr int number = 3052;   // a number out of range
inline constexpr int nesting = 3053;  // nests deeper than the reader goes
inline constexpr int version = 3054;  // text of a newer major version
inline constexpr int blob = 3055;     // bytes of a large constant are not there, or others
inline constexpr int twice = 3056;    // something is defined twice
}  // namespace code

}  // namespace tenon::text

#endif
