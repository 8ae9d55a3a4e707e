#include "core/storage/csv.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>

#include "core/support/utf8.h"

namespace tenon {
namespace {

constexpr std::size_t kMaxErrors = 20;

// Spellings seen in such files -> ours.
constexpr std::pair<std::string_view, std::string_view> kColumns[] = {
    {"id", "id"},       {"buffer", "id"},           {"buffer_id", "id"},    {"lower", "lower"},
    {"start", "lower"}, {"begin", "lower"},         {"upper", "upper"},     {"end", "end"},
    {"size", "size"},   {"alignment", "alignment"}, {"align", "alignment"}, {"hint", "hint"},
    {"gaps", "gaps"},   {"pool", "pool"},           {"offset", "offset"}};

std::string_view trimmed(std::string_view s) {
  const auto begin = s.find_first_not_of(" \t\r");
  return begin == s.npos ? std::string_view()
                         : s.substr(begin, s.find_last_not_of(" \t\r") - begin + 1);
}

std::vector<std::string> cells_of(std::string_view line) {
  std::vector<std::string> out;
  while (true) {
    const std::size_t comma = line.find(',');
    out.emplace_back(trimmed(line.substr(0, comma)));
    if (comma == line.npos) return out;
    line.remove_prefix(comma + 1);
  }
}

std::string_view canonical_name(std::string_view name) {
  for (const auto& [spelling, ours] : kColumns)
    if (spelling == name) return ours;
  return {};
}

Diag check_header(const std::vector<std::string>& header, const Loc& at) {
  const auto bad = [&](std::string what) {
    return Diag{
        .code = 4411,
        .loc = at,
        .what = std::move(what),
        .fix =
            "columns: id, lower, upper or end, size; optional alignment, hint, gaps, pool, offset"};
  };
  std::vector<std::string_view> seen;
  for (const std::string& h : header) {
    const std::string_view name = canonical_name(h);
    if (name.empty()) return bad(fmt::format("column '{}' is not known", h));
    if (std::find(seen.begin(), seen.end(), name) != seen.end())
      return bad(fmt::format("two columns mean '{}'", name));
    seen.push_back(name);
  }
  const auto has = [&](std::string_view n) {
    return std::find(seen.begin(), seen.end(), n) != seen.end();
  };
  for (const std::string_view need : {"id", "lower", "size"})
    if (!has(need)) return bad(fmt::format("column '{}' is missing", need));
  if (has("upper") == has("end"))
    return bad("either 'upper' (exclusive) or 'end' (inclusive) must be there");
  return {};
}

}  // namespace

int CsvTable::column(std::string_view name) const {
  for (std::size_t k = 0; k < header.size(); ++k)
    if (canonical_name(header[k]) == name) return static_cast<int>(k);
  return -1;
}

Result<CsvTable> parse_csv(std::string_view text, std::string_view file) {
  CsvTable t;
  Diags errors;
  std::size_t id = 0;  // column
  std::unordered_map<std::string, int> seen;
  if (text.starts_with("\xef\xbb\xbf")) text.remove_prefix(3);
  for (int line = 1; !text.empty(); ++line) {
    const std::size_t eol = text.find('\n');
    const std::string_view here = trimmed(text.substr(0, eol));
    text.remove_prefix(eol == text.npos ? text.size() : eol + 1);
    if (here.empty() || here[0] == '#') continue;
    const Loc at{std::string(file), line, 1, 0};
    std::vector<std::string> cells = cells_of(here);
    if (t.header.empty()) {
      if (Diag d = check_header(cells, at); d.code != 0) return d;
      t.header = std::move(cells);
      id = static_cast<std::size_t>(t.column("id"));
    } else if (cells.size() != t.header.size()) {
      if (errors.size() < kMaxErrors)
        errors.push_back({.code = 4412,
                          .loc = at,
                          .what = fmt::format("buffer '{}': {} cells, the header has {}", cells[0],
                                              cells.size(), t.header.size()),
                          .fix = "one cell per column"});
    } else if (const std::string shown = printable(cells[id]); shown != cells[id]) {
      if (errors.size() < kMaxErrors)
        errors.push_back({.code = 4412,
                          .loc = at,
                          .what = fmt::format("buffer '{}': its id is no UTF-8, or holds control "
                                              "characters",
                                              shown),
                          .fix = "names are printed, and end at a zero byte for planners in C"});
    } else if (!seen.emplace(cells[id], line).second) {
      if (errors.size() < kMaxErrors)
        errors.push_back({.code = 4107,
                          .loc = at,
                          .what = fmt::format("buffer '{}' stands in line {} too", cells[id],
                                              seen.at(cells[id])),
                          .fix = "rename one"});
    } else {
      t.rows.push_back({std::move(cells), line});
    }
  }
  if (t.header.empty())
    return Diag{.code = 4411,
                .loc = {std::string(file)},
                .what = "the file has no header line",
                .fix = "begin with: id,lower,upper,size"};
  if (!errors.empty()) return errors;
  return t;
}

std::string to_csv(CsvTable table, const std::vector<Slot>& slots,
                   const std::vector<StoragePool>& pools) {
  const auto column = [&](std::string_view name) {
    if (table.column(name) < 0) {
      table.header.emplace_back(name);
      for (CsvTable::Row& row : table.rows) row.cells.emplace_back();
    }
    return static_cast<std::size_t>(table.column(name));
  };
  const std::size_t pool = pools.size() > 1 ? column("pool") : SIZE_MAX, offset = column("offset");
  std::string out = fmt::format("{}\n", fmt::join(table.header, ","));
  for (std::size_t i = 0; i < table.rows.size(); ++i) {
    std::vector<std::string>& cells = table.rows[i].cells;
    if (pool != SIZE_MAX) cells[pool] = pools[slots[i].pool].id;
    cells[offset] = fmt::format("{}", slots[i].offset);
    out += fmt::format("{}\n", fmt::join(cells, ","));
  }
  return out;
}

CsvTable csv_table(const StorageRequest& r) {
  CsvTable t{{"id", "lower", "upper", "size", "alignment"}, {}};
  for (const StorageToken& x : r.tokens)
    t.rows.push_back({{x.name, fmt::format("{}", x.first), fmt::format("{}", x.end),
                       fmt::format("{}", x.size), fmt::format("{}", x.align)},
                      0});
  return t;
}

}  // namespace tenon
