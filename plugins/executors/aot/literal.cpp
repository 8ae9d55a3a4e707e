#include "literal.h"

namespace tenon::aot_executor {

std::string literal(const std::vector<std::byte>& bytes) {
  constexpr std::size_t per_line = 64;
  std::string out;
  out.reserve(bytes.size() * 3 + bytes.size() / 16 + 8);
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    if (i % per_line == 0) out += i ? "\"\n    \"" : "\"";
    const auto c = static_cast<unsigned char>(bytes[i]);
    if (c >= 32 && c < 127 && c != '"' && c != '\\' && c != '?') {  // ? begins trigraphs
      out += static_cast<char>(c);
      continue;
    }
    // An octal escape takes up to three digits: fewer will do when no digit follows.
    const bool last = i + 1 == bytes.size() || (i + 1) % per_line == 0;
    const auto next = last ? 0 : static_cast<unsigned char>(bytes[i + 1]);
    const bool whole = (next >= '0' && next <= '9');
    out += '\\';
    if (whole || c >= 64) out += static_cast<char>('0' + (c >> 6));
    if (whole || c >= 8) out += static_cast<char>('0' + ((c >> 3) & 7));
    out += static_cast<char>('0' + (c & 7));
  }
  return out.empty() ? "\"\"" : out + "\"";
}

}  // namespace tenon::aot_executor
