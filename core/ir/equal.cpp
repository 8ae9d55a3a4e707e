// Structural equality, written apart from the printer so that each can catch the other's omissions.
#include <string>
#include <tuple>
#include <unordered_map>

#include "tenon/op.h"
#include "tenon/storage.h"

namespace tenon {
namespace {

bool same_plan(const std::shared_ptr<const StoragePlan>& a,
               const std::shared_ptr<const StoragePlan>& b) {
  if (a == b || !a || !b) return a == b;
  const auto fields = [](const StoragePlan& p) {
    return std::tie(p.request_hash, p.planner, p.version, p.options, p.slots, p.pools, p.cost,
                    p.optimal, p.reproducible);
  };
  return fields(*a) == fields(*b);
}

class Comparer {
 public:
  Comparer(const Module& a, const Module& b, std::string* why) : a_(a), b_(b), why_(why) {}

  bool run() {
    if (a_.name != b_.name) return differ("module name");
    if (!(a_.attrs == b_.attrs)) return differ("module attributes");
    if (a_.symbols.size() != b_.symbols.size()) return differ("number of symbols");
    if (a_.functions.size() != b_.functions.size()) return differ("number of functions");
    if (a_.computes.size() != b_.computes.size()) return differ("number of compute functions");
    if (a_.kernels.size() != b_.kernels.size()) return differ("number of kernels");
    for (std::size_t i = 0; i < a_.symbols.size(); ++i) {
      const auto &x = a_.symbols[i], &y = b_.symbols[i];
      if (x.name != y.name || x.min != y.min || x.max != y.max) return differ("symbol " + x.name);
    }
    for (std::size_t i = 0; i < a_.functions.size(); ++i)
      if (!function(a_.functions[i], b_.functions[i])) return false;
    for (std::size_t i = 0; i < a_.computes.size(); ++i) {
      const auto &x = a_.computes[i], &y = b_.computes[i];
      if (x.name != y.name || x.compute != y.compute || x.schedule != y.schedule)
        return differ("compute @" + x.name);
    }
    for (std::size_t i = 0; i < a_.kernels.size(); ++i) {
      const auto &x = a_.kernels[i], &y = b_.kernels[i];
      if (x.kernel != y.kernel || x.compute != y.compute || x.target != y.target ||
          x.uses != y.uses)
        return differ("kernel @" + x.kernel.symbol);
    }
    return same_plan(a_.plan, b_.plan) || differ("storage plan");
  }

 private:
  bool differ(const std::string& what) {
    if (why_ && why_->empty()) *why_ = what + " differs";
    return false;
  }

  bool function(const Function& a, const Function& b) {
    const std::string who = "function @" + a.name;
    if (a.name != b.name || a.result_names != b.result_names || !(a.attrs == b.attrs) ||
        a.next_id != b.next_id)
      return differ(who + ": signature");
    same_.clear();
    return body(a.body, b.body, who);
  }

  // Depth is bounded: regions nest to 64.
  bool body(const Body& a, const Body& b, const std::string& who) {
    if (a.nodes.size() != b.nodes.size()) return differ(who + ": number of nodes");
    if (a.results.size() != b.results.size()) return differ(who + ": number of results");
    if (!node(*a.entry, *b.entry, who)) return false;
    for (std::size_t i = 0; i < a.nodes.size(); ++i)
      if (!node(*a.nodes[i], *b.nodes[i], who)) return false;
    for (std::size_t i = 0; i < a.results.size(); ++i)
      if (!same_value(a.results[i], b.results[i]))
        return differ(who + ": result " + std::to_string(i));
    return true;
  }

  bool same_value(Value a, Value b) const {
    auto it = same_.find(a.node);
    return it != same_.end() && it->second == b.node && a.index == b.index;
  }

  bool node(const Node& a, const Node& b, const std::string& fn) {
    const std::string who =
        fn + ": node %" + (a.results.empty() ? std::string("-") : std::to_string(a.results[0].id));
    if (a_.ops()[a.op].name != b_.ops()[b.op].name) return differ(who + ": op");
    if (!(a.attrs == b.attrs)) return differ(who + ": attributes");
    if (a.operands.size() != b.operands.size()) return differ(who + ": number of operands");
    for (std::size_t i = 0; i < a.operands.size(); ++i)
      if (!same_value(a.operands[i], b.operands[i]))
        return differ(who + ": operand " + std::to_string(i));
    if (a.results.size() != b.results.size()) return differ(who + ": number of results");
    for (std::size_t i = 0; i < a.results.size(); ++i) {
      const auto &x = a.results[i], &y = b.results[i];
      if (x.id != y.id || x.name != y.name || x.type != y.type)
        return differ(who + ": result " + std::to_string(i));
    }
    if (a.regions.size() != b.regions.size()) return differ(who + ": number of regions");
    for (std::size_t i = 0; i < a.regions.size(); ++i)
      if (!body(a.regions[i], b.regions[i], who)) return false;
    same_[&a] = &b;
    return true;
  }

  const Module& a_;
  const Module& b_;
  std::string* why_;
  std::unordered_map<const Node*, const Node*> same_;
};

}  // namespace

bool equal(const Module& a, const Module& b, std::string* why) { return Comparer(a, b, why).run(); }

}  // namespace tenon
