// How a scalar should have been written. The readers themselves are in tenon/options.h.
#ifndef TENON_CORE_SUPPORT_SCALARS_H
#define TENON_CORE_SUPPORT_SCALARS_H

#include <string>
#include <string_view>
#include <vector>

namespace tenon {

/// The strict spelling that `text` most likely means, or "". `type` as in OptionRow. The result
/// always reads.
std::string suggested_spelling(std::string_view type, std::string_view text);

/// True when `text` looks like a number but is not its one canonical spelling: `010`, `1_000`,
/// `+5`, `1e3`. Such text is no string unless it stands in quotes.
bool doubtful_number(std::string_view text);

/// "a|b|c" -> a, b, c: the type of an option that takes one of some words. Empty for other types.
std::vector<std::string> choices_of(std::string_view type);

}  // namespace tenon

#endif
