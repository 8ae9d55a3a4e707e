#include "core/ir/verify_body.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "core/support/flat_map.h"

namespace tenon {
namespace {

constexpr std::size_t max_nesting = 64;

class FunctionVerifier {
 public:
  FunctionVerifier(const Module& m, const ModuleIndex& index, const Function& f, Breaches& out)
      : m_(m), index_(index), f_(f), out_(out), places_(dense_ids(f)), ids_(dense_ids(f)) {}

  void run() {
    if (f_.body.results.size() != f_.result_names.size())
      out_.add(7, f_.loc,
               fmt::format("@{}: {} results, but {} result names", f_.name, f_.body.results.size(),
                           f_.result_names.size()));
    enter(f_.body, false, f_.loc);
    while (!frames_.empty() && !out_.full()) step();
  }

 private:
  /// One open body. A value is visible while the body that defines it is open and lies at or inside
  /// the innermost isolated body.
  struct Frame {
    const Body* body = nullptr;
    std::size_t next = 0;         // node of the body
    std::size_t next_region = 0;  // of the node before `next`
    std::size_t isolated_at = 0;  // bodies before this depth are out of sight
    Loc loc;
  };
  struct Place {
    const Node* node = nullptr;
    std::uint32_t depth = 0;
    bool open = true;
  };

  /// Where nodes stand, by the id of their first result; nodes without one, or whose id another
  /// node has or is out of all proportion, by address.
  class Places {
   public:
    explicit Places(std::size_t ids) : by_id_(ids) {}
    Place* find(const Node* n) {
      if (Place* p = slot(*n); p && p->node == n) return p;
      return others_.find(n);
    }
    bool add(const Place& place) {
      if (find(place.node)) return false;
      if (Place* p = slot(*place.node); p && !p->node)
        *p = place;
      else
        others_.try_emplace(place.node, place);
      return true;
    }

   private:
    Place* slot(const Node& n) {
      return n.results.empty() || n.results[0].id >= by_id_.size() ? nullptr
                                                                   : &by_id_[n.results[0].id];
    }
    std::vector<Place> by_id_;
    FlatMap<const Node*, Place> others_;
  };

  void enter(const Body& body, bool isolated, const Loc& loc) {
    const std::size_t depth = frames_.size();
    frames_.push_back({&body, 0, 0,
                       isolated ? depth
                       : depth  ? frames_.back().isolated_at
                                : 0,
                       loc});
    const Node* e = body.entry;
    if (e == nullptr || e->op != node::param || !e->operands.empty() || !e->attrs.empty() ||
        !e->regions.empty())
      out_.add(
          4, loc,
          fmt::format("@{}: the entry of a body must be a plain node of kind `param`", f_.name));
    if (e != nullptr) define(*e, loc);
  }

  void step() {
    Frame& frame = frames_.back();
    if (frame.next > 0) {
      const Node* last = frame.body->nodes[frame.next - 1];
      if (last != nullptr && frame.next_region < last->regions.size()) {
        const Body& region = last->regions[frame.next_region++];
        if (frames_.size() > max_nesting) {
          out_.add(12, last->loc,
                   fmt::format("@{}: regions nest deeper than {}", f_.name, max_nesting));
        } else {
          enter(region, last->op == node::primitive, last->loc);
        }
        return;
      }
      if (last != nullptr) define(*last, last->loc);
    }
    if (frame.next == frame.body->nodes.size()) return leave();
    frame.next_region = 0;
    const Node* n = frame.body->nodes[frame.next++];
    if (n == nullptr) {
      out_.add(8, frame.loc, fmt::format("@{}: a body holds a null node", f_.name));
    } else if (n->op.v >= m_.ops().size()) {
      out_.add(8, n->loc,
               fmt::format("@{}: op number {} is not in the op table, which has {}", f_.name,
                           n->op.v, m_.ops().size()));
    } else if (n->op == node::param) {
      out_.add(4, n->loc,
               fmt::format("@{}: `param` stands in a body; it may only be its entry", f_.name));
    } else if (operands_visible(*n)) {
      verify_node(m_, index_, *n, out_);
    }
  }

  void leave() {
    const Frame& frame = frames_.back();
    for (const Value& v : frame.body->results)
      if (const char* why = hidden(v))
        out_.add(5, frame.loc, fmt::format("@{}: a result {}", f_.name, name_of(v, why)));
    const auto close = [&](const Node* n) {
      if (n != nullptr) places_.find(n)->open = false;
    };
    close(frame.body->entry);
    for (const Node* n : frame.body->nodes) close(n);
    frames_.pop_back();
  }

  bool operands_visible(const Node& n) {
    bool exist = true;
    for (std::size_t k = 0; k < n.operands.size(); ++k) {
      const Value& v = n.operands[k];
      if (const char* why = hidden(v))
        out_.add(5, n.loc, fmt::format("{}: operand {} {}", describe(m_, n), k, name_of(v, why)),
                 "define it before this line");
      exist = exist && v.node != nullptr && v.index < v.node->results.size();
    }
    return exist;
  }

