#include "core/storage/files.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <numeric>
#include <unordered_map>

#include "core/storage/request.h"
#include "tenon/options.h"

namespace tenon {
namespace {

Status set_capacities(StorageRequest& r, const std::vector<StoragePool>& pools,
                      std::string_view file) {
  for (const StoragePool& p : pools) {
    const auto it =
        std::find_if(r.pools.begin(), r.pools.end(), [&](const auto& x) { return x.id == p.id; });
    if (it == r.pools.end())
      return Diag{.code = 4403,
                  .loc = {std::string(file)},
                  .what = fmt::format("the request has no pool '{}'", p.id),
                  .fix = "name a pool of the request"};
    it->capacity = p.capacity;
  }
  return {};
}

Result<StoragePlan> plan_from_csv(std::string_view text, std::string_view file,
                                  const RequestFile& of) {
  auto table = parse_csv(text, file);
  if (!table) return table.errors();
  const StorageRequest& r = of.request;
  StoragePlan plan;
  plan.request_hash = request_hash(r);
  plan.planner = "file";
  plan.slots.resize(r.tokens.size());
  std::unordered_map<std::string_view, std::uint32_t> row_of;
  const int id = of.table.column("id");
  for (std::uint32_t i = 0; i < of.where.size(); ++i)
    row_of.emplace(of.table.rows[i].cells[static_cast<std::size_t>(id)], of.where[i]);
  std::vector<char> seen(r.tokens.size(), 0);
  Diags errors;
  const auto fail = [&](int code, int line, std::string what) {
    if (errors.size() < 20)
      errors.push_back({.code = code,
                        .loc = {std::string(file), line, line ? 1 : 0, 0},
                        .what = std::move(what),
                        .fix = "correct the plan's file, or solve the request again"});
  };
  const int own_id = table->column("id"), pool = table->column("pool"),
            offset = table->column("offset");
  if (offset < 0)
    return Diag{.code = 4411,
                .loc = {std::string(file)},
                .what = "a plan needs the column 'offset'",
                .fix = "name a file that `tenon plan solve -o` wrote, or add the column"};
  for (const CsvTable::Row& row : table->rows) {
    const std::string& name = row.cells[static_cast<std::size_t>(own_id)];
    const std::string& at = row.cells[static_cast<std::size_t>(offset)];
    const auto it = row_of.find(name);
    if (it == row_of.end()) {
      fail(4403, row.line, fmt::format("the request has no buffer '{}'", name));
      continue;
    }
    if (it->second == kNoToken) continue;
    Slot& s = plan.slots[it->second];
    const auto [end, ec] = std::from_chars(at.data(), at.data() + at.size(), s.offset);
    if (ec != std::errc{} || end != at.data() + at.size())
      fail(4412, row.line, fmt::format("buffer '{}': offset '{}' is no integer", name, at));
    if (const std::string p = pool < 0 ? "" : row.cells[static_cast<std::size_t>(pool)];
        !p.empty()) {
      while (s.pool < r.pools.size() && r.pools[s.pool].id != p) ++s.pool;
      if (s.pool == r.pools.size())
        fail(4403, row.line, fmt::format("the request has no pool '{}'", p));
    }
    if (seen[it->second]++) fail(4412, row.line, fmt::format("buffer '{}' has two rows", name));
  }
  for (std::size_t i = 0; i < seen.size(); ++i)
    if (!seen[i])
      fail(4001, 0, fmt::format("buffer '{}' of the request has no row", r.tokens[i].name));
  if (!errors.empty()) return errors;
  measure(r, plan);
  return plan;
}

std::string bytes_or_none(const std::optional<std::uint64_t>& n) {
  return n ? fmt::format("{}", *n) : "-";
}

}  // namespace

StorageFormat storage_format(std::string_view path) {
  return path.ends_with(".csv") ? StorageFormat::csv : StorageFormat::json;
}

Result<RequestFile> load_request(std::string_view text, std::string_view file, StorageFormat format,
                                 const std::vector<StoragePool>& pools) {
  RequestFile out;
  StorageRequest raw;
  if (format == StorageFormat::csv) {
    auto table = parse_csv(text, file);
    if (!table) return table.errors();
    auto r = request_from_csv(*table, file,
                              pools.empty() ? std::vector<StoragePool>{{.id = "p0"}} : pools);
    if (!r) return r.errors();
    out.table = std::move(*table);
    raw = std::move(*r);
  } else {
    auto r = request_from_json(text, file);
    if (!r) return r.errors();
    raw = std::move(*r);
    if (Status s = set_capacities(raw, pools, file); !s) return std::move(s).take();
    out.table = csv_table(raw);
  }
  auto r = prepare_request(std::move(raw), &out.where);
  if (!r) {
    Diags errors = r.errors();
    for (Diag& d : errors) d.loc.file = file;
    return errors;
  }
  out.request = std::move(*r);
  return out;
}

Result<StoragePlan> load_plan(std::string_view text, std::string_view file, StorageFormat format,
                              const RequestFile& of) {
  return format == StorageFormat::csv ? plan_from_csv(text, file, of)
                                      : plan_from_json(text, file, of.request);
}

std::string write_plan(const StoragePlan& plan, const RequestFile& of, StorageFormat format) {
  if (format == StorageFormat::json) return to_json(plan, of.request);
  std::vector<Slot> slots;
  for (const std::uint32_t i : of.where) slots.push_back(i == kNoToken ? Slot{} : plan.slots[i]);
  return to_csv(of.table, slots, of.request.pools);
}

Result<StoragePool> pool_from_text(std::string_view text) {
  const std::size_t colon = text.rfind(':');
  Bytes size;
  if (colon == text.npos || colon == 0 || !read_scalar(text.substr(colon + 1), size))
    return Diag{.code = 4420,
                .what = fmt::format("'{}' is no pool", text),
                .fix = "NAME:SIZE, with SIZE in bytes or like 512KiB, 2MiB"};
  return StoragePool{.id = std::string(text.substr(0, colon)), .capacity = size.n};
}

std::vector<std::uint64_t> unshared(const StorageRequest& r, const StoragePlan& p) {
  std::vector<std::uint64_t> out(r.pools.size(), 0);
  for (std::size_t i = 0; i < r.tokens.size(); ++i) {
    const std::uint32_t pool = p.slots[i].pool;
    const std::uint64_t granule = r.pools[pool].granule;
    out[pool] = round_up_to(out[pool], std::max(r.tokens[i].align, granule)) +
                round_up_to(r.tokens[i].size, granule);
  }
  return out;
}

std::string show_plan(const StorageRequest& r, const StoragePlan& p, bool with_tokens) {
  std::string out = fmt::format("{} tokens placed by {} {}{}{}\n", r.tokens.size(), p.planner,
                                p.version, p.optimal ? ", optimal" : "",
                                p.reproducible ? "" : ", cut short by the deadline");
  const auto alone = unshared(r, p);
  out += fmt::format("{:<12} {:>12} {:>12} {:>12} {:>16}  {}\n", "pool", "capacity", "used",
                     "bound", "without sharing", "peak in");
  for (std::size_t k = 0; k < r.pools.size(); ++k) {
    const PoolUse& u = p.pools[k];
    const bool named = u.peak_step < r.steps.size() && !r.steps[u.peak_step].empty();
    out += fmt::format("{:<12} {:>12} {:>12} {:>12} {:>16}  step {}{}\n", r.pools[k].id,
                       bytes_or_none(r.pools[k].capacity), u.peak, u.bound, alone[k], u.peak_step,
                       named ? fmt::format(" ({})", r.steps[u.peak_step]) : "");
  }
  if (!with_tokens) return out;
  std::vector<std::uint32_t> order(r.tokens.size());
  std::iota(order.begin(), order.end(), 0u);
  std::sort(order.begin(), order.end(), [&](auto a, auto b) {
    return std::tuple(p.slots[a].pool, p.slots[a].offset, a) <
           std::tuple(p.slots[b].pool, p.slots[b].offset, b);
  });
  out += fmt::format("\n{:<12} {:>12} {:>12} {:>13}  {}\n", "pool", "offset", "size", "steps",
                     "token");
  for (const std::uint32_t i : order) {
    const StorageToken& t = r.tokens[i];
    out += fmt::format("{:<12} {:>12} {:>12} {:>13}  {}\n", r.pools[p.slots[i].pool].id,
                       p.slots[i].offset, t.size, fmt::format("[{}, {})", t.first, t.end),
                       describe(t));
  }
  return out;
}

}  // namespace tenon
