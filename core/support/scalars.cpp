// Strict scalars: one spelling per value, so that a file never means something else than it says.
#include "core/support/scalars.h"

#include <array>
#include <charconv>
#include <cmath>
#include <limits>

#include "tenon/options.h"

namespace tenon {
namespace {

bool digit(char c) { return c >= '0' && c <= '9'; }
std::string lower(std::string_view s) {
  std::string out(s);
  for (char& c : out)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return out;
}

/// `0`, a decimal without leading zero, or 0x and hexadecimal digits. The whole of `s`.
bool read_unsigned(std::string_view s, std::uint64_t& v) {
  int base = 10;
  if (s.starts_with("0x")) {
    s.remove_prefix(2);
    base = 16;
  } else if (s.size() > 1 && s[0] == '0') {
    return false;
  }
  const auto [end, failed] = std::from_chars(s.data(), s.data() + s.size(), v, base);
  return failed == std::errc{} && !s.empty() && end == s.data() + s.size();
}

struct Unit {
  std::string_view name;
  std::uint64_t bytes;
};
constexpr std::array<Unit, 3> units{
    {{"GiB", 1ull << 30}, {"MiB", 1ull << 20}, {"KiB", 1ull << 10}}};

/// -?(0|[1-9][0-9]*)(.[0-9]+)?([eE][+-]?[0-9]+)? : the grammar of JSON.
bool json_number(std::string_view s) {
  std::size_t i = 0;
  const auto digits = [&] {
    const std::size_t from = i;
    while (i < s.size() && digit(s[i])) ++i;
    return i - from;
  };
  if (s.starts_with('-')) ++i;
  const std::size_t first = i, n = digits();
  if (n == 0 || (n > 1 && s[first] == '0')) return false;
  if (i < s.size() && s[i] == '.' && (++i, digits() == 0)) return false;
  if (i < s.size() && (s[i] == 'e' || s[i] == 'E')) {
    ++i;
    if (i < s.size() && (s[i] == '+' || s[i] == '-')) ++i;
    if (digits() == 0) return false;
  }
  return i == s.size();
}

std::string without_separators(std::string_view s) {
  std::string out;
  for (char c : s)
    if (c != '_' && c != ',' && c != ' ' && c != '\'') out += c;
  if (out.starts_with('+')) out.erase(0, 1);
  return out;
}

/// Leading zeros off, a point completed on both sides.
std::string plain_number(std::string_view text) {
  std::string s = lower(without_separators(text));
  const std::string sign = s.starts_with('-') ? "-" : "";
  s.erase(0, sign.size());
  if (s.starts_with("0x")) return sign + s;
  if (s.starts_with('.')) s.insert(0, "0");
  if (s.ends_with('.')) s += "0";
  const std::size_t first = s.find_first_not_of('0');
  if (first != s.npos && first > 0) s.erase(0, digit(s[first]) ? first : first - 1);
  if (first == s.npos && !s.empty()) s = "0";
  return sign + s;
}

std::string suggest_int(std::string_view text) {
  const std::string s = plain_number(text);
  std::int64_t i = 0;
  if (read_scalar(s, i)) return s;
  double d = 0;
  if (read_scalar(s, d) && std::trunc(d) == d && std::abs(d) < 9e15)
    return write_scalar(static_cast<std::int64_t>(d));
  return "";
}

std::string suggest_bytes(std::string_view text) {
  const std::string s = lower(without_separators(text));
  std::size_t end = 0;
  while (end < s.size() && (digit(s[end]) || s[end] == '.')) ++end;
  const std::string number = plain_number(s.substr(0, end)), unit = s.substr(end);
  std::uint64_t scale = 0;
  if (unit.empty() || unit == "b" || unit == "byte" || unit == "bytes") scale = 1;
  for (const Unit& u : units) {
    const std::string full = lower(u.name);  // kib; also kb and k
    if (unit == full || unit == full.substr(0, 1) || unit == std::string{full[0], 'b'})
      scale = u.bytes;
  }
  double d = 0;
  if (!scale || !read_scalar(number, d) || d < 0) return "";
  const double n = d * static_cast<double>(scale);
  if (std::trunc(n) != n || n > 9e15) return "";
  return write_scalar(Bytes{static_cast<std::uint64_t>(n)});
}

std::string suggest_bool(std::string_view text) {
  const std::string s = lower(text);
  for (std::string_view yes : {"true", "yes", "on", "y", "1"})
    if (s == yes) return "true";
  for (std::string_view no : {"false", "no", "off", "n", "0"})
    if (s == no) return "false";
  return "";
}

}  // namespace

bool read_scalar(std::string_view s, bool& v) {
  v = s == "true";
  return v || s == "false";
}

bool read_scalar(std::string_view s, std::uint64_t& v) { return read_unsigned(s, v); }

bool read_scalar(std::string_view s, std::int64_t& v) {
  const bool negative = s.starts_with('-');
  std::uint64_t u = 0;
  if (!read_unsigned(s.substr(negative), u)) return false;
  constexpr auto top = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
  if (u > top + negative) return false;
  v = static_cast<std::int64_t>(negative ? 0 - u : u);
  return true;
}

bool read_scalar(std::string_view s, double& v) {
  if (!json_number(s)) return false;
  const auto [end, failed] = std::from_chars(s.data(), s.data() + s.size(), v);
  return failed == std::errc{} && end == s.data() + s.size() && std::isfinite(v);
}

bool read_scalar(std::string_view s, Bytes& v) {
  std::uint64_t scale = 1, n = 0;
  for (const Unit& u : units)
    if (s.ends_with(u.name)) {
      scale = u.bytes;
      s.remove_suffix(u.name.size());
      break;
    }
  if (!read_unsigned(s, n) || n > std::numeric_limits<std::uint64_t>::max() / scale) return false;
  v.n = n * scale;
  return true;
}

std::string write_scalar(bool v) { return v ? "true" : "false"; }
std::string write_scalar(std::int64_t v) { return std::to_string(v); }
std::string write_scalar(double v) {
  std::array<char, 32> buffer{};
  const auto end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), v).ptr;
  return {buffer.data(), end};
}
std::string write_scalar(Bytes v) {
  for (const Unit& u : units)
    if (v.n && v.n % u.bytes == 0) return std::to_string(v.n / u.bytes) + std::string(u.name);
  return std::to_string(v.n);
}

