#include <algorithm>
#include <atomic>
#include <exception>
#include <ranges>
#include <thread>
#include <unordered_map>
#include <unordered_set>

#include "tenon/eval.h"
#include "tenon/op.h"
#include "tenon/pass.h"
#include "tenon/rewrite.h"

namespace tenon::passes {
namespace {

struct FoldOptions {
  Bytes max_growth{1 << 20};
  std::int64_t max_work = 1 << 30;  // about a second
  static constexpr auto fields() {
    return std::tuple{
        Field{
            "max_growth", &FoldOptions::max_growth,
            "leave a node alone when its results exceed four times its operands by more than this"},
        Field{"max_work",
              &FoldOptions::max_work,
              "leave a node alone when evaluating it visits more points than this",
              {.min = 0}}};
  }
};

std::uint64_t bytes_of(const TensorType& t) { return byte_size(t).value_or(UINT64_MAX); }

/// What is evaluated at once: a node and the nodes before it that only it uses. Nothing of those is
/// stored: a weight that is scaled and packed is read once and written once.
struct Tree {
  const Node* root = nullptr;
  Body body;                  // over parameters
  std::vector<Value> inputs;  // constants, or results of other trees
  std::vector<Constant> results;
  Diags errors;
};

constexpr std::size_t most_in_a_tree = 16;

class Folding {
 public:
  Folding(Module& m, Function& f, const FoldOptions& options)
      : m_(m), f_(f), options_(options), uses_(f) {}

  /// Evaluates all that can be, on `threads` threads.
  void run(unsigned threads) {
    for_each_node(f_, [&](const Node& n) { visit(n); });
    for_each_node(f_, [&](const Node& n) {
      if (levels_.contains(&n) && !inner_.contains(&n)) plant(n);
    });
    std::ranges::stable_sort(trees_, {}, [&](const Tree& t) { return levels_.at(t.root); });
    for (auto first = trees_.begin(); first != trees_.end();) {
      const std::uint32_t level = levels_.at(first->root);
      auto last = std::find_if(first, trees_.end(),
                               [&](const Tree& t) { return levels_.at(t.root) != level; });
      evaluate_all(std::span(first, last), threads);
      first = last;
    }
  }

  /// Results by the id of the first; taken once.
  std::unordered_map<ValueId, std::vector<Constant>> take() {
    std::unordered_map<ValueId, std::vector<Constant>> r;
    for (Tree& t : trees_)
      if (t.errors.empty()) r.emplace(t.root->results[0].id, std::move(t.results));
    return r;
  }
  std::size_t nodes() const { return levels_.size(); }
  Diags errors() const {
    Diags all;
    for (const Tree& t : trees_) all.insert(all.end(), t.errors.begin(), t.errors.end());
    return all;
  }

 private:
  /// A level for `n` when it can be evaluated: past those of the trees that it reads.
  void visit(const Node& n) {
    const OpDef& def = m_.ops()[n.op];
    if (!def.compute || def.effect || n.results.empty()) return;
    std::uint64_t in = 0, out = 0;
    std::uint32_t level = 0;
    std::size_t size = 1;
    for (Value v : n.operands) {
      const auto made = levels_.find(v.node);
      if (!constant_of(v) && made == levels_.end()) return;
      in = checked_add(in, bytes_of(v.type())).value_or(UINT64_MAX);
      if (made == levels_.end()) continue;
      level = std::max(level, made->second);
      size += sizes_.at(v.node);
    }
    for (const NodeResult& r : n.results) {
      if (!r.type.is_static()) return;
      out = checked_add(out, bytes_of(r.type)).value_or(UINT64_MAX);
    }
    // Eight bits that become 32 are what a run would otherwise convert again and again.
    const std::uint64_t most = checked_mul(in, std::uint64_t{4}).value_or(UINT64_MAX);
    if (out > most && out - most > options_.max_growth.n) return;
    const auto compute = compute_of(m_, n);
    if (!compute || evaluation_work(*compute) > static_cast<std::uint64_t>(options_.max_work))
      return;
    // Its operands' trees grow on into it where it is their only user.
    bool reads_tree = false;
    for (Value v : n.operands) {
      if (!levels_.contains(v.node)) continue;
      const auto uses = uses_.of(v);
      if (v.node->results.size() == 1 && uses.size() == 1 && uses[0].user == &n &&
          size <= most_in_a_tree)
        inner_.insert(v.node);
      else
        reads_tree = true;
    }
    levels_[&n] = level + (reads_tree ? 1 : 0);
    sizes_[&n] = size <= most_in_a_tree ? size : 1;
  }

