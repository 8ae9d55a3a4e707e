// Options are a plain struct; one field list feeds YAML, --help, docs, JSON schema and every error.
//
//   struct GreedyOptions {
//     std::int64_t tries = 1;
//     bool best_fit = false;
//     static constexpr auto fields() {
//       return std::tuple{
//           Field{"tries", &GreedyOptions::tries, "orders to try", {.min = 1, .max = 64}},
//           Field{"best_fit", &GreedyOptions::best_fit, "take the smallest gap that fits"}};
//     }
//   };
#ifndef TENON_OPTIONS_H
#define TENON_OPTIONS_H

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "tenon/diag.h"

namespace tenon {

struct Range {
  std::int64_t min = INT64_MIN, max = INT64_MAX;  ///< inclusive; for integers
};

template <class S, class T>
struct Field {
  const char* key;
  T S::*at;
  const char* doc;
  Range range = {};
};
template <class S, class T>
Field(const char*, T S::*, const char*) -> Field<S, T>;
template <class S, class T>
Field(const char*, T S::*, const char*, Range) -> Field<S, T>;

/// One option as people and tools see it. `type` is one of: bool, int, float, string, list<string>,
/// bytes.
struct OptionRow {
  std::string key, type, dflt, doc;
  Range range = {};
};

/// An option as the pipeline file gives it: the scalar's text (or a list's items), unquoted, with
/// its place.
struct OptionValue {
  std::string key;
  std::vector<std::string> items;  ///< exactly one unless the type is a list
  Loc key_loc, loc;                ///< of the key and of the value
  bool quoted = false;  ///< the scalar was written in quotes: it is a string, never a number
  bool is_list = false;
};
using OptionValues = std::vector<OptionValue>;

/// Bytes, written `64`, `64KiB`, `2MiB`, `1GiB` in YAML. A type of its own so that the unit shows
/// in --help.
struct Bytes {
  std::uint64_t n = 0;
  bool operator==(const Bytes&) const = default;
};

// Scalars are strict: `true|false`, decimal or 0x integers (no leading zero, no `_`), sizes with
// KiB/MiB/GiB.
bool read_scalar(std::string_view s, bool& v);
bool read_scalar(std::string_view s, std::int64_t& v);
bool read_scalar(std::string_view s, std::uint64_t& v);
bool read_scalar(std::string_view s, double& v);
bool read_scalar(std::string_view s, Bytes& v);
std::string write_scalar(bool v);
std::string write_scalar(std::int64_t v);
std::string write_scalar(double v);
std::string write_scalar(Bytes v);

/// Checks `values` against `rows`: unknown key (with did-you-mean), wrong type, out of range, given
/// twice. `owner` is how messages call the thing, e.g. "pass 'tenon.fuse-ops'".
Status check_options(const std::vector<OptionRow>& rows, const OptionValues& values,
                     std::string_view owner);

namespace detail {
template <class T>
struct OptionType;
template <>
struct OptionType<bool> {
  static constexpr const char* name = "bool";
};
template <>
struct OptionType<std::int64_t> {
  static constexpr const char* name = "int";
};
template <>
struct OptionType<double> {
  static constexpr const char* name = "float";
};
template <>
struct OptionType<std::string> {
  static constexpr const char* name = "string";
};
template <>
struct OptionType<Bytes> {
  static constexpr const char* name = "bytes";
};
template <>
struct OptionType<std::vector<std::string>> {
  static constexpr const char* name = "list<string>";
};
inline std::string dflt(const std::string& v) { return v; }
std::string dflt(const std::vector<std::string>& v);
template <class T>
std::string dflt(const T& v) {
  return write_scalar(v);
}
inline bool put(const OptionValue& o, std::string& v) {
  v = o.items.at(0);
  return true;
}
inline bool put(const OptionValue& o, std::vector<std::string>& v) {
  v = o.items;
  return true;
}
template <class T>
bool put(const OptionValue& o, T& v) {
  return read_scalar(o.items.at(0), v);
}
}  // namespace detail

/// The rows of an options struct; defaults are those of a default-made S.
template <class S>
std::vector<OptionRow> option_rows() {
  const S s{};
  return std::apply(
      [&](auto... f) {
        return std::vector<OptionRow>{
            OptionRow{f.key, detail::OptionType<std::decay_t<decltype(s.*(f.at))>>::name,
                      detail::dflt(s.*(f.at)), f.doc, f.range}...};
      },
      S::fields());
}

/// An S from values that check_options() has accepted.
template <class S>
S read_options(const OptionValues& values) {
  S s{};
  for (const OptionValue& o : values)
    std::apply(
        [&](auto... f) { ((o.key == f.key ? void(detail::put(o, s.*(f.at))) : void()), ...); },
        S::fields());
  return s;
}

/// The nearest of `known` to `word` by edit distance, or "" when none is near.
std::string did_you_mean(std::string_view word, const std::vector<std::string>& known);

}  // namespace tenon

#endif
