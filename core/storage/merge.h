// One request of several models that share a device's memory.
#ifndef TENON_CORE_STORAGE_MERGE_H
#define TENON_CORE_STORAGE_MERGE_H

#include <string>
#include <vector>

#include "tenon/storage.h"

namespace tenon {

struct NamedModel {
  std::string name;  ///< before every name of its tokens and steps: "name/..."
  StorageRequest request;
};

enum class Merge : std::uint8_t {
  sequence,  ///< one model runs after another: timelines are appended, what must outlive a run
             ///< (constants, state, reserved bytes) lives throughout
  together,  ///< they run at any time: every token lives throughout, nothing is shared
};

/// Pools are the same when their ids are; pinned bytes that every model reserves alike stand once.
/// The result is checked and canonical. TN4431: two models of one name, or none; TN4432: a pool
/// that two models declare differently; then what check_request says.
Result<StorageRequest> merge_requests(const std::vector<NamedModel>& models, Merge how);

}  // namespace tenon

#endif
