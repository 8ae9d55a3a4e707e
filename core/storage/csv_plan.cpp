// A plan as CSV: the request's rows, each with its place.
#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>

#include "core/storage/files.h"
#include "core/storage/request.h"

namespace tenon {
namespace {

/// What the plan's row says of a buffer and the request does not: "size 64 (32)", or "". Columns
/// that the plan's file does not have say nothing.
std::string contradiction(const CsvTable& columns, const CsvBuffer& plan, const CsvBuffer& asked) {
  std::string out;
  const auto differ = [&](std::string_view what, const std::string& a, const std::string& b) {
    if (a != b)
      out += fmt::format("{}{} {}, in the request {}", out.empty() ? "" : "; ", what, a, b);
  };
  const auto life = [](const CsvBuffer& b) { return fmt::format("[{}, {})", b.first, b.end); };
  const auto number = [](std::uint64_t n) { return fmt::format("{}", n); };
  differ("it lives in", life(plan), life(asked));
  differ("its size is", number(plan.size), number(asked.size));
  if (columns.column("alignment") >= 0)
    differ("its alignment is", number(plan.align), number(asked.align));
  if (columns.column("gaps") >= 0 && plan.gaps != asked.gaps)
    out += fmt::format("{}its gaps are not those of the request", out.empty() ? "" : "; ");
  return out;
}

class PlanReader {
 public:
  PlanReader(std::string_view file, const CsvTable& table, const RequestFile& of)
      : file_(file), table_(table), of_(of), seen_(of.where.size(), 0) {
    plan_.request_hash = request_hash(of.request);
    plan_.planner = "file";
    plan_.slots.resize(of.request.tokens.size());
  }

  Result<StoragePlan> read(const std::vector<CsvBuffer>& rows,
                           const std::vector<CsvBuffer>& asked) {
    std::unordered_map<std::string_view, std::size_t> row_of;
    for (std::size_t i = 0; i < asked.size(); ++i) row_of.emplace(asked[i].id, i);
    for (const CsvBuffer& b : rows)
      if (const auto it = row_of.find(b.id); it != row_of.end())
        row(b, asked[it->second], it->second);
      else
        fail(4403, b.line, fmt::format("the request has no buffer '{}'", b.id));
    for (std::size_t i = 0; i < asked.size(); ++i)
      if (!seen_[i] && of_.where[i] != kNoToken)
        fail(4001, 0, fmt::format("buffer '{}' of the request has no row", asked[i].id));
    if (!errors_.empty()) return errors_;
    measure(of_.request, plan_);
    plan_.optimal = cannot_be_better(of_.request, plan_);
    return std::move(plan_);
  }

 private:
  void fail(int code, int line, std::string what) {
    if (errors_.size() < 20)
      errors_.push_back({.code = code,
                         .loc = {std::string(file_), line, line ? 1 : 0, 0},
                         .what = std::move(what),
                         .fix = "correct the plan's file, or solve the request again"});
  }

  void row(const CsvBuffer& b, const CsvBuffer& asked, std::size_t i) {
    seen_[i] = true;
    if (const std::string other = contradiction(table_, b, asked); !other.empty())
      return fail(4012, b.line,
                  fmt::format("the plan is for another buffer '{}': {}", b.id, other));
    if (of_.where[i] == kNoToken) return;
    if (!b.at) return fail(4412, b.line, fmt::format("buffer '{}' has no offset", b.id));
    Slot& s = plan_.slots[of_.where[i]];
    s.offset = *b.at;
    const auto& pools = of_.request.pools;
    if (b.pool.empty()) return;
    const auto p = std::ranges::find(pools, b.pool, &StoragePool::id);
    if (p == pools.end())
      return fail(4403, b.line, fmt::format("the request has no pool '{}'", b.pool));
    s.pool = static_cast<std::uint32_t>(p - pools.begin());
  }

  std::string_view file_;
  const CsvTable& table_;
  const RequestFile& of_;
  std::vector<char> seen_;  // per row of the request
  StoragePlan plan_;
  Diags errors_;
};

}  // namespace

Result<StoragePlan> plan_from_csv(std::string_view text, std::string_view file,
                                  const RequestFile& of) {
  auto table = parse_csv(text, file);
  if (!table) return table.errors();
  if (table->column("offset") < 0)
    return Diag{.code = 4411,
                .loc = {std::string(file)},
                .what = "a plan needs the column 'offset'",
                .fix = "name a file that `tenon plan solve -o` wrote, or add the column"};
  const auto rows = csv_buffers(*table, file), asked = csv_buffers(of.table, "the request");
  if (!rows) return rows.errors();
  if (!asked) return asked.errors();
  return PlanReader(file, *table, of).read(*rows, *asked);
}

}  // namespace tenon
