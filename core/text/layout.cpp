#include "core/text/layout.h"

#include <algorithm>

namespace tenon::text {
namespace {

constexpr std::uint32_t most_nodes = 24, most_depth = 12;

}  // namespace

Layout::Layout(std::span<const Shape> exprs, std::span<const ExprId> roots)
    : exprs_(exprs),
      uses_(exprs.size()),
      inside_(exprs.size()),
      slot_(exprs.size()),
      item_of_(exprs.size()) {
  for (const Shape& e : exprs)
    for (ExprId a : e.args)
      if (a < uses_.size()) ++uses_[a];
  for (ExprId r : roots)
    if (r < uses_.size()) ++uses_[r];
  for (ExprId id = 0; id < exprs.size(); ++id) place(id);
  for (std::size_t k = 0; k < items_.size(); ++k)
    for (ExprId id = items_[k].first; id <= items_[k].root; ++id) item_of_[id] = k;
}

/// Puts `id` on top of the items and takes in those of its operands that it can. What it takes must
/// be the last items, in the order of its operands.
void Layout::place(ExprId id) {
  const auto& args = exprs_[id].args;
  Item made{id, id};
  std::size_t kept = items_.size();
  ExprId bound = id;  // what is written left of the taken operands must be older than they
  bool ordered = true, refused = false;
  for (std::size_t k = args.size(); k-- > 0;) {
    const ExprId a = args[k];
    bool taken = !refused && kept > 0 && items_[kept - 1].root == a &&
                 (exprs_[a].leaf ? exprs_[a].first : uses_[a] == 1);
    if (taken && (made.nodes + items_[kept - 1].nodes > most_nodes ||
                  items_[kept - 1].depth >= most_depth)) {
      refused = true;
      taken = false;
    }
    if (taken) {
      const Item& item = items_[--kept];
      made.nodes += item.nodes;
      made.depth = std::max(made.depth, item.depth + 1);
      bound = item.first;
    } else if (kept < items_.size() && a >= bound && !(exprs_[a].leaf && a == bound)) {
      ordered = false;
    }
  }
  if (!ordered) {
    kept = items_.size();
    made = {id, id};
  } else if (kept < items_.size()) {
    made.first = items_[kept].first;
    for (std::size_t k = kept; k < items_.size(); ++k) inside_[items_[k].root] = 1;
  }
  items_.resize(kept);
  items_.push_back(made);
}

std::vector<ExprId> Layout::take_until(std::size_t end) {
  std::vector<ExprId> lines;
  for (; next_ < end; ++next_) lines.push_back(items_[next_].root);
  return lines;
}

std::vector<ExprId> Layout::lines_before(std::span<const ExprId> roots) {
  std::size_t from = next_;  // items before this one need a line
  std::vector<std::size_t> here;
  for (ExprId r : roots) {
    if (r >= exprs_.size() || item_of_[r] < next_) continue;
    const bool leaf = exprs_[r].leaf;
    const bool whole = items_[item_of_[r]].root == r && (leaf ? exprs_[r].first : uses_[r] == 1);
    if (!whole)
      from = std::max(from, item_of_[r] + 1);
    else if (std::ranges::find(here, item_of_[r]) == here.end())
      here.push_back(item_of_[r]);
  }
  std::erase_if(here, [&](std::size_t k) { return k < from; });
  for (std::size_t k = 1; k < here.size(); ++k)
    if (here[k] != here[0] + k) {
      from = std::ranges::max(here) + 1;
      here.clear();
      break;
    }
  if (!here.empty()) from = here[0];
  for (std::size_t k : here) slot_[items_[k].root] = 1;
  std::vector<ExprId> lines = take_until(from);
  next_ += here.size();
  return lines;
}

std::vector<ExprId> Layout::rest() { return take_until(items_.size()); }

}  // namespace tenon::text
