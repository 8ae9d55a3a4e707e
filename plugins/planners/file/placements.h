// Placements by name, as a file gives them: a plan in JSON (what `tenon plan solve -o plan.json` or
// a compile writes) or CSV with a header. Columns of CSV, in any order: id (or name, token, value,
// buffer), offset, and pool where there is more than one; others are ignored, so is a blank line or
// one that begins with #.
#ifndef TENON_PLUGINS_PLANNERS_FILE_PLACEMENTS_H
#define TENON_PLUGINS_PLANNERS_FILE_PLACEMENTS_H

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tenon::file_planner {

struct Placement {
  std::string token, pool;  ///< pool "": not named
  std::uint64_t offset = 0;
  std::string where;  ///< for messages: "line 12" or "slots[3]"
};

struct Placements {
  std::vector<Placement> rows;
  std::vector<std::string> errors;  ///< each with its place; when there are any, rows are of no use
};

/// Reads JSON when the first character that is no blank is '{', else CSV.
Placements read_placements(std::string_view text);

}  // namespace tenon::file_planner

#endif
