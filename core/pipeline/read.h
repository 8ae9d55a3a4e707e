// Reading a YAML tree against rows, with all mistakes collected.
#ifndef TENON_CORE_PIPELINE_READ_H
#define TENON_CORE_PIPELINE_READ_H

#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/pipeline/yaml_tree.h"
#include "tenon/options.h"

namespace tenon {

class Reader {
 public:
  Diags errors;

  void fail(int code, const Loc& at, std::string what, std::string fix = "",
            std::vector<std::string> notes = {});
  bool want_map(const YamlNode& n, std::string_view what);
  bool want_list(const YamlNode& n, std::string_view what);

  /// The text of a scalar that is a name; "" after an error.
  std::string text(const YamlNode& n, std::string_view what);

  /// An id of the user's: letters, digits, `_`, `-`, `.`; starts with a letter or digit.
  bool id(const std::string& id, const Loc& at, std::string_view what);

  /// Text that must be one of `words`.
  bool one_of(const std::string& text, const Loc& at, std::string_view what,
              std::span<const std::string_view> words);

  /// The entries of a map, without those in `skip`, as option values.
  OptionValues options(const YamlNode& map, std::initializer_list<std::string_view> skip = {});

  /// The entries of a map, without those in `skip`, checked against the rows of S and read. `found`
  /// receives what was given and is right.
  template <class S>
  S read(const YamlNode& map, std::string_view owner, std::initializer_list<std::string_view> skip,
         OptionValues* found) {
    *found = checked(option_rows<S>(), options(map, skip), owner);
    return read_options<S>(*found);
  }
  /// Reports what is wrong; returns what is right.
  OptionValues checked(const std::vector<OptionRow>& rows, const OptionValues& values,
                       std::string_view owner);
};

/// The value of `key`, or null.
const OptionValue* find(const OptionValues& values, std::string_view key);

}  // namespace tenon

#endif
