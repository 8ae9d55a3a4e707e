#include <algorithm>
#include <numeric>
#include <queue>
#include <span>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "tenon/op.h"
#include "tenon/pass.h"
#include "tenon/rewrite.h"

namespace tenon::passes {
namespace {

using Order = std::vector<std::uint32_t>;  // positions of the body's nodes, in order of execution

/// A body as memory sees it: nodes that hold storage from their step on, and who lets it go. Views
/// are bytes of their source; parameters and constants are there anyway.
class Graph {
 public:
  explicit Graph(const Module& m, const Body& b) {
    const auto n = static_cast<std::uint32_t>(b.nodes.size());
    before_.resize(n);
    after_.resize(n);
    reads_.resize(n);
    makes_.resize(n);
    transient_.resize(n, 0);
    for (std::uint32_t i = 0; i < n; ++i) add(m, *b.nodes[i], i);
    for (Value v : b.results)
      if (const auto s = storage_.find(v); s != storage_.end()) lasts_[s->second] = 1;
    for (std::uint32_t i = 0; i < n; ++i)
      for (std::uint32_t s : reads_[i]) ++readers_[s];
  }

  std::uint32_t size() const { return static_cast<std::uint32_t>(before_.size()); }
  std::span<const std::uint32_t> before(std::uint32_t node) const { return before_[node]; }
  std::span<const std::uint32_t> after(std::uint32_t node) const { return after_[node]; }
  /// Storages that a node reads, each once, and those that it makes.
  std::span<const std::uint32_t> reads(std::uint32_t node) const { return reads_[node]; }
  std::span<const std::uint32_t> makes(std::uint32_t node) const { return makes_[node]; }
  std::uint64_t transient(std::uint32_t node) const { return transient_[node]; }
  std::uint64_t bytes(std::uint32_t storage) const { return bytes_[storage]; }
  const std::vector<std::uint32_t>& readers() const { return readers_; }
  bool lasts(std::uint32_t storage) const { return lasts_[storage] != 0; }

 private:
  void add(const Module& m, const Node& n, std::uint32_t at) {
    const auto uses = [&](Value v) {
      const auto made = maker_.find(v.node);
      if (made != maker_.end() && made->second != at) before_[at].push_back(made->second);
      const auto s = storage_.find(v);
      if (s != storage_.end()) reads_[at].push_back(s->second);
    };
    for (Value v : n.operands) uses(v);
    for (const Body& r : n.regions) captured(r, uses);
    sort_unique(before_[at]);
    sort_unique(reads_[at]);
    for (std::uint32_t p : before_[at]) after_[p].push_back(at);
    maker_[&n] = at;
    if (n.op == node::constant) return;
    if (n.op == node::view || n.op == node::debug) {
      if (const auto s = storage_.find(n.operands[0]); s != storage_.end())
        storage_[{&n, 0}] = s->second;
      reads_[at].clear();  // a view moves no byte: its readers are the source's
      return;
    }
    for (std::uint32_t k = 0; k < n.results.size(); ++k) {
      storage_[{&n, k}] = static_cast<std::uint32_t>(bytes_.size());
      makes_[at].push_back(static_cast<std::uint32_t>(bytes_.size()));
      bytes_.push_back(byte_size(n.results[k].type).value_or(0));
      readers_.push_back(0);
      lasts_.push_back(0);
    }
    scratch(m, n, at);
  }

  // Values of this body that the bodies inside a node read.
  template <class Uses>
  void captured(const Body& top, Uses uses) {
    std::vector<const Body*> todo{&top};
    while (!todo.empty()) {
      const Body& b = *todo.back();
      todo.pop_back();
      for (Value v : b.results) uses(v);
      for (const Node* n : b.nodes) {
        for (Value v : n->operands) uses(v);
        for (const Body& r : n->regions) todo.push_back(&r);
      }
    }
  }

