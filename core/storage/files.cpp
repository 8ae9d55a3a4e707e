#include "core/storage/files.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

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

std::string_view optimality(const StorageRequest& r, const StoragePlan& p) {
  if (cannot_be_better(r, p)) return "optimal";
  return p.optimal ? "claimed optimal by its planner, not checked" : "";
}

std::string show_plan(const StorageRequest& r, const StoragePlan& p, bool with_tokens) {
  std::string out = fmt::format("{} tokens placed by {}", r.tokens.size(), p.planner);
  if (!p.version.empty()) out += " " + p.version;
  if (const auto how = optimality(r, p); !how.empty()) out += fmt::format(", {}", how);
  out += p.reproducible ? "\n" : ", cut short by the deadline\n";
  const auto alone = unshared(r, p);
  out += fmt::format("{:<12} {:>12} {:>12} {:>12} {:>16}  {}\n", "pool", "capacity", "used",
                     "bound", "without sharing", "peak in");
  for (std::size_t k = 0; k < r.pools.size(); ++k) {
    const PoolUse& u = p.pools[k];
    const bool named = u.peak_step < r.steps.size() && !r.steps[u.peak_step].empty();
    out += fmt::format("{:<12} {:>12} {:>12} {:>12} {:>16}  {}{}\n", r.pools[k].id,
                       bytes_or_none(r.pools[k].capacity), u.peak, u.bound, alone[k],
                       u.peak ? fmt::format("step {}", u.peak_step) : "-",
                       u.peak && named ? fmt::format(" ({})", r.steps[u.peak_step]) : "");
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
