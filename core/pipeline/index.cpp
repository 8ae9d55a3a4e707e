#include "core/pipeline/index.h"

#include "core/plugin_host/session.h"

namespace tenon {
namespace {

template <class Info>
Result<Implementation> described(Result<const Info*> r) {
  if (!r) return r.errors();
  Implementation out{.id = (*r)->id, .options = &(*r)->options};
  if constexpr (std::is_same_v<Info, PassInfo>) out.pass = *r;
  return out;
}

template <class Info>
std::vector<Implementation> described(const std::vector<const Info*>& infos) {
  std::vector<Implementation> out;
  for (const Info* i : infos) out.push_back(*described(Result<const Info*>(i)));
  return out;
}

}  // namespace

ImplementationIndex::~ImplementationIndex() = default;

std::string_view name(SlotKind s) {
  constexpr std::string_view names[] = {"pass",    "frontend", "lowering",
                                        "planner", "executor", "target"};
  return names[static_cast<std::size_t>(s)];
}

Result<Implementation> SessionIndex::find(SlotKind slot, std::string_view id, const Loc& loc) {
  switch (slot) {
    case SlotKind::pass:
      return described(session_.pass(id, loc));
    case SlotKind::frontend:
      return described(session_.frontend(id, loc));
    case SlotKind::lowering:
      return described(session_.lowering(id, loc));
    case SlotKind::planner:
      return described(session_.planner(id, loc));
    case SlotKind::executor:
      return described(session_.executor(id, loc));
    case SlotKind::target:
      return described(session_.target(id, loc));
  }
  TENON_BUG("a slot that is none");
}

std::vector<Implementation> SessionIndex::all(SlotKind slot) {
  switch (slot) {
    case SlotKind::pass:
      return described(session_.passes());
    case SlotKind::frontend:
      return described(session_.frontends());
    case SlotKind::lowering:
      return described(session_.lowerings());
    case SlotKind::planner:
      return described(session_.planners());
    case SlotKind::executor:
      return described(session_.executors());
    case SlotKind::target:
      return described(session_.targets());
  }
  TENON_BUG("a slot that is none");
}

}  // namespace tenon