  void scratch(const Module& m, const Node& n, std::uint32_t at) {
    const auto* callee = n.attrs.get<std::string>("callee");
    const KernelFunction* k = n.op == node::call_kernel && callee ? m.kernel(*callee) : nullptr;
    if (!k) return;
    for (const tir::Buffer& b : k->kernel.buffers)
      if (b.scope == tir::Scope::shared) transient_[at] += b.elements * bits(b.dtype) / 8;
  }

  static void sort_unique(std::vector<std::uint32_t>& v) {
    std::sort(v.begin(), v.end());
    v.erase(std::unique(v.begin(), v.end()), v.end());
  }

  std::unordered_map<const Node*, std::uint32_t> maker_;
  std::unordered_map<Value, std::uint32_t, ValueHash> storage_;
  std::vector<std::vector<std::uint32_t>> before_, after_, reads_, makes_;
  std::vector<std::uint64_t> transient_, bytes_;
  std::vector<std::uint32_t> readers_;
  std::vector<char> lasts_;
};

/// Runs an order and keeps the books.
class Memory {
 public:
  explicit Memory(const Graph& g) : g_(g), left_(g.readers()) {}

  /// Bytes more (or less) after `node` than before it.
  std::int64_t growth(std::uint32_t node) const {
    std::int64_t r = 0;
    for (std::uint32_t s : g_.makes(node))
      if (left_[s] > 0 || g_.lasts(s)) r += static_cast<std::int64_t>(g_.bytes(s));
    for (std::uint32_t s : g_.reads(node))
      if (left_[s] == 1 && !g_.lasts(s)) r -= static_cast<std::int64_t>(g_.bytes(s));
    return r;
  }
  /// Bytes that are live while `node` runs: what it makes stands beside what it reads.
  std::uint64_t during(std::uint32_t node) const {
    std::uint64_t r = live_ + g_.transient(node);
    for (std::uint32_t s : g_.makes(node)) r += g_.bytes(s);
    return r;
  }
  /// Storages whose last but one reader this was: their last reader now frees them.
  template <class Changed>
  void run(std::uint32_t node, Changed changed) {
    peak_ = std::max(peak_, during(node));
    live_ = static_cast<std::uint64_t>(static_cast<std::int64_t>(live_) + growth(node));
    for (std::uint32_t s : g_.reads(node))
      if (--left_[s] == 1) changed(s);
  }
  std::uint64_t peak() const { return peak_; }

