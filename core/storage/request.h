// A storage request on its own: the canonical order, the checks that refuse it before any planner
// is called, lower bounds, and the one function that ranks plans. Laws of a request are in
// sdk/docs/storage-plan.md.
#ifndef TENON_CORE_STORAGE_REQUEST_H
#define TENON_CORE_STORAGE_REQUEST_H

#include <compare>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "tenon/storage.h"

namespace tenon {

inline constexpr std::uint32_t kNoToken = UINT32_MAX;

/// Every reason why no plan can exist or the request is malformed (TN41xx, at most 20), by value
/// name. Takes tokens in any order; a size of 0 and an empty lifetime are legal here and settled by
/// canonical_request.
Status check_request(const StorageRequest& r);

/// The one form of a request that planners see and the hash is taken of; precondition:
/// check_request(r). Tokens of size 0 go (their slot is (first pool, 0)), an empty lifetime becomes
/// one step, parts become disjoint, missing costs 0; tokens ascend by (first, end, size descending,
/// the other fields, name). `where`, when given, maps r's token index to the new one, or kNoToken.
StorageRequest canonical_request(StorageRequest r, std::vector<std::uint32_t>* where = nullptr);
bool is_canonical(const StorageRequest& r);

/// check_request, then canonical_request.
Result<StorageRequest> prepare_request(StorageRequest r,
                                       std::vector<std::uint32_t>* where = nullptr);

/// Smallest multiple of the power of two `m` that is >= x.
constexpr std::uint64_t round_up_to(std::uint64_t x, std::uint64_t m) {
  return (x + m - 1) & ~(m - 1);
}

/// How messages call a token: its name, and its members' where they say more.
std::string describe(const StorageToken& t);

/// Largest sum of bytes of the tokens with in[i] != 0 that are live in one step, and the first such
/// step. A lower bound of the space that they need: parts count for what they occupy, the step
/// shared with a joined successor is left out.
struct MaxLive {
  std::uint64_t bytes = 0;
  std::uint32_t step = 0;
};
MaxLive max_live(const StorageRequest& r, std::span<const char> in);

/// Proved lower bound of each pool's peak: max-live of the tokens that may live nowhere else, and
/// the end of its pins.
std::vector<std::uint64_t> pool_bounds(const StorageRequest& r);

/// What plans are ranked by: feasible before infeasible, least cost, then the pools' peaks in
/// declaration order.
struct Rank {
  bool feasible = false;
  std::uint64_t cost = 0;
  std::vector<std::uint64_t> peaks;
};
/// less = a is the better plan.
std::strong_ordering compare(const Rank& a, const Rank& b);
Rank rank_of(const StoragePlan& p);

/// Peaks (rounded up to the granule), peak steps, bounds and cost of `slots`, one per token of `r`;
/// slots are in range.
void measure(const StorageRequest& r, StoragePlan& plan);
/// The least cost that any plan can have: each token in the cheapest pool it may live in.
std::uint64_t least_cost(const StorageRequest& r);
/// A measured plan at every bound that is proved here: least cost, and each pool's peak at its
/// bound. The others may be optimal all the same.
bool cannot_be_better(const StorageRequest& r, const StoragePlan& p);

}  // namespace tenon

#endif
