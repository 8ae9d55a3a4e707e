// Requests that the kit asks: fixed ones, one per rule of the contract, and random ones.
#ifndef TENON_CORE_KIT_REQUESTS_H
#define TENON_CORE_KIT_REQUESTS_H

#include <cstdint>
#include <string>
#include <vector>

#include "tenon/storage.h"

namespace tenon::kit {

struct NamedRequest {
  std::string name;
  StorageRequest request;  ///< canonical
};

/// Small ones, each with a plan; what a rule or a hint means stands in the name.
std::vector<NamedRequest> fixed_requests();

/// What a random request may have.
struct Kind {
  std::uint32_t tokens = 12;  ///< at most
  bool pools = true;          ///< up to three, with costs
  bool pins = true, parts = true, joins = true, capacity = true;
};
/// The same for the same seed, everywhere. Canonical; its own checks have not refused it, which
/// does not say that a plan exists.
StorageRequest random_request(std::uint64_t seed, const Kind& kind);

/// One pool without capacity: n tokens of 1..4096 bytes that live up to `span` of n steps.
StorageRequest large_request(std::uint32_t n, std::uint32_t span);

}  // namespace tenon::kit

#endif