 private:
  const Graph& g_;
  std::vector<std::uint32_t> left_;
  std::uint64_t live_ = 0, peak_ = 0;
};

std::uint64_t peak_of(const Graph& g, const Order& order) {
  Memory m(g);
  for (std::uint32_t i : order) m.run(i, [](std::uint32_t) {});
  return m.peak();
}

/// What to run next among the nodes that may: the one that lets go of most; among equals the one
/// that stood first (`newest` false) or the one that became ready last (`newest` true, which
/// finishes a branch before it begins another). O((nodes + edges) log nodes).
Order least_growth(const Graph& g, bool newest) {
  struct Entry {
    std::int64_t growth;
    std::uint64_t tie;
    std::uint32_t node;
    bool operator<(const Entry& o) const {  // the top of the heap runs first
      return std::tie(o.growth, o.tie, o.node) < std::tie(growth, tie, node);
    }
  };
  std::vector<std::vector<std::uint32_t>> readers_of(g.readers().size());
  std::vector<std::uint32_t> waits(g.size());
  for (std::uint32_t i = 0; i < g.size(); ++i) {
    waits[i] = static_cast<std::uint32_t>(g.before(i).size());
    for (std::uint32_t s : g.reads(i)) readers_of[s].push_back(i);
  }
  Memory m(g);
  std::priority_queue<Entry> ready;
  std::vector<char> done(g.size(), 0);
  std::uint64_t clock = 0;
  const auto push = [&](std::uint32_t i) {
    ready.push({m.growth(i), newest ? UINT64_MAX - ++clock : i, i});
  };
  for (std::uint32_t i = 0; i < g.size(); ++i)
    if (waits[i] == 0) push(i);
  Order out;
  while (!ready.empty()) {
    const Entry e = ready.top();
    ready.pop();
    if (done[e.node]) continue;
    if (const std::int64_t now = m.growth(e.node); now != e.growth) {  // only ever less
      ready.push({now, e.tie, e.node});
      continue;
    }
    done[e.node] = 1;
    out.push_back(e.node);
    std::vector<std::uint32_t> cheaper;
    m.run(e.node, [&](std::uint32_t s) {
      for (std::uint32_t r : readers_of[s])
        if (!done[r] && waits[r] == 0) cheaper.push_back(r);
    });
    for (std::uint32_t r : cheaper) push(r);
    for (std::uint32_t i : g.after(e.node))
      if (--waits[i] == 0) push(i);
  }
  return out;
}

/// Each node as late as its first reader allows, in the order that the readers stand in: what is
/// cheap to keep waiting is kept waiting. A walk from the results backwards.
Order as_late_as_possible(const Graph& g, const Order& order) {
  std::vector<std::uint32_t> waits(g.size());
  std::vector<std::uint32_t> rank(g.size());
  for (std::uint32_t k = 0; k < g.size(); ++k) rank[order[k]] = k;
  std::priority_queue<std::pair<std::uint32_t, std::uint32_t>> ready;  // latest first
  for (std::uint32_t i = 0; i < g.size(); ++i) {
    waits[i] = static_cast<std::uint32_t>(g.after(i).size());
    if (waits[i] == 0) ready.push({rank[i], i});
  }
  Order out;
  // Depth first: the last operand's maker comes right before its reader.
  std::uint32_t clock = g.size();
  while (!ready.empty()) {
    const std::uint32_t i = ready.top().second;
    ready.pop();
    out.push_back(i);
    for (std::uint32_t p : g.before(i))
      if (--waits[p] == 0) ready.push({clock++, p});
  }
  std::reverse(out.begin(), out.end());
  return out;
}

void arrange(Body& body, const std::vector<const Node*>& nodes, const Order& order) {
  for (std::size_t k = 0; k < order.size(); ++k) body.nodes[k] = nodes[order[k]];
}

/// Before: every branch of the network runs as far as the exporter wrote it, all their values live.
/// After:  the order of the body, of a few that are tried, in which least bytes live at once.
/// Law: a permutation in which makers precede readers computes the same. After `lower` the host
/// measures what every plan needs, in-place pairs and pools included; before it, sizes and last
/// readers decide. The order that was there is one of the candidates, so the measure never grows.
/// Cost: O((nodes + edges) log nodes), and one measure per order.
/// Not here: bodies inside an `if`; recomputing a value to keep it out of memory.
Status run(Module& m, PassContext& ctx) {
  Function* f = m.function("main");
  if (!f || !f->body.entry) return {};
  const Graph g(m, f->body);
  const std::vector<const Node*> nodes = f->body.nodes;
  const auto measure = [&](const Order& o) {
    arrange(f->body, nodes, o);
    return ctx.memory_bound(m).value_or(peak_of(g, o));
  };
  Order best(g.size());
  std::iota(best.begin(), best.end(), 0u);
  const std::uint64_t before = measure(best);
  std::uint64_t after = before;
  for (Order o : {as_late_as_possible(g, best), least_growth(g, false), least_growth(g, true),
                  as_late_as_possible(g, least_growth(g, false))})
    if (const std::uint64_t bytes = measure(o); bytes < after) after = bytes, best = std::move(o);
  arrange(f->body, nodes, best);
  ctx.count("bytes needed before", static_cast<std::int64_t>(before));
  ctx.count("bytes needed after", static_cast<std::int64_t>(after));
  return {};
}

}  // namespace

PassInfo reorder_for_memory() {
  return {.id = "tenon.reorder-for-memory",
          .doc = "Permute the body so that fewer bytes live at once; never more.",
          .needs = {"shapes-static"},
          .gives = {},
          .destroys = {},
          .options = {},
          .run = run};
}

}  // namespace tenon::passes
