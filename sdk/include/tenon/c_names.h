// Names for generated C: identifiers made from any text, each given out once.
//
//   CNames names;
//   names.take("conv 1");   // conv_1
//   names.take("conv-1");   // conv_1_2
//   names.take("int");      // int_
//
// The answers depend on the order of the questions and on nothing else.
#ifndef TENON_C_NAMES_H
#define TENON_C_NAMES_H

#include <algorithm>
#include <array>
#include <cstddef>
#include <set>
#include <string>
#include <string_view>

namespace tenon {

/// A C identifier of 1 to `most` characters that reads like `text`: other characters become `_`,
/// several `_` one; no leading or trailing `_`, so that it is neither reserved nor a keyword once
/// something is put before it.
inline std::string c_name(std::string_view text, std::size_t most = 48) {
  std::string out;
  for (const char c : text) {
    const bool digit = c >= '0' && c <= '9',
               letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    if (digit && out.empty()) out = "n";
    if (digit || letter) out += c;
    if (!digit && !letter && !out.empty() && out.back() != '_') out += '_';
    if (out.size() == most) break;
  }
  while (!out.empty() && out.back() == '_') out.pop_back();
  return out.empty() ? "x" : out;
}

/// The keywords of C11 and C++20 that c_name() can give, and the macros of <stdbool.h>.
inline bool is_c_keyword(std::string_view name) {
  static constexpr std::array words = {"alignas",
                                       "alignof",
                                       "and",
                                       "and_eq",
                                       "asm",
                                       "auto",
                                       "bitand",
                                       "bitor",
                                       "bool",
                                       "break",
                                       "case",
                                       "catch",
                                       "char",
                                       "class",
                                       "compl",
                                       "concept",
                                       "const",
                                       "const_cast",
                                       "consteval",
                                       "constexpr",
                                       "constinit",
                                       "continue",
                                       "decltype",
                                       "default",
                                       "delete",
                                       "do",
                                       "double",
                                       "dynamic_cast",
                                       "else",
                                       "enum",
                                       "explicit",
                                       "export",
                                       "extern",
                                       "false",
                                       "float",
                                       "for",
                                       "friend",
                                       "goto",
                                       "if",
                                       "inline",
                                       "int",
                                       "long",
                                       "mutable",
                                       "namespace",
                                       "new",
                                       "noexcept",
                                       "not",
                                       "not_eq",
                                       "nullptr",
                                       "operator",
                                       "or",
                                       "or_eq",
                                       "private",
                                       "protected",
                                       "public",
                                       "register",
                                       "reinterpret_cast",
                                       "requires",
                                       "restrict",
                                       "return",
                                       "short",
                                       "signed",
                                       "sizeof",
                                       "static",
                                       "static_assert",
                                       "static_cast",
                                       "struct",
                                       "switch",
                                       "template",
                                       "this",
                                       "thread_local",
                                       "throw",
                                       "true",
                                       "try",
                                       "typedef",
                                       "typeid",
                                       "typename",
                                       "typeof",
                                       "union",
                                       "unsigned",
                                       "using",
                                       "virtual",
                                       "void",
                                       "volatile",
                                       "wchar_t",
                                       "while",
                                       "xor",
                                       "xor_eq"};
  return std::binary_search(words.begin(), words.end(), name);
}

/// Can a function be called this?
inline bool is_c_identifier(std::string_view name) {
  const auto part = [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
  };
  return !name.empty() && !(name[0] >= '0' && name[0] <= '9') &&
         std::all_of(name.begin(), name.end(), part) && !is_c_keyword(name);
}

/// The names of one scope.
class CNames {
 public:
  /// A free name that reads like `text`; a keyword gets a `_`, the second of a kind `_2`.
  std::string take(std::string_view text, std::size_t most = 48) {
    std::string base = c_name(text, most);
    if (is_c_keyword(base)) base += '_';
    std::string name = base;
    for (std::size_t n = 2; !taken_.insert(name).second; ++n) name = base + '_' + std::to_string(n);
    return name;
  }
  /// Marks a name as given out.
  void reserve(std::string name) { taken_.insert(std::move(name)); }

 private:
  std::set<std::string, std::less<>> taken_;
};

}  // namespace tenon

#endif