std::string suggested_spelling(std::string_view type, std::string_view text) {
  if (text.size() > 64) return "";
  if (type == "bool") return suggest_bool(text);
  if (type == "int") return suggest_int(text);
  if (type == "bytes") return suggest_bytes(text);
  double d = 0;
  if (std::string s = plain_number(text); type == "float" && read_scalar(s, d)) return s;
  return "";
}

bool doubtful_number(std::string_view text) {
  std::int64_t i = 0;
  double d = 0;
  if (text.empty() || text.size() > 64) return false;
  if (read_scalar(text, i)) return write_scalar(i) != text;
  if (read_scalar(text, d)) return write_scalar(d) != text;
  for (char c : text)
    if (!digit(c) && c != '_' && c != '+' && c != '-' && c != '.') return false;
  const bool odd = text[0] == '0' || text[0] == '+' || text.find('_') != text.npos;
  return odd && text.find_first_of("0123456789") != text.npos && !suggest_int(text).empty();
}

std::vector<std::string> choices_of(std::string_view type) {
  std::vector<std::string> out;
  if (type.find('|') == type.npos) return out;
  for (std::size_t bar; (bar = type.find('|')) != type.npos; type.remove_prefix(bar + 1))
    out.emplace_back(type.substr(0, bar));
  out.emplace_back(type);
  return out;
}

}  // namespace tenon
