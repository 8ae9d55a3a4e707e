#include "core/support/utf8.h"

namespace tenon {
namespace {

constexpr char32_t broken = 0xFFFD;

/// The code point at the start of `s` (not empty) and its length in bytes.
struct Decoded {
  char32_t c;
  std::size_t n;
};
Decoded decode(std::string_view s) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(s[i]); };
  const unsigned char b = byte(0);
  if (b < 0x80) return {b, 1};
  const std::size_t n = b >= 0xF0 && b < 0xF5   ? 4
                        : b >= 0xE0 && b < 0xF0 ? 3
                        : b >= 0xC2 && b < 0xE0 ? 2
                                                : 0;
  if (!n || s.size() < n) return {broken, 1};
  char32_t c = b & (0xFFu >> (n + 1));
  for (std::size_t i = 1; i < n; ++i) {
    if ((byte(i) & 0xC0) != 0x80) return {broken, 1};
    c = c << 6 | (byte(i) & 0x3Fu);
  }
  constexpr char32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
  if (c < least[n] || c > 0x10FFFF || (c >= 0xD800 && c < 0xE000)) return {broken, 1};
  return {c, n};
}

void encode(std::string& out, char32_t c) {
  if (c < 0x80) return void(out += static_cast<char>(c));
  const int n = c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
  out += static_cast<char>((0xF00u >> n & 0xFFu) | c >> 6 * (n - 1));
  for (int i = n - 2; i >= 0; --i) out += static_cast<char>(0x80u | (c >> 6 * i & 0x3Fu));
}

bool control(char32_t c) {
  return c < 0x20 || (c >= 0x7F && c < 0xA0) || (c >= 0x202A && c <= 0x202E) || c == broken;
}

}  // namespace

std::u32string code_points(std::string_view bytes) {
  std::u32string out;
  while (!bytes.empty()) {
    const Decoded d = decode(bytes);
    out += d.c;
    bytes.remove_prefix(d.n);
  }
  return out;
}

std::size_t code_point_column(std::string_view line, std::size_t n) {
  std::size_t count = 0;
  for (std::size_t at = 0; at < n && at < line.size(); ++count) at += decode(line.substr(at)).n;
  return count + (n > line.size() ? n - line.size() : 0);
}

std::size_t byte_offset(std::string_view line, std::size_t n) {
  std::size_t at = 0;
  for (; n && at < line.size(); --n) at += decode(line.substr(at)).n;
  return at + n;
}

std::string printable(std::u32string_view text) {
  std::string out;
  for (char32_t c : text) encode(out, c == '\t' ? U' ' : control(c) ? U'?' : c);
  return out;
}
std::string printable(std::string_view text) { return printable(code_points(text)); }

}  // namespace tenon