  void plant(const Node& root) {
    Tree t{.root = &root, .body = {}, .inputs = {}, .results = {}, .errors = {}};
    std::vector<const Node*> members{&root};  // each behind its users
    for (std::size_t k = 0; k < members.size(); ++k)
      for (Value v : members[k]->operands)
        if (inner_.contains(v.node)) members.push_back(v.node);
    std::vector<NodeResult> params;
    std::unordered_map<Value, std::uint32_t, ValueHash> param_of;
    for (const Node* n : members)
      for (Value v : n->operands)
        if (!inner_.contains(v.node) && param_of.emplace(v, t.inputs.size()).second) {
          params.push_back({v.type(), static_cast<ValueId>(t.inputs.size()), ""});
          t.inputs.push_back(v);
        }
    t.body.entry = m_.make(Node{node::param, {}, {}, std::move(params), {}, root.loc});
    std::unordered_map<const Node*, const Node*> copies;
    for (const Node* n : members | std::views::reverse) {
      std::vector<Value> operands;
      for (Value v : n->operands)
        operands.push_back(inner_.contains(v.node) ? Value{copies.at(v.node), v.index}
                                                   : Value{t.body.entry, param_of.at(v)});
      copies[n] = m_.make(Node{n->op, std::move(operands), n->attrs, n->results, {}, n->loc});
      t.body.nodes.push_back(copies[n]);
    }
    for (std::uint32_t k = 0; k < root.results.size(); ++k)
      t.body.results.push_back({copies[&root], k});
    trees_.push_back(std::move(t));
  }

  void evaluate_all(std::span<Tree> trees, unsigned threads) {
    std::atomic<std::size_t> next{0};
    std::vector<std::exception_ptr> thrown(trees.size());
    const unsigned each = trees.size() > 1 ? 1 : threads;
    const auto one = [&](std::size_t i) {
      try {
        std::vector<Constant> inputs;
        for (Value v : trees[i].inputs) {
          const Constant c = constant_of(v);
          const auto it = made_.find(v);
          if (c || it != made_.end()) inputs.push_back(c ? c : it->second);
        }
        // Short of one: the tree that makes it failed, and has said why.
        if (inputs.size() == trees[i].inputs.size()) evaluate_one(trees[i], inputs, each);
      } catch (...) {  // no memory: told by the caller's thread
        thrown[i] = std::current_exception();
      }
    };
    const auto work = [&] {
      for (std::size_t i = next++; i < trees.size(); i = next++) one(i);
    };
    {
      std::vector<std::jthread> helpers;
      for (unsigned k = 1; k < std::min<std::size_t>(threads, trees.size()); ++k)
        helpers.emplace_back(work);
      work();
    }
    for (const std::exception_ptr& e : thrown)
      if (e) std::rethrow_exception(e);
    for (const Tree& t : trees)
      for (std::uint32_t k = 0; k < t.results.size(); ++k) made_[{t.root, k}] = t.results[k];
  }

  void evaluate_one(Tree& t, const std::vector<Constant>& inputs, unsigned threads) const {
    auto r = evaluate(m_, t.body, inputs, {.threads = threads});
    if (r)
      t.results = std::move(*r);
    else
      t.errors = r.errors();
  }

  Module& m_;
  Function& f_;
  const FoldOptions& options_;
  Uses uses_;
  std::unordered_map<const Node*, std::uint32_t> levels_;  ///< of all that can be evaluated
  std::unordered_map<const Node*, std::size_t> sizes_;     ///< nodes of the tree that ends there
  std::unordered_set<const Node*> inner_;                  ///< in the tree of their user
  std::vector<Tree> trees_;
  std::unordered_map<Value, Constant, ValueHash> made_;  ///< by the levels that are done
};

/// Before: %2 = add(constant 1, constant 2)   After: constant 3
/// Law: a node without effect over constants equals its value under the evaluator.
/// Cost: two walks plus the evaluation of what is folded, trees of nodes at once.
/// Not here: dead operands (dead-code removes them); nodes that blow up, such as a large `full`,
/// and nodes that cost too much.
Status run(Module& m, PassContext& ctx) {
  const auto options = read_options<FoldOptions>(ctx.options());
  std::int64_t folded = 0;
  Diags errors;
  for (Function& f : m.functions) {
    if (!f.body.entry) continue;
    Folding folding(m, f, options);
    folding.run(ctx.threads());
    folded += static_cast<std::int64_t>(folding.nodes());
    const Diags failed = folding.errors();
    errors.insert(errors.end(), failed.begin(), failed.end());
    auto results = folding.take();
    if (results.empty()) continue;
    const Rule fold = [&](Builder& b, const Node& n) -> std::vector<Value> {
      const auto it = n.results.empty() ? results.end() : results.find(n.results[0].id);
      if (it == results.end()) return {};
      std::vector<Value> made;
      for (Constant& c : it->second) made.push_back(b.constant(std::move(c), n.loc));
      results.erase(it);
      return made;
    };
    rewrite(m, f, std::span(&fold, 1));
  }
  remove_dead(m);
  ctx.count("folded", folded);
  return errors;
}

}  // namespace

PassInfo fold_constants() {
  return {.id = "tenon.fold-constants",
          .doc = "Evaluate nodes whose operands are all constants.",
          .needs = {},
          .gives = {},
          .destroys = {},
          .options = option_rows<FoldOptions>(),
          .run = run};
}

}  // namespace tenon::passes
