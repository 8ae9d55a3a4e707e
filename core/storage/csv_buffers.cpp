// Rows of a CSV table as buffers, and these as a request.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "core/storage/csv.h"

namespace tenon {
namespace {

constexpr std::size_t kMaxErrors = 20;

bool read_u64(std::string_view s, std::uint64_t& v) {
  const auto [end, ec] = std::from_chars(s.data(), s.data() + s.size(), v);
  return ec == std::errc{} && end == s.data() + s.size();
}

class Rows {
 public:
  Rows(const CsvTable& t, std::string_view file) : t_(t), file_(file) {}

  std::vector<CsvBuffer> read() {
    std::vector<CsvBuffer> out;
    for (const CsvTable::Row& row : t_.rows) out.push_back(buffer(row));
    return out;
  }
  Diags errors;

  void fail(const CsvBuffer& b, std::string what, std::string fix = "correct the row") {
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

  std::uint64_t number(const CsvBuffer& b, std::string_view column, std::string_view text) {
    std::uint64_t v = 0;
    if (!read_u64(text, v) || v >= INT64_MAX)
      fail(b, fmt::format("{} '{}' is no integer of 0..2^63-2", column, text));
    return v;
  }

  CsvBuffer buffer(const CsvTable::Row& row) {
    CsvBuffer b{.id = cell(row, "id"), .line = row.line};
    if (b.id.empty()) fail(b, "it has no id");
    const bool inclusive = t_.column("end") >= 0;
    b.first = number(b, "lower", cell(row, "lower"));
    b.end = number(b, inclusive ? "end" : "upper", cell(row, inclusive ? "end" : "upper")) +
            (inclusive ? 1 : 0);
    b.size = number(b, "size", cell(row, "size"));
    if (b.end < b.first)
      fail(b, fmt::format("it ends at {} before it starts at {}", b.end, b.first));
    if (const auto s = cell(row, "alignment"); !s.empty()) b.align = number(b, "alignment", s);
    if (const auto s = cell(row, "offset"); !s.empty()) b.at = number(b, "offset", s);
    b.pool = cell(row, "pool");
    gaps(b, cell(row, "gaps"), inclusive);
    return b;
  }

  void gaps(CsvBuffer& b, std::string_view text, bool inclusive) {
    for (std::size_t i = 0; (i = text.find_first_not_of(" \t")) != text.npos;) {
      text.remove_prefix(i);
      const std::string_view one = text.substr(0, text.find_first_of(" \t"));
      text.remove_prefix(one.size());
      const std::size_t dash = one.find('-'), mark = one.find('@'), colon = one.find(':');
      CsvBuffer::Gap g;
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
              [](const CsvBuffer::Gap& x, const CsvBuffer::Gap& y) { return x.first < y.first; });
    for (std::size_t k = 1; k < b.gaps.size(); ++k)
      if (b.gaps[k].first < b.gaps[k - 1].end) fail(b, "two gaps overlap");
  }

  const CsvTable& t_;
  std::string_view file_;
};

std::vector<std::uint64_t> times_of(const std::vector<CsvBuffer>& buffers) {
  std::vector<std::uint64_t> t;
  for (const CsvBuffer& b : buffers) {
    t.insert(t.end(), {b.first, std::max(b.end, b.first + 1)});
    for (const CsvBuffer::Gap& g : b.gaps) t.insert(t.end(), {g.first, g.end});
  }
  std::sort(t.begin(), t.end());
  t.erase(std::unique(t.begin(), t.end()), t.end());
  return t;
}

// What a buffer occupies between and inside its gaps.
template <class Step>
std::vector<TokenPart> parts_of(const CsvBuffer& b, Step step) {
  std::vector<TokenPart> out;
  const auto add = [&](std::uint64_t first, std::uint64_t end, std::uint64_t lo, std::uint64_t hi) {
    if (first < end && lo < hi) out.push_back({step(first), step(end), lo, hi});
  };
  std::uint64_t from = b.first;
  for (const CsvBuffer::Gap& g : b.gaps) {
    add(from, g.first, 0, b.size);
    add(g.first, g.end, g.lo, g.hi);
    from = g.end;
  }
  if (!b.gaps.empty()) add(from, b.end, 0, b.size);
  return out;
}

}  // namespace

Result<std::vector<CsvBuffer>> csv_buffers(const CsvTable& table, std::string_view file) {
  Rows rows(table, file);
  std::vector<CsvBuffer> out = rows.read();
  if (!rows.errors.empty()) return rows.errors;
  return out;
}

Result<StorageRequest> request_from_csv(const CsvTable& table, std::string_view file,
                                        std::vector<StoragePool> pools) {
  Rows rows(table, file);
  const std::vector<CsvBuffer> buffers = rows.read();
  if (!rows.errors.empty()) return rows.errors;
  StorageRequest r;
  r.pools = std::move(pools);
  const auto times = times_of(buffers);
  const auto step = [&](std::uint64_t t) {
    return static_cast<std::uint32_t>(std::lower_bound(times.begin(), times.end(), t) -
                                      times.begin());
  };
  for (std::size_t k = 0; k + 1 < times.size(); ++k) r.steps.push_back(fmt::format("{}", times[k]));
  for (const CsvBuffer& b : buffers) {
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

}  // namespace tenon
