#include "core/diag/explain.h"

#include <algorithm>
#include <charconv>

namespace tenon {

std::optional<std::string_view> explain(int code) {
  const auto pages = error_pages();
  const auto it = std::ranges::lower_bound(pages, code, {}, &ErrorPage::code);
  if (it == pages.end() || it->code != code) return std::nullopt;
  return it->text;
}

std::optional<int> parse_code(std::string_view text) {
  if (text.size() == 6 && (text[0] == 'T' || text[0] == 't') && (text[1] == 'N' || text[1] == 'n'))
    text.remove_prefix(2);
  int code = 0;
  const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), code);
  if (text.size() != 4 || failed != std::errc{} || end != text.data() + text.size() || code < 1000)
    return std::nullopt;
  return code;
}

}  // namespace tenon
