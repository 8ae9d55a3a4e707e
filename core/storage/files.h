// Requests and plans as files, and plans for people: what `tenon plan solve|check|show` is made of.
// Text in, text out.
#ifndef TENON_CORE_STORAGE_FILES_H
#define TENON_CORE_STORAGE_FILES_H

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/storage/csv.h"
#include "tenon/storage.h"

namespace tenon {

enum class StorageFormat : std::uint8_t { json, csv };
/// By the name's ending: ".csv", else JSON.
StorageFormat storage_format(std::string_view path);

struct RequestFile {
  StorageRequest request;  ///< checked and canonical
  std::vector<std::uint32_t>
      where;       ///< token of the file, in its order -> index in `request`, or kNoToken (size 0)
  CsvTable table;  ///< of a CSV file, or made from the request; rows as in `where`
};

/// Reads, checks and orders a request. `pools`: for CSV the pools (none: one "p0" without
/// capacity); for JSON new capacities of pools that the file declares.
Result<RequestFile> load_request(std::string_view text, std::string_view file, StorageFormat format,
                                 const std::vector<StoragePool>& pools = {});

/// Reads a plan of `of`; not judged yet. A CSV plan has the request's rows with an `offset`: what
/// else a row says of its buffer must be what the request says (TN4012); its figures are computed.
Result<StoragePlan> load_plan(std::string_view text, std::string_view file, StorageFormat format,
                              const RequestFile& of);

/// load_plan of a CSV file.
Result<StoragePlan> plan_from_csv(std::string_view text, std::string_view file,
                                  const RequestFile& of);

std::string write_plan(const StoragePlan& plan, const RequestFile& of, StorageFormat format);

/// "NAME:SIZE", SIZE in bytes or with KiB, MiB, GiB. TN4420.
Result<StoragePool> pool_from_text(std::string_view text);

/// "optimal" where this request's bounds prove it; what else a plan or its planner says of itself
/// is told as a claim; or "".
std::string_view optimality(const StorageRequest& r, const StoragePlan& p);

/// The plan for people: a line per pool (capacity, used, bound, without sharing, peak step), then
/// who stands where.
std::string show_plan(const StorageRequest& r, const StoragePlan& p, bool with_tokens = true);

/// Bytes that each pool would need if no token shared, alignment and granule included.
std::vector<std::uint64_t> unshared(const StorageRequest& r, const StoragePlan& p);

}  // namespace tenon

#endif
