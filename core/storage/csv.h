// The CSV form of planning problems that allocation benchmarks use: a header, one buffer a line.
// Columns in any order: id (buffer, buffer_id), lower (start, begin), upper or end, size; optional
// alignment, hint, gaps, pool, offset. `upper` is exclusive, `end` inclusive. `gaps`: "lo-hi" or
// "lo-hi@wlo:whi", blanks between several: in steps [lo, hi) the buffer occupies nothing, or only
// the bytes [wlo, whi). `offset` pins. Blank lines and lines that begin with # are skipped.
#ifndef TENON_CORE_STORAGE_CSV_H
#define TENON_CORE_STORAGE_CSV_H

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tenon/storage.h"

namespace tenon {

struct CsvTable {
  struct Row {
    std::vector<std::string> cells;
    int line = 0;  ///< 1-based
  };
  std::vector<std::string> header;
  std::vector<Row> rows;
  int column(std::string_view name) const;  ///< -1: none
};

/// TN4411: no or a wrong header; TN4412: a row whose number of cells differs. All of a file's
/// faults, at most 20.
Result<CsvTable> parse_csv(std::string_view text, std::string_view file);

/// A row, with the file's own times.
struct CsvBuffer {
  struct Gap {
    std::uint64_t first = 0, end = 0, lo = 0, hi = 0;  ///< bytes [lo, hi) stay occupied
    bool operator==(const Gap&) const = default;
  };
  std::string id;
  std::uint64_t first = 0, end = 0, size = 0, align = 1;
  std::optional<std::uint64_t> at;
  std::string pool;
  std::vector<Gap> gaps;  ///< ascending, disjoint
  int line = 0;
};
/// TN4412 names line, id and cell.
Result<std::vector<CsvBuffer>> csv_buffers(const CsvTable& table, std::string_view file);

/// One token per row, in the table's order; every token may live in all of `pools`, in order. Times
/// are compressed: a step per interval between the times that occur, named by its first.
Result<StorageRequest> request_from_csv(const CsvTable& table, std::string_view file,
                                        std::vector<StoragePool> pools);

/// The table with `offset` (and, with several pools, `pool`) filled in; slots[i] belongs to row i.
std::string to_csv(CsvTable table, const std::vector<Slot>& slots,
                   const std::vector<StoragePool>& pools);
/// A table of the tokens of a request that came from elsewhere.
CsvTable csv_table(const StorageRequest& r);

}  // namespace tenon

#endif
