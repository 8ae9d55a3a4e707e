// What the pipeline needs to know of implementations. The session answers in the product, a table
// in tests.
#ifndef TENON_CORE_PIPELINE_INDEX_H
#define TENON_CORE_PIPELINE_INDEX_H

#include <string>
#include <string_view>
#include <vector>

#include "tenon/pass.h"

namespace tenon {

class Session;

enum class SlotKind : std::uint8_t { pass, frontend, lowering, planner, executor, target };
/// "pass", "frontend", ...
std::string_view name(SlotKind s);

struct Implementation {
  std::string id;                                   ///< full: tenon.fuse-ops
  const std::vector<OptionRow>* options = nullptr;  ///< never null
  const PassInfo* pass = nullptr;                   ///< of a pass
};

class ImplementationIndex {
 public:
  virtual ~ImplementationIndex();
  /// By id; `tenon.` may be left out. Codes TN1001 and TN1012 mean that there is none of that id;
  /// any other code means that there is, and that it cannot be used.
  virtual Result<Implementation> find(SlotKind slot, std::string_view id, const Loc& loc) = 0;
  /// All of them, sorted by id. May be slow.
  virtual std::vector<Implementation> all(SlotKind slot) = 0;
};

/// The plugins of a session, which must outlive it.
class SessionIndex final : public ImplementationIndex {
 public:
  explicit SessionIndex(Session& session) : session_(session) {}
  Result<Implementation> find(SlotKind slot, std::string_view id, const Loc& loc) override;
  std::vector<Implementation> all(SlotKind slot) override;

 private:
  Session& session_;
};

}  // namespace tenon

#endif
