// Messages as people and tools read them.
#ifndef TENON_CORE_DIAG_RENDER_H
#define TENON_CORE_DIAG_RENDER_H

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "tenon/diag.h"

namespace tenon {

class Files;

/// The lines that messages quote. Reads a file at most once; what cannot be read has no lines.
class SourceCache {
 public:
  /// `files` may be null: then only texts given to add() are known.
  explicit SourceCache(const Files* files = nullptr) : files_(files) {}
  void add(std::string file, std::string text);
  /// Line `n` (1-based) without its end; absent when there is no such line. Valid until the next
  /// add().
  std::optional<std::string_view> line(const std::string& file, int n);

 private:
  struct Source {
    std::string text;
    std::vector<std::size_t> starts;  // of each line
  };
  const Source* source(const std::string& file);
  const Files* files_;
  std::map<std::string, std::optional<Source>> sources_;
};

/// One message with the quoted line, a caret and the remedy; ends with a line break. See
/// sdk/docs/pipeline.md. Control characters and broken UTF-8 in file contents come out as `?`: a
/// file cannot speak to the terminal.
std::string render(const Diag& d, SourceCache& sources, bool color = false);
std::string render(const Diags& all, SourceCache& sources, bool color = false);

/// An array of {code, severity, file, line, col, byte_col, end_col, what, fix, notes},
/// pretty-printed.
std::string render_json(const Diags& all, SourceCache& sources);

/// By file, line and column; duplicates dropped; after `cap` errors one note says how many were
/// left out.
Diags sorted_and_capped(Diags all, std::size_t cap = 20);

/// "file:line:col", as far as known.
std::string place(const Loc& at);

}  // namespace tenon

#endif
