// UTF-8 as messages need it: columns in code points, text that is safe to print.
#ifndef TENON_CORE_SUPPORT_UTF8_H
#define TENON_CORE_SUPPORT_UTF8_H

#include <cstddef>
#include <string>
#include <string_view>

namespace tenon {

/// One element per code point; a byte that starts no valid sequence counts as one, U+FFFD.
std::u32string code_points(std::string_view bytes);
/// Number of code points in the first `n` bytes.
std::size_t code_point_column(std::string_view line, std::size_t n);
/// Byte offset of code point `n`; past the end, the count goes on one byte per code point.
std::size_t byte_offset(std::string_view line, std::size_t n);

/// UTF-8 text in which tabs are spaces and control characters and U+FFFD are `?`.
std::string printable(std::u32string_view text);
std::string printable(std::string_view text);

}  // namespace tenon

#endif
