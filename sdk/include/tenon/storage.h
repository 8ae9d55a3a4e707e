// The storage plan: the contract between planners, executors and people. Values are tensors of the
// module; a token is one allocation, which holds values at byte offsets and is what a planner
// places; a slot is where it stands.
//
// The flow: module -> StorageValues (what liveness found) -> StorageRequest (tokens: relations
// folded in) -> planner -> StoragePlan -> judge, which checks the plan against the *values*, never
// against tokens, parts or joins. Steps: a value read or written by step s is live in [s, s + 1).
// All intervals are half-open.
#ifndef TENON_STORAGE_H
#define TENON_STORAGE_H

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "tenon/diag.h"

namespace tenon {

enum class Access : std::uint8_t { none, read, write };  // write includes read
enum class Holds : std::uint8_t { constants, data, worker };
enum class Role : std::uint8_t { input, output, constant, state, activation, scratch, worker };
std::string_view name(Role r);

/// A memory of the device, as board and pipeline declare it.
struct StoragePool {
  std::string id;
  std::optional<std::uint64_t> capacity;  ///< bytes; absent = no limit (0 switches the pool off)
  std::uint64_t granule = 1;  ///< bytes; offsets and sizes count in multiples of it. Power of two
  std::optional<std::uint64_t> base;     ///< address of offset 0; pins are then addresses
  std::map<std::string, Access> access;  ///< by target id; empty = every target reads and writes
  std::vector<Holds> holds = {Holds::data};
  std::string image;  ///< pool whose load image of constants is copied here at start; or ""
  double read_cost = 0, write_cost = 0;  ///< cycles per 8 bytes; 0 = no data
  Loc loc;
};

/// Bytes of a pool that are not ours. `at` is an address where the pool has a base, else an offset.
struct ReservedRange {
  std::string pool, why;
  std::uint64_t at = 0, size = 0;
  Loc loc;
};

/// One row of `place:`. The first rule that matches a value decides. Empty fields match anything.
struct PlaceRule {
  std::string value;  ///< glob over value names
  std::optional<Role> role;
  std::string on, op;              ///< target id; name of the op or kernel that produces it
  std::vector<std::string> pools;  ///< in order of preference
  std::optional<std::uint64_t>
      at;  ///< pin: address where the pool has a base, else offset; matches one value exactly
  bool optional = false;
  Loc loc;
};

/// What the model remembers: input and output are one storage that keeps its bytes from run to run,
/// zeros before the first. Names of an input and an output of `main` of one type.
struct StatePair {
  std::string input, output;
  Loc loc;
};

/// What people configure about memory; from board and pipeline, or defaults.
struct MemoryConfig {
  std::vector<StoragePool> pools;
  std::vector<ReservedRange> reserved;
  std::vector<PlaceRule> place;
  bool io_planned =
      false;  ///< `io: planned`: inputs and outputs get storage; else the caller owns them
  std::vector<std::string> keep;  ///< globs: values whose storage is not reused
  std::vector<StatePair> state;   ///< planned whatever `io` says
};

struct Lifetime {
  std::uint32_t first = 0, end = 0;  ///< steps, half-open
  bool operator==(const Lifetime&) const = default;
};

/// One tensor that needs storage, as liveness found it: the judge's ground truth.
struct StorageValue {
  std::uint32_t id = 0;  ///< value id of the module; scratch has ids of its own, past all value ids
  std::string name;
  std::uint64_t size = 0;   ///< bytes, > 0
  std::uint64_t align = 1;  ///< bytes; the strictest that any kernel argument asks
  std::vector<Lifetime>
      live;  ///< disjoint, ascending; several only where steps are exclusive (arms of an `if`)
  Role role = Role::activation;
  std::vector<std::uint32_t> pools;     ///< allowed, in order of preference
  std::vector<std::uint64_t> cost;      ///< per entry of `pools`
  std::optional<std::uint64_t> at;      ///< pinned offset
  std::uint64_t reads = 0, writes = 0;  ///< bytes moved over the run, for costs
  std::string op;                       ///< producer, for `place` rules
  std::string place_why;                ///< "pipeline.yaml:12", or "" for the default
};

/// How two values relate. Everything the planner never sees.
struct StorageRelation {
  enum class Kind : std::uint8_t {
    same,     ///< b is exactly a (alias, must-share): one offset, one size class
    inside,   ///< b lies in a at `delta` (view)
    inplace,  ///< b may take a's place at exactly a + delta; a dies in the step that makes b
  } kind = Kind::same;
  std::uint32_t a = 0, b = 0;  ///< indices into StorageValues::values
  std::uint64_t delta = 0;
};

struct StorageValues {
  std::vector<StoragePool> pools;
  std::vector<ReservedRange> reserved;
  std::vector<StorageValue> values;
  std::vector<StorageRelation> relations;
  std::vector<std::string> steps;                              ///< names, in order
  std::vector<std::pair<std::uint32_t, std::uint32_t>> state;  ///< (input, output) of `main`
};

struct TokenMember {
  std::uint32_t value = 0;  ///< index into StorageValues::values
  std::uint32_t id = 0;     ///< value id, as there
  std::string name;
  std::uint64_t offset = 0, size = 0;
  Lifetime live;  ///< hull
  Role role = Role::activation;
  bool operator==(const TokenMember&) const = default;
};
struct TokenPart {  ///< bytes [lo, hi) are occupied in steps [first, end)
  std::uint32_t first = 0, end = 0;
  std::uint64_t lo = 0, hi = 0;
  bool operator==(const TokenPart&) const = default;
};
struct StorageToken {
  std::string name;
  std::uint64_t size = 0, align = 1;
  std::optional<std::uint64_t> at;
  std::uint32_t first = 0, end = 0;
  std::vector<std::uint32_t> pools;
  std::vector<std::uint64_t> cost;  ///< one per entry of pools
  std::vector<TokenPart> parts;     ///< empty = all of it, always
  std::vector<TokenMember> members;
};
struct TokenJoin {  ///< b may overlap a at a's offset + delta
  std::uint32_t a = 0, b = 0;
  std::uint64_t delta = 0;
  bool operator==(const TokenJoin&) const = default;
};

/// What a planner gets (through tenon/c/planner.h). Tokens stand in canonical order.
struct StorageRequest {
  std::vector<StoragePool> pools;
  std::vector<StorageToken> tokens;
  std::vector<TokenJoin> joins;
  std::vector<std::string> steps;
};

struct Slot {
  std::uint32_t pool = 0;
  std::uint64_t offset = 0;
  bool operator==(const Slot&) const = default;
};
struct PoolUse {
  std::uint64_t peak = 0;  ///< bytes used, rounded up to the granule
  std::uint64_t bound =
      0;  ///< proved lower bound of the peak: max-live of the tokens that may live nowhere else
  std::uint32_t peak_step = 0;
  bool operator==(const PoolUse&) const = default;
};

/// A judged answer. Depends on request, planner, version and options alone.
struct StoragePlan {
  std::string request_hash;      ///< sha256, hex, of the canonical request
  std::string planner, version;  ///< id and version of the implementation
  std::map<std::string, std::string> options;
  std::vector<Slot> slots;     ///< per token
  std::vector<PoolUse> pools;  ///< per pool
  std::uint64_t cost = 0;
  bool optimal = false;      ///< no better plan under the ranking exists
  bool reproducible = true;  ///< false when a wall-clock deadline cut it short
};

/// 4xxx. Hash of everything that a plan depends on; permutations of the input do not change it.
std::string request_hash(const StorageRequest& r);
std::string to_json(const StorageRequest& r);
Result<StorageRequest> request_from_json(std::string_view text, std::string_view file);
std::string to_json(const StoragePlan& p, const StorageRequest& r);
Result<StoragePlan> plan_from_json(std::string_view text, std::string_view file,
                                   const StorageRequest& r);

}  // namespace tenon

#endif
