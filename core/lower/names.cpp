#include "core/lower/names.h"

#include "core/support/sha256.h"
#include "tenon/ir.h"

namespace tenon {

std::string c_part(std::string_view text, std::size_t max) {
  std::string s;
  for (char c : text) {
    const bool ok = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    if (ok)
      s += c;
    else if (!s.empty() && s.back() != '_')
      s += '_';
    if (s.size() >= max) break;
  }
  while (!s.empty() && s.back() == '_') s.pop_back();
  return s.empty() ? "x" : s;
}

std::string content_symbol(std::string_view model, std::string_view hint,
                           std::string_view content) {
  // The leading word keeps keywords and digits away from the front.
  return "tn_" + c_part(model, 24) + "_" + c_part(hint, 40) + "_" +
         sha256_hex(sha256(content)).substr(0, 16);
}

}  // namespace tenon
