// An ImplementationIndex that is a table: pipelines are tested without plugins.
#ifndef TENON_TESTS_SUPPORT_TABLE_INDEX_H
#define TENON_TESTS_SUPPORT_TABLE_INDEX_H

#include <algorithm>
#include <deque>
#include <map>

#include "core/pipeline/index.h"

namespace tenon {

class TableIndex final : public ImplementationIndex {
 public:
  void add(PassInfo p) {
    passes_.push_back(std::move(p));
    add(SlotKind::pass, passes_.back().id, passes_.back().options);
  }
  void add(SlotKind slot, std::string id, std::vector<OptionRow> options = {}) {
    rows_[slot][std::move(id)] = std::move(options);
  }
  /// Found, but not usable.
  void break_one(std::string id, Diag why) { broken_.emplace(std::move(id), std::move(why)); }

  Result<Implementation> find(SlotKind slot, std::string_view id, const Loc& loc) override {
    const std::string full = id.find('.') == id.npos ? "tenon." + std::string(id) : std::string(id);
    if (const auto it = broken_.find(full); it != broken_.end()) return it->second;
    const auto it = rows_[slot].find(full);
    if (it == rows_[slot].end()) return Diag{.code = 1012, .loc = loc, .what = "no " + full};
    return row(*it);
  }
  std::vector<Implementation> all(SlotKind slot) override {
    std::vector<Implementation> out;
    for (const auto& r : rows_[slot]) out.push_back(row(r));
    return out;
  }

 private:
  Implementation row(const std::pair<const std::string, std::vector<OptionRow>>& r) const {
    const auto pass = std::ranges::find(passes_, r.first, &PassInfo::id);
    return {.id = r.first, .options = &r.second, .pass = pass == passes_.end() ? nullptr : &*pass};
  }
  std::deque<PassInfo> passes_;
  std::map<SlotKind, std::map<std::string, std::vector<OptionRow>>> rows_;
  std::map<std::string, Diag> broken_;
};

/// The passes and slots of the shipped pipeline, with their facts.
inline TableIndex usual_index() {
  TableIndex t;
  const auto run = [](Module&, PassContext&) { return Status(); };
  t.add({.id = "tenon.infer-shapes",
         .doc = "d",
         .needs = {},
         .gives = {"shapes-static"},
         .destroys = {},
         .options = {},
         .run = run});
  t.add(
      {.id = "tenon.fuse-ops",
       .doc = "d",
       .needs = {"shapes-static"},
       .gives = {"primitives-only"},
       .destroys = {},
       .options = {{.key = "max_depth", .type = "int", .dflt = "8", .doc = "d", .range = {1, 64}}},
       .run = run});
  t.add({.id = "acme.unfuse",
         .doc = "d",
         .needs = {},
         .gives = {},
         .destroys = {"primitives-only"},
         .options = {},
         .run = run});
  t.add({.id = "acme.tag",
         .doc = "d",
         .needs = {},
         .gives = {"acme.tagged"},
         .destroys = {},
         .options = {},
         .run = run});
  t.add({.id = "acme.use-tags",
         .doc = "d",
         .needs = {"acme.tagged"},
         .gives = {},
         .destroys = {},
         .options = {},
         .run = run});
  for (const char* id :
       {"simplify", "raise-ops", "fold-constants", "fold-batch-norm", "integer-products",
        "pack-channels", "pack-weights", "dead-code", "mark-views", "metadata"})
    t.add({.id = std::string("tenon.") + id,
           .doc = "d",
           .needs = {},
           .gives = {},
           .destroys = {},
           .options = {},
           .run = run});
  t.add(SlotKind::frontend, "tenon.onnx");
  t.add(SlotKind::lowering, "tenon.te");
  t.add(SlotKind::planner, "tenon.auto");
  t.add(SlotKind::planner, "tenon.greedy",
        {{.key = "tries", .type = "int", .dflt = "1", .doc = "d", .range = {1, 64}}});
  t.add(SlotKind::planner, "tenon.naive");
  t.add(SlotKind::executor, "tenon.graph");
  t.add(SlotKind::target, "tenon.llvm",
        {{.key = "cpu", .type = "string", .dflt = "native", .doc = "d", .range = {}}});
  return t;
}

}  // namespace tenon

#endif
