// How a list of expressions (a DAG whose operands have smaller ids) becomes lines of text.
//
// The reader gives ids in the order in which it finishes expressions, so the text decides the ids.
// The layout cuts the list into items, each a run of consecutive ids that is one tree in
// post-order; an item is written in the place of its use or as a line `%e<id> = ...`. A leaf that
// is written again is the first equal leaf again; any other expression that is used more than once
// has a line of its own. The text is therefore linear in the number of operands, and reading it
// gives exactly the ids it was printed from. Items stay small, so neither side nests deep.
#ifndef TENON_CORE_TEXT_LAYOUT_H
#define TENON_CORE_TEXT_LAYOUT_H

#include <cstdint>
#include <span>
#include <vector>

namespace tenon::text {

using ExprId = std::uint32_t;

/// What the layout needs to know about an expression.
struct Shape {
  std::span<const ExprId> args;
  bool leaf = false;  ///< no operands, and can be written again
  bool first = true;  ///< of a leaf: no earlier leaf is equal
};

class Layout {
 public:
  /// `roots` are the uses from outside; an id may stand there several times.
  Layout(std::span<const Shape> exprs, std::span<const ExprId> roots);

  /// Whether `id` is written where it is used: as part of a tree, or as a leaf.
  bool written_in_place(ExprId id) const {
    return inside_[id] || (exprs_[id].leaf && exprs_[id].first);
  }

  /// The next use from outside is a place of text that writes `roots` in this order. Returns the
  /// items that need a line before it, in order. Of `roots`, those for which in_slot() then holds
  /// are written there, the others by name.
  std::vector<ExprId> lines_before(std::span<const ExprId> roots);
  bool in_slot(ExprId id) const { return slot_[id] || (exprs_[id].leaf && exprs_[id].first); }
  /// Items that nothing has asked for.
  std::vector<ExprId> rest();

 private:
  struct Item {
    ExprId root = 0, first = 0;
    std::uint32_t nodes = 1, depth = 1;
  };
  void place(ExprId id);
  std::vector<ExprId> take_until(std::size_t end);

  std::span<const Shape> exprs_;
  std::vector<std::uint32_t> uses_;
  std::vector<char> inside_, slot_;
  std::vector<Item> items_;
  std::vector<std::size_t> item_of_;
  std::size_t next_ = 0;
};

}  // namespace tenon::text

#endif
