// Strict reading of JSON files: unknown and repeated fields are refused, every complaint has the
// field's path, line and column. Include in .cpp files only.
#ifndef TENON_CORE_STORAGE_JSON_READER_H
#define TENON_CORE_STORAGE_JSON_READER_H

#include <initializer_list>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "tenon/diag.h"

namespace tenon {

using Json = nlohmann::json;

/// A place in the document: lives on the reader's stack, turned into text only for a message.
struct Where {
  const Where* up = nullptr;
  std::string_view key = {};  ///< of an object; or
  std::size_t index = 0;      ///< of an array, when key is empty
};

class JsonReader {
 public:
  JsonReader(std::string_view text, std::string_view file) : text_(text), file_(file) {}

  /// The document, or nothing: TN4401 with the line of the syntax error, TN4402 for a key given
  /// twice.
  std::optional<Json> parse();

  /// TN4402 at the place, at most 20.
  void fail(const Where& at, std::string what, std::string fix = {}, int code = 4402);

  /// `j` is an object with all of `required` and, beyond, only of `optional`.
  bool object(const Json& j, const Where& at, std::initializer_list<std::string_view> required,
              std::initializer_list<std::string_view> optional = {});
  bool array(const Json& j, const Where& at);
  std::optional<std::string> string(const Json& j, const Where& at);
  std::optional<bool> boolean(const Json& j, const Where& at);
  std::optional<double> number(const Json& j, const Where& at);
  /// An integer of 0..max. `unit` for the message.
  std::optional<std::uint64_t> integer(const Json& j, const Where& at,
                                       std::uint64_t max = UINT64_MAX);
  /// [a, b]
  std::optional<std::pair<std::uint64_t, std::uint64_t>> interval(const Json& j, const Where& at,
                                                                  std::uint64_t max = UINT64_MAX);

  bool ok() const { return errors_.empty(); }
  Diags take() { return std::move(errors_); }

 private:
  Loc locate(const Where& at) const;
  Loc loc_of_byte(std::size_t byte) const;

  std::string_view text_, file_;
  Diags errors_;
};

/// A string as JSON; bytes that are no UTF-8 are replaced.
inline std::string json_text(std::string_view s) {
  return Json(std::string(s)).dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace tenon

#endif
