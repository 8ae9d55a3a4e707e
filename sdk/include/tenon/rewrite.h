// Building and rewriting graphs. One driver; forward over the ordered body; no recursion.
#ifndef TENON_REWRITE_H
#define TENON_REWRITE_H

#include <functional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "tenon/ir.h"
#include "tenon/op.h"

namespace tenon {

/// Makes nodes for one function, in order. New values get fresh ids from the function's counter.
class Builder {
 public:
  Builder(Module& m, Function& f) : m_(m), f_(f) {}
  Module& module() { return m_; }

  /// Parameters of a new function (sets f.body.entry).
  std::vector<Value> params(std::vector<NodeResult> params);  // ids are given here
  /// Infers the types; attributes are completed with defaults. `names[k]` names result k.
  Result<std::vector<Value>> add(OpId op, std::vector<Value> operands, Attrs attrs = {},
                                 const Loc& loc = {}, std::vector<std::string> names = {},
                                 std::vector<Body> regions = {});
  /// add() for passes, where a failure is a bug of the pass: aborts; first result.
  Value make(OpId op, std::vector<Value> operands, Attrs attrs = {}, const Loc& loc = {},
             std::string name = "");
  Value make(std::string_view op, std::vector<Value> operands, Attrs attrs = {},
             const Loc& loc = {}, std::string name = "");
  Value constant(Constant c, const Loc& loc = {}, std::string name = "");
  /// A node with given result types (structural kinds: call_kernel, view, ...).
  std::vector<Value> raw(OpId op, std::vector<Value> operands, Attrs attrs,
                         std::vector<NodeResult> results, const Loc& loc,
                         std::vector<Body> regions = {});
  /// Nodes made so far, in order, are moved out: the body under construction.
  std::vector<const Node*> take() { return std::exchange(nodes_, {}); }
  std::vector<const Node*>& nodes() { return nodes_; }
  ValueId fresh_id() { return f_.next_id++; }

 private:
  friend class Rewriter;
  Module& m_;
  Function& f_;
  std::vector<const Node*> nodes_;
};

/// A rule is a pure function of a node whose operands are already rewritten: the values that
/// replace its results (made with `b`, or existing ones), or empty = does not apply. Every rule
/// must lower the node count or a cost; that is what makes rewriting end. The comment above a rule
/// is its law.
using Rule = std::function<std::vector<Value>(Builder& b, const Node& n)>;

/// Rewrites every function (and every region) of the module forward, rules to a fixed point at each
/// node. A value made in place of an old one takes over its id and name. A node whose operands did
/// not change and to which no rule applies stays the same pointer. Returns whether anything
/// changed. O(nodes * rules).
bool rewrite(Module& m, std::span<const Rule> rules);
bool rewrite(Module& m, Function& f, std::span<const Rule> rules);

/// `n` over new operands; `&n` itself when they are equal. Ids, names and attributes are kept.
const Node* with_operands(Module& m, const Node& n, std::vector<Value> operands);
/// A copy of `n` whose result k carries `results[k]`.
const Node* with_results(Module& m, const Node& n, std::vector<NodeResult> results);

/// Removes nodes without effect whose results nobody uses, and outer values only they used. Returns
/// whether it did.
bool remove_dead(Module& m);

/// Uses of every value of a function, regions included; computed on demand, O(nodes).
class Uses {
 public:
  struct Use {
    const Node* user = nullptr;  ///< null: a result of the body
    std::uint32_t operand = 0;
  };
  explicit Uses(const Function& f);
  /// None for a value that was made since.
  std::span<const Use> of(Value v) const;
  std::size_t count(Value v) const { return of(v).size(); }

 private:
  std::vector<Value> values_;         // by id
  std::vector<std::uint32_t> first_;  // by id, into uses_; one more at the end
  std::vector<Use> uses_;
};

/// Calls `fn` for every body of the function: the outermost first, then regions in node order. Own
/// stack.
void for_each_body(const Function& f, const std::function<void(const Body&)>& fn);
/// Calls `fn` for every node of the function, regions included, in order.
void for_each_node(const Function& f, const std::function<void(const Node&)>& fn);

/// The constant that `v` is, or null.
Constant constant_of(Value v);

}  // namespace tenon

#endif
