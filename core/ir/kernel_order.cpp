#include "core/ir/kernel_order.h"

#include <span>

namespace tenon::tir {
namespace {

/// Calls `enter(id)` for each statement before, `leave(id)` after its bodies. Statements that do
/// not exist are left out; one that stands in two places is entered once.
template <class Enter, class Leave>
void walk(const Kernel& k, Enter enter, Leave leave) {
  struct Frame {
    StmtId owner;
    const std::vector<StmtId>* list;
    bool in_other = false;
    std::size_t next = 0;
  };
  std::vector<char> seen(k.stmts.size());
  std::vector<Frame> frames{{none, &k.body}};
  while (!frames.empty()) {
    Frame& f = frames.back();
    if (f.next < f.list->size()) {
      const StmtId id = (*f.list)[f.next++];
      if (id >= k.stmts.size() || seen[id]) continue;
      seen[id] = 1;
      enter(id);
      frames.push_back({id, &k.stmts[id].body});
    } else if (f.owner != none && !f.in_other) {
      f = {f.owner, &k.stmts[f.owner].other, true};
    } else {
      if (f.owner != none) leave(f.owner);
      frames.pop_back();
    }
  }
}

/// Numbers expressions in post-order from given roots.
class Numbering {
 public:
  explicit Numbering(const Kernel& k) : k_(k), number_(k.exprs.size(), none) {}

  void visit(ExprId root) {
    if (root >= k_.exprs.size()) return;
    struct Frame {
      ExprId id;
      std::size_t next = 0;
    };
    std::vector<Frame> frames;
    if (number_[root] == none) frames.push_back({root});
    while (!frames.empty()) {
      Frame& f = frames.back();
      const std::vector<ExprId>& args = k_.exprs[f.id].args;
      if (f.next < args.size()) {
        const ExprId a = args[f.next++];
        if (number_[a] == none) frames.push_back({a});
        continue;
      }
      number_[f.id] = static_cast<ExprId>(order_.size());
      order_.push_back(f.id);
      frames.pop_back();
    }
  }
  ExprId of(ExprId id) const { return id >= number_.size() ? id : number_[id]; }
  std::span<const ExprId> order() const { return order_; }

 private:
  const Kernel& k_;
  std::vector<ExprId> number_;
  std::vector<ExprId> order_;
};

}  // namespace

std::vector<ExprId> slots(const Stmt& s) {
  std::vector<ExprId> out;
  for (ExprId e : {s.begin, s.end, s.index, s.mask, s.value})
    if (e != none) out.push_back(e);
  return out;
}

bool statements_in_order(const Kernel& k) {
  StmtId next = 0;
  bool ordered = true;
  walk(
      k, [](StmtId) {}, [&](StmtId id) { ordered = ordered && id == next++; });
  return ordered && next == k.stmts.size();
}

Kernel renumbered(const Kernel& k) {
  Kernel out = k;
  Numbering exprs(k);
  std::vector<StmtId> number(k.stmts.size(), none);
  std::vector<StmtId> order;
  walk(
      k,
      [&](StmtId id) {
        for (ExprId e : slots(k.stmts[id])) exprs.visit(e);
      },
      [&](StmtId id) {
        number[id] = static_cast<StmtId>(order.size());
        order.push_back(id);
      });
  out.exprs.clear();
  for (ExprId id : exprs.order()) {
    out.exprs.push_back(k.exprs[id]);
    for (ExprId& a : out.exprs.back().args) a = exprs.of(a);
  }
  const auto renamed = [&](std::vector<StmtId>& list) {
    for (StmtId& id : list) id = number[id];
  };
  out.stmts.clear();
  for (StmtId id : order) {
    Stmt s = k.stmts[id];
    for (ExprId* e : {&s.begin, &s.end, &s.index, &s.mask, &s.value}) *e = exprs.of(*e);
    renamed(s.body);
    renamed(s.other);
    out.stmts.push_back(std::move(s));
  }
  renamed(out.body);
  return out;
}

}  // namespace tenon::tir