  /// Why `v` cannot be used here; null when it can.
  const char* hidden(const Value& v) {
    if (v.node == nullptr) return "is null";
    if (v.index >= v.node->results.size()) return "names a result that its node does not have";
    const Place* place = places_.find(v.node);
    if (!place) return "is not defined before its use";
    if (!place->open) return "is defined in a region that has ended";
    return place->depth < frames_.back().isolated_at ? "is outside of an isolated region" : nullptr;
  }
  static std::string name_of(const Value& v, const char* why) {
    if (v.node == nullptr || v.index >= v.node->results.size()) return why;
    return fmt::format("%{} {}", v.id(), why);
  }

  void define(const Node& n, const Loc& loc) {
    if (!places_.add({&n, static_cast<std::uint32_t>(frames_.size() - 1)})) {
      out_.add(8, loc, fmt::format("@{}: {} stands in two places", f_.name, describe(m_, n)));
      return;
    }
    for (const NodeResult& r : n.results) {
      if (!fresh(r.id))
        out_.add(6, loc, fmt::format("@{}: value id %{} is given twice", f_.name, r.id));
      if (r.id >= f_.next_id)
        out_.add(6, loc,
                 fmt::format("@{}: value id %{} is not below the function's next id {}", f_.name,
                             r.id, f_.next_id));
      if (const std::string why = breach_of_type(m_, r.type); !why.empty())
        out_.add(3, loc, fmt::format("@{}: type of %{}: {}", f_.name, r.id, why));
    }
  }

  /// Ids below this are looked up in tables: those of a function of a million nodes, but not those
  /// of one that gives its only node the id 4000000000.
  static std::size_t dense_ids(const Function& f) {
    std::size_t nodes = 1;
    std::vector<const Body*> bodies{&f.body};
    while (!bodies.empty()) {
      const Body& body = *bodies.back();
      bodies.pop_back();
      nodes += body.nodes.size() + 1;
      for (const Node* n : body.nodes)
        if (n != nullptr)
          for (const Body& r : n->regions) bodies.push_back(&r);
    }
    return std::min<std::size_t>(f.next_id, 16 * nodes);
  }

  /// Has no value had this id yet?
  bool fresh(ValueId id) {
    if (id >= ids_.size()) return far_ids_.insert(id).second;
    const bool fresh = !ids_[id];
    ids_[id] = true;
    return fresh;
  }

  const Module& m_;
  const ModuleIndex& index_;
  const Function& f_;
  Breaches& out_;
  std::vector<Frame> frames_;
  Places places_;
  std::vector<bool> ids_;
  std::set<ValueId> far_ids_;
};

/// Functions that `f` calls.
std::vector<const Function*> callees(const ModuleIndex& index, const Function& f) {
  std::vector<const Function*> out;
  std::vector<const Body*> bodies{&f.body};
  while (!bodies.empty()) {
    const Body& body = *bodies.back();
    bodies.pop_back();
    for (const Node* n : body.nodes) {
      if (n == nullptr) continue;
      for (const Body& r : n->regions) bodies.push_back(&r);
      if (n->op != node::call) continue;
      const auto* callee = n->attrs.get<std::string>("callee");
      if (callee == nullptr) continue;
      if (auto it = index.functions.find(*callee); it != index.functions.end())
        out.push_back(it->second);
    }
  }
  return out;
}

}  // namespace

void verify_function(const Module& m, const ModuleIndex& index, const Function& f, Breaches& out) {
  FunctionVerifier(m, index, f, out).run();
}

void verify_calls(const Module& m, const ModuleIndex& index, Breaches& out) {
  enum class Mark { open, done };
  struct Frame {
    const Function* f;
    std::vector<const Function*> next;
  };
  std::unordered_map<const Function*, Mark> marks;
  for (const Function& root : m.functions) {
    if (marks.contains(&root)) continue;
    std::vector<Frame> stack;
    stack.push_back({&root, callees(index, root)});
    marks[&root] = Mark::open;
    while (!stack.empty()) {
      Frame& top = stack.back();
      if (top.next.empty()) {
        marks[top.f] = Mark::done;
        stack.pop_back();
        continue;
      }
      const Function* callee = top.next.back();
      top.next.pop_back();
      if (auto [it, fresh] = marks.try_emplace(callee, Mark::open); fresh) {
        stack.push_back({callee, callees(index, *callee)});
      } else if (it->second == Mark::open) {
        out.add(15, callee->loc,
                fmt::format(
                    "@{} calls itself{}", callee->name,
                    callee == top.f ? std::string() : fmt::format(" by way of @{}", top.f->name)),
                "use a `loop` node");
      }
    }
  }
}

}  // namespace tenon
