// A StorageRequest as planners see it. Owns the arrays; the request must outlive it.
#ifndef TENON_CORE_STORAGE_REQUEST_VIEW_H
#define TENON_CORE_STORAGE_REQUEST_VIEW_H

#include <vector>

#include "tenon/c/planner.h"
#include "tenon/storage.h"

namespace tenon {

class RequestView {
 public:
  /// `extra` bytes are appended to each pool and token, as a newer host's would be; for the
  /// conformance kit.
  explicit RequestView(const StorageRequest& r, std::size_t extra = 0);
  RequestView(const RequestView&) = delete;
  RequestView& operator=(const RequestView&) = delete;
  const tn_request& raw() const { return raw_; }

 private:
  std::vector<std::byte> pools_, tokens_;
  std::vector<std::vector<tn_part>> parts_;
  std::vector<tn_join> joins_;
  tn_request raw_{};
};

}  // namespace tenon

#endif
