// Numbers in the text form. Reals print with the fewest digits that read back as the same bits, and
// always with a point, an exponent, or as `inf` or `nan`; NaNs other than the usual one print their
// bits: `nan(0x7fc00001)`.
#ifndef TENON_CORE_TEXT_NUMBER_H
#define TENON_CORE_TEXT_NUMBER_H

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "tenon/type.h"

namespace tenon::text {

std::string real_text(double v);

/// One element of `t`, given its bits (sub-byte ones in the low bits).
std::string element_text(DType t, std::uint64_t bits);
/// Digits with an optional sign, point and exponent (or `inf`, `nan`) as an element of `t`; nullopt
/// when it does not fit.
std::optional<std::uint64_t> element_of(DType t, std::string_view number);

std::optional<double> real_of(std::string_view number);
std::optional<std::int64_t> integer_of(std::string_view number);
std::optional<std::uint64_t> unsigned_of(std::string_view number);

/// `0x` and one to sixteen hex digits.
std::optional<std::uint64_t> hex_of(std::string_view s);

/// Bits of the usual NaN of a float type.
std::uint64_t usual_nan(DType t);

}  // namespace tenon::text

#endif
