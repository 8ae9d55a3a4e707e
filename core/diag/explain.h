// The page of each code, readable offline: sdk/docs/errors/TN*.md, built into the library.
#ifndef TENON_CORE_DIAG_EXPLAIN_H
#define TENON_CORE_DIAG_EXPLAIN_H

#include <optional>
#include <span>
#include <string_view>

namespace tenon {

struct ErrorPage {
  int code;
  std::string_view text;  ///< markdown; its first line is "# TN2104: unknown option"
};

/// All pages, by code.
std::span<const ErrorPage> error_pages();

/// The page of `code`; absent when there is none.
std::optional<std::string_view> explain(int code);

/// 2104 from "TN2104", "tn2104" or "2104"; absent for anything else.
std::optional<int> parse_code(std::string_view text);

}  // namespace tenon

#endif
