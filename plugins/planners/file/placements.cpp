#include "placements.h"

#include <algorithm>
#include <charconv>
#include <nlohmann/json.hpp>

namespace tenon::file_planner {
namespace {

using Json = nlohmann::json;

Placements read_json(std::string_view text) {
  Placements out;
  const Json j = Json::parse(text, nullptr, false);
  if (j.is_discarded()) {
    out.errors.push_back("is no JSON");
    return out;
  }
  if (!j.contains("slots") || !j["slots"].is_array()) {
    out.errors.push_back("has no array `slots`; it is no plan");
    return out;
  }
  for (std::size_t k = 0; k < j["slots"].size(); ++k) {
    const Json& s = j["slots"][k];
    const std::string where = "slots[" + std::to_string(k) + "]";
    if (!s.is_object() || !s.contains("token") || !s["token"].is_string() ||
        !s.contains("offset") || !s["offset"].is_number_unsigned())
      out.errors.push_back(where + ": a slot has a `token` (text) and an `offset` (bytes)");
    else if (s.contains("pool") && !s["pool"].is_string())
      out.errors.push_back(where + ": `pool` is a name");
    else
      out.rows.push_back({s["token"], s.value("pool", ""), s["offset"], where});
  }
  return out;
}

std::string_view trimmed(std::string_view s) {
  const auto first = s.find_first_not_of(" \t\r");
  if (first == s.npos) return {};
  return s.substr(first, s.find_last_not_of(" \t\r") - first + 1);
}

std::vector<std::string_view> cells_of(std::string_view line) {
  std::vector<std::string_view> out;
  while (true) {
    const auto comma = line.find(',');
    out.push_back(trimmed(line.substr(0, comma)));
    if (comma == line.npos) return out;
    line.remove_prefix(comma + 1);
  }
}

struct Columns {
  std::size_t count = 0, name = SIZE_MAX, pool = SIZE_MAX, offset = SIZE_MAX;
};
Columns columns_of(const std::vector<std::string_view>& header) {
  static constexpr std::string_view kNames[] = {"id",    "name",   "token",
                                                "value", "buffer", "buffer_id"};
  Columns out;
  out.count = header.size();
  for (std::size_t k = 0; k < header.size(); ++k) {
    if (std::find(std::begin(kNames), std::end(kNames), header[k]) != std::end(kNames))
      out.name = k;
    if (header[k] == "pool") out.pool = k;
    if (header[k] == "offset") out.offset = k;
  }
  return out;
}

void read_row(const std::vector<std::string_view>& cells, const Columns& c, std::string where,
              Placements& out) {
  if (cells.size() != c.count) {
    out.errors.push_back(where + ": " + std::to_string(cells.size()) + " cells, the header has " +
                         std::to_string(c.count));
    return;
  }
  const std::string_view digits = cells[c.offset];
  std::uint64_t offset = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), offset);
  if (error != std::errc() || end != digits.data() + digits.size()) {
    out.errors.push_back(where + ": '" + std::string(digits) + "' is no offset");
    return;
  }
  out.rows.push_back({std::string(cells[c.name]),
                      c.pool == SIZE_MAX ? "" : std::string(cells[c.pool]), offset,
                      std::move(where)});
}

Placements read_csv(std::string_view text) {
  Placements out;
  Columns columns;
  for (int line = 1; !text.empty(); ++line) {
    const auto eol = text.find('\n');
    const std::string_view here = trimmed(text.substr(0, eol));
    text.remove_prefix(eol == text.npos ? text.size() : eol + 1);
    if (here.empty() || here[0] == '#') continue;
    const auto cells = cells_of(here);
    const std::string where = "line " + std::to_string(line);
    if (columns.count > 0) {
      read_row(cells, columns, where, out);
      continue;
    }
    columns = columns_of(cells);
    if (columns.name == SIZE_MAX || columns.offset == SIZE_MAX) {
      out.errors.push_back(where + ": the header needs a column `id` and a column `offset`");
      return out;
    }
  }
  if (columns.count == 0) out.errors.push_back("is empty");
  return out;
}

}  // namespace

Placements read_placements(std::string_view text) {
  if (text.starts_with("\xef\xbb\xbf")) text.remove_prefix(3);
  const auto first = text.find_first_not_of(" \t\r\n");
  return first != text.npos && text[first] == '{' ? read_json(text) : read_csv(text);
}

}  // namespace tenon::file_planner
