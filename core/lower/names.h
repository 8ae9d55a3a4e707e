// Names in the artefact: deterministic, C identifiers, bounded, free of history.
#ifndef TENON_CORE_LOWER_NAMES_H
#define TENON_CORE_LOWER_NAMES_H

#include <cstddef>
#include <string>
#include <string_view>

namespace tenon {

/// `text` as part of a C identifier: other bytes become `_`, runs of `_` become one, at most `max`
/// characters, never empty.
std::string c_part(std::string_view text, std::size_t max);

/// <model>_<hint>_<first 16 hex digits of sha256(content)>; equal content gives equal symbols, in
/// any order of making.
std::string content_symbol(std::string_view model, std::string_view hint, std::string_view content);

}  // namespace tenon

#endif
