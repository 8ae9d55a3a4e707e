#include "core/storage/csv.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

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

bool read_u64(std::string_view s, std::uint64_t& v) {
  const auto [end, ec] = std::from_chars(s.data(), s.data() + s.size(), v);
  return ec == std::errc{} && end == s.data() + s.size();
}

struct Gap {
  std::uint64_t first = 0, end = 0, lo = 0, hi = 0;  // bytes [lo, hi) stay occupied
};

// One buffer with the file's own times.
struct Buffer {
  std::string id;
  std::uint64_t first = 0, end = 0, size = 0, align = 1;
  std::optional<std::uint64_t> at;
  std::string pool;
  std::vector<Gap> gaps;
  int line = 0;
};

class Rows {
 public:
  Rows(const CsvTable& t, std::string_view file) : t_(t), file_(file) {}

  std::vector<Buffer> read() {
    std::vector<Buffer> out;
    for (const CsvTable::Row& row : t_.rows) out.push_back(buffer(row));
    return out;
  }
  Diags errors;

  void fail(const Buffer& b, std::string what, std::string fix = "correct the row") {
    if (errors.size() < kMaxErrors)
      errors.push_back({.code = 4412,
                        .loc = {std::string(file_), b.line, 1, 0},
                        .what = fmt::format("buffer '{}': {}", b.id, what),
                        .fix = std::move(fix)});
  }

 private:
  std::string cell(const CsvTable::Row& row, std::string_view name) const {
    const int k = t_.column(name);
    return k < 0 ? std::string() : row.cells[static_cast<std::size_t>(k)];
  }

  std::uint64_t number(const Buffer& b, std::string_view column, std::string_view text) {
    std::uint64_t v = 0;
    if (!read_u64(text, v) || v >= INT64_MAX)
      fail(b, fmt::format("{} '{}' is no integer of 0..2^63-2", column, text));
    return v;
  }

  Buffer buffer(const CsvTable::Row& row) {
    Buffer b{.id = cell(row, "id"), .line = row.line};
    if (b.id.empty()) fail(b, "it has no id");
    const bool inclusive = t_.column("end") >= 0;
    b.first = number(b, "lower", cell(row, "lower"));
    b.end = number(b, inclusive ? "end" : "upper", cell(row, inclusive ? "end" : "upper")) +
            (inclusive ? 1 : 0);
    b.size = number(b, "size", cell(row, "size"));
    if (b.end < b.first)
      fail(b, fmt::format("it ends at {} before it starts at {}", b.end, b.first));
    if (const auto s = cell(row, "alignment"); !s.empty()) b.align = number(b, "alignment", s);
    if (const auto s = cell(row, "hint"); !s.empty()) number(b, "hint", s);
    if (const auto s = cell(row, "offset"); !s.empty()) b.at = number(b, "offset", s);
    b.pool = cell(row, "pool");
    gaps(b, cell(row, "gaps"), inclusive);
    return b;
  }

  void gaps(Buffer& b, std::string_view text, bool inclusive) {
    while (!(text = trimmed(text)).empty()) {
      const std::string_view one = text.substr(0, text.find(' '));
      text.remove_prefix(one.size());
      const std::size_t dash = one.find('-'), mark = one.find('@'), colon = one.find(':');
      Gap g;
      const bool window = mark != one.npos;
      bool ok = dash != one.npos && read_u64(one.substr(0, dash), g.first) &&
                read_u64(one.substr(dash + 1, window ? mark - dash - 1 : one.npos), g.end);
      if (ok && window)
        ok = colon != one.npos && colon > mark &&
             read_u64(one.substr(mark + 1, colon - mark - 1), g.lo) &&
             read_u64(one.substr(colon + 1), g.hi) && g.lo <= g.hi && g.hi <= b.size;
      if (ok && inclusive) ++g.end;
      if (!ok || g.first >= g.end || g.first < b.first || g.end > b.end) {
        fail(b, fmt::format("gap '{}' does not lie in it", one), "written lo-hi or lo-hi@wlo:whi");
        continue;
      }
      b.gaps.push_back(g);
    }
    std::sort(b.gaps.begin(), b.gaps.end(),
              [](const Gap& x, const Gap& y) { return x.first < y.first; });
    for (std::size_t k = 1; k < b.gaps.size(); ++k)
      if (b.gaps[k].first < b.gaps[k - 1].end) fail(b, "two gaps overlap");
  }

  const CsvTable& t_;
  std::string_view file_;
};

std::vector<std::uint64_t> times_of(const std::vector<Buffer>& buffers) {
  std::vector<std::uint64_t> t;
  for (const Buffer& b : buffers) {
    t.insert(t.end(), {b.first, std::max(b.end, b.first + 1)});
    for (const Gap& g : b.gaps) t.insert(t.end(), {g.first, g.end});
  }
  std::sort(t.begin(), t.end());
  t.erase(std::unique(t.begin(), t.end()), t.end());
  return t;
}

// What a buffer occupies between and inside its gaps.
template <class Step>
std::vector<TokenPart> parts_of(const Buffer& b, Step step) {
  std::vector<TokenPart> out;
  const auto add = [&](std::uint64_t first, std::uint64_t end, std::uint64_t lo, std::uint64_t hi) {
    if (first < end && lo < hi) out.push_back({step(first), step(end), lo, hi});
  };
  std::uint64_t from = b.first;
  for (const Gap& g : b.gaps) {
    add(from, g.first, 0, b.size);
    add(g.first, g.end, g.lo, g.hi);
    from = g.end;
  }
  if (!b.gaps.empty()) add(from, b.end, 0, b.size);
  return out;
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
    } else if (cells.size() != t.header.size()) {
      if (errors.size() < kMaxErrors)
        errors.push_back({.code = 4412,
                          .loc = at,
                          .what = fmt::format("buffer '{}': {} cells, the header has {}", cells[0],
                                              cells.size(), t.header.size()),
                          .fix = "one cell per column"});
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

Result<StorageRequest> request_from_csv(const CsvTable& table, std::string_view file,
                                        std::vector<StoragePool> pools) {
  Rows rows(table, file);
  const std::vector<Buffer> buffers = rows.read();
  if (!rows.errors.empty()) return rows.errors;
  StorageRequest r;
  r.pools = std::move(pools);
  const auto times = times_of(buffers);
  const auto step = [&](std::uint64_t t) {
    return static_cast<std::uint32_t>(std::lower_bound(times.begin(), times.end(), t) -
                                      times.begin());
  };
  for (std::size_t k = 0; k + 1 < times.size(); ++k) r.steps.push_back(fmt::format("{}", times[k]));
  for (const Buffer& b : buffers) {
    StorageToken t{.name = b.id,
                   .size = b.size,
                   .align = b.align,
                   .at = b.at,
                   .first = step(b.first),
                   .end = step(b.end)};
    if (b.end == b.first) t.end = t.first;
    for (std::uint32_t p = 0; p < r.pools.size(); ++p)
      if (b.pool.empty() || b.pool == r.pools[p].id) t.pools.push_back(p);
    if (t.pools.empty())
      rows.fail(b, fmt::format("no pool is called '{}'", b.pool),
                fmt::format("give it: --pool {}:SIZE", b.pool));
    if (t.at && !t.pools.empty()) t.pools.resize(1);
    t.parts = parts_of(b, step);
    r.tokens.push_back(std::move(t));
  }
  if (!rows.errors.empty()) return rows.errors;
  return r;
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
