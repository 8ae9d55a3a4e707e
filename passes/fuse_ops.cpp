#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "tenon/op.h"
#include "tenon/pass.h"
#include "tenon/rewrite.h"

namespace tenon::passes {
namespace {

struct FuseOptions {
  std::int64_t max_nodes = 64;
  static constexpr auto fields() {
    return std::tuple{Field{"max_nodes",
                            &FuseOptions::max_nodes,
                            "largest number of ops in one primitive",
                            {.min = 1, .max = 1024}}};
  }
};

bool is_map(FusionKind k) { return k <= FusionKind::injective; }
bool is_pointwise(FusionKind k) { return k <= FusionKind::broadcast; }

/// What is known of the nodes of a function: by value id, as hash tables over a million nodes are
/// most of the pass.
class Known {
 public:
  static constexpr std::uint32_t none = UINT32_MAX;
  struct Row {
    std::uint32_t body = none;     ///< number of the body that it stands in, where it is asked for
    std::uint32_t place = 0;       ///< in that body
    std::uint32_t group = none;    ///< of that body
    const Node* now = nullptr;     ///< what stands in its place outside of its group
    const Node* inside = nullptr;  ///< its copy in its group
  };
  explicit Known(const Function& f) : rows_(f.next_id) {}

  /// Only of nodes with results.
  Row& operator[](const Node* n) { return rows_[n->results[0].id]; }
  const Row& operator[](const Node* n) const { return rows_[n->results[0].id]; }
  std::uint32_t next_body() { return bodies_++; }

 private:
  std::vector<Row> rows_;
  std::uint32_t bodies_ = 0;
};

/// Forms the groups of one body. A group grows from its first node along single uses, so that
/// nothing outside it can depend on a member and feed a later one: no cycle can arise. See `run`
/// for the laws.
class Grouper {
 public:
  Grouper(const Module& m, const Uses& uses, Known& known, const Body& body, std::size_t max_nodes)
      : m_(m),
        uses_(uses),
        known_(known),
        body_(known.next_body()),
        max_(max_nodes),
        transpose_(m.ops().at("transpose")),
        attention_(m.ops().at("attention")) {
    for (std::uint32_t i = 0; const Node* n : body.nodes)
      if (!n->results.empty()) known[n] = {.body = body_, .place = i++};
    for (const Node* n : body.nodes)
      if (fusable(*n) && !grouped(n) && !waits(*n)) grow(*n);
    for (const Node* n : body.nodes)  // what waited for a group that was full
      if (fusable(*n) && !grouped(n)) grow(*n);
  }

  /// Members by group, each in body order.
  const std::vector<std::vector<const Node*>>& groups() const { return groups_; }

 private:
  FusionKind kind(const Node& n) const { return m_.ops()[n.op].fusion; }

  bool fusable(const Node& n) const {
    const OpDef& d = m_.ops()[n.op];
    return d.compute && !d.effect && !n.results.empty();
  }
  bool here(const Node* n) const { return !n->results.empty() && known_[n].body == body_; }
  bool grouped(const Node* n) const { return known_[n].group != Known::none; }

  // The only user of all of n's single result, in the same body; or null.
  const Node* only_user(const Node& n) const {
    if (n.results.size() != 1) return nullptr;
    const auto uses = uses_.of({&n, 0});
    if (uses.empty() || !uses[0].user) return nullptr;
    for (const Uses::Use& u : uses)
      if (u.user != uses[0].user) return nullptr;
    return here(uses[0].user) ? uses[0].user : nullptr;
  }

  void grow(const Node& first) {
    std::vector<const Node*> g;
    take(g, &first);
    bool map = is_map(kind(first));  // no reduction or anchor inside yet
    if (kind(first) == FusionKind::anchor)
      absorb_waiting(g, first);
    else if (map)
      absorb_producers(g, first);
    for (const Node* last = &first; g.size() < max_ && kind(first) != FusionKind::opaque;) {
      const Node* next = only_user(*last);
      if (!next || !fusable(*next) || grouped(next) || !may_follow(first, *last, *next, map)) break;
      map = map && is_map(kind(*next));
      take(g, next);
      absorb_producers(g, *next);
      last = next;
    }
    std::ranges::sort(g, {}, [&](const Node* n) { return known_[n].place; });
    groups_.push_back(std::move(g));
  }

  // Behind a reduction or an anchor: pointwise ops on exactly its elements, and behind an anchor
  // moves of rows. Behind maps: maps.
  bool may_follow(const Node& first, const Node& last, const Node& next, bool map) const {
    const FusionKind k = kind(next);
    if (map) return is_map(k);
    if (kind(first) == FusionKind::anchor && moves_rows(next)) return true;
    return is_pointwise(k) && last.results[0].type.dims == next.results[0].type.dims;
  }

  // Axes in another order, the last one where it was: what lay side by side still does.
  bool moves_rows(const Node& n) const {
    if (n.op != transpose_) return false;
    const auto& perm = *n.attrs.get<std::vector<std::int64_t>>("perm");
    return !perm.empty() && perm.back() == static_cast<std::int64_t>(perm.size()) - 1;
  }

  // Maps that feed only `user` come in as well.
  void absorb_producers(std::vector<const Node*>& g, const Node& user) {
    std::vector<const Node*> stack{&user};
    while (!stack.empty()) {
      const Node* u = stack.back();
      stack.pop_back();
      for (Value v : u->operands) {
        const Node* p = v.node;
        if (g.size() >= max_ || !here(p) || grouped(p) || !fusable(*p)) continue;
        if (!is_map(kind(*p)) || only_user(*p) != u) continue;
        take(g, p);
        stack.push_back(p);
      }
    }
  }

  // What only widens the elements of an operand waits for the anchor that uses it: there, fewer
  // bytes are read, and the wide ones are nowhere stored. So does what only moves its rows: the
  // anchor reads them where they are. An attention reads columns as well as rows.
  bool waits(const Node& n) const {
    if (meets_others(n)) return true;
    const Node* user = only_user(n);
    if (!user || !fusable(*user) || kind(*user) != FusionKind::anchor) return false;
    return moves_rows(n) || (n.op == transpose_ && user->op == attention_) ||
           (kind(n) == FusionKind::elementwise && n.operands.size() == 1 &&
            bits(n.results[0].type.dtype) > bits(n.operands[0].type().dtype));
  }
  // A chain of maps that ends where it meets more elements than it has, or as many that an anchor
  // makes: whoever makes those takes it in, with what both are made into.
  bool meets_others(const Node& n) const {
    const Node* last = &n;
    for (int i = 0; i < longest && is_map(kind(*last)); ++i) {
      const Node* next = only_user(*last);
      if (!next || !fusable(*next) || !is_pointwise(kind(*next))) return false;
      const auto& dims = next->results[0].type.dims;
      const bool fewer = last->results[0].type.dims != dims;
      const auto meets = [&](Value v) {
        return v.node != last && v.type().dims == dims && feeds(v, *next) &&
               (fewer || made_by_anchor(*v.node));
      };
      if (std::ranges::any_of(next->operands, meets)) return true;
      last = next;
    }
    return false;
  }
  bool feeds(Value v, const Node& user) const {
    return here(v.node) && fusable(*v.node) && only_user(*v.node) == &user;
  }
  // An anchor, or what its group grows into.
  bool made_by_anchor(const Node& n) const {
    const Node* last = &n;
    for (int i = 0; i < longest && is_pointwise(kind(*last)); ++i) {
      const auto& dims = last->results[0].type.dims;
      const auto from = std::ranges::find_if(
          last->operands, [&](Value v) { return v.type().dims == dims && feeds(v, *last); });
      if (from == last->operands.end()) return false;
      last = from->node;
    }
    return kind(*last) == FusionKind::anchor;
  }
  void absorb_waiting(std::vector<const Node*>& g, const Node& anchor) {
    for (Value v : anchor.operands)
      if (g.size() < max_ && here(v.node) && !grouped(v.node) && fusable(*v.node) && waits(*v.node))
        take(g, v.node);
  }

  void take(std::vector<const Node*>& g, const Node* n) {
    g.push_back(n);
    known_[n].group = static_cast<std::uint32_t>(groups_.size());
  }

  static constexpr int longest = 24;  // chain that is looked at: a scale, its inverse, a few more

  const Module& m_;
  const Uses& uses_;
  Known& known_;
  std::uint32_t body_;
  std::size_t max_;
  OpId transpose_, attention_;
  std::vector<std::vector<const Node*>> groups_;
};

/// Rebuilds bodies with one `primitive` per group, at the place of the group's last member.
class Fuser {
 public:
  Fuser(Module& m, Function& f, std::size_t max_nodes)
      : m_(m), uses_(f), known_(f), b_(m, f), max_(max_nodes) {}

  // Regions nest to 64: the depth of body() is bounded.
  Body body(const Body& in) {
    const Grouper grouper(m_, uses_, known_, in, max_);
    for (const auto& g : grouper.groups()) nodes += static_cast<std::int64_t>(g.size());
    groups += static_cast<std::int64_t>(grouper.groups().size());
    std::vector<const Node*> outer = b_.take();
    for (const Node* n : in.nodes) {
      const std::uint32_t group = n->results.empty() ? Known::none : known_[n].group;
      if (group == Known::none)
        keep(*n);
      else if (const auto& g = grouper.groups()[group]; g.back() == n)
        primitive(g, group);
    }
    Body out{in.entry, b_.take(), {}};
    for (Value v : in.results) out.results.push_back(at(v));
    b_.nodes() = std::move(outer);
    return out;
  }

  std::int64_t groups = 0, nodes = 0;

 private:
  Value at(Value v) const {
    const Node* now = known_[v.node].now;
    return now ? Value{now, v.index} : v;
  }

  void keep(const Node& n) {
    std::vector<Value> operands;
    for (Value v : n.operands) operands.push_back(at(v));
    const Node* cur = with_operands(m_, n, std::move(operands));
    if (!n.regions.empty() && n.op != node::primitive) {
      std::vector<Body> regions;
      for (const Body& r : n.regions) regions.push_back(body(r));
      cur = m_.make(Node{n.op, cur->operands, n.attrs, n.results, std::move(regions), n.loc});
    }
    if (cur != &n && !n.results.empty()) known_[&n].now = cur;
    b_.nodes().push_back(cur);
  }

  void primitive(const std::vector<const Node*>& group, std::uint32_t number) {
    const std::uint32_t here = known_[group.back()].body;
    const auto member = [&](const Node* n) {
      return known_[n].group == number && known_[n].body == here;
    };
    std::vector<Value> outer, operands;  // few: a group has at most 1024 nodes
    std::vector<NodeResult> params;
    for (const Node* n : group)
      for (Value v : n->operands)
        if (!member(v.node) && std::ranges::find(outer, v) == outer.end()) {
          outer.push_back(v);
          operands.push_back(at(v));
          params.push_back({v.type(), b_.fresh_id(), ""});
        }
    const auto param_of = [&](Value v) {
      return static_cast<std::uint32_t>(std::ranges::find(outer, v) - outer.begin());
    };
    Body body;
    body.entry = m_.make(Node{node::param, {}, {}, std::move(params), {}, group.back()->loc});
    for (const Node* n : group) {
      std::vector<Value> in;
      for (Value v : n->operands)
        in.push_back(member(v.node) ? Value{known_[v.node].inside, v.index}
                                    : Value{body.entry, param_of(v)});
      std::vector<NodeResult> results = n->results;
      if (n == group.back())  // the primitive's results take over its ids
        for (NodeResult& r : results) r = {r.type, b_.fresh_id(), ""};
      known_[n].inside =
          m_.make(Node{n->op, std::move(in), n->attrs, std::move(results), {}, n->loc});
      body.nodes.push_back(known_[n].inside);
    }
    const Node* last = group.back();
    for (std::uint32_t k = 0; k < last->results.size(); ++k)
      body.results.push_back({known_[last].inside, k});
    std::vector<Body> regions;
    regions.push_back(std::move(body));
    const Node* made = m_.make(Node{
        node::primitive, std::move(operands), {}, last->results, std::move(regions), last->loc});
    b_.nodes().push_back(made);
    known_[last].now = made;
  }

  Module& m_;
  Uses uses_;
  Known known_;
  Builder b_;
  std::size_t max_;
};

/// Before: %1 = conv2d(%0, %w)  %2 = relu(%1)   After: %2 = primitive(%0, %w) { conv2d; relu }
/// Laws: one reduction or anchor per primitive at most; pointwise ops follow it as its epilogue on
/// exactly its elements, and behind an anchor transposes that keep the last axis; before an anchor
/// stand casts of its operands to wider types and such transposes (before an attention, any), and
/// short chains of maps that its result meets: few elements that are broadcast to it, or as many
/// that are added to it; maps (pointwise
/// and injective) chain freely; a value used twice stays outside; an opaque op stands alone. Every
/// computing node ends up in a primitive, alone if need be. Cost: O(nodes + uses). Not here: views
/// (mark-views runs before), constants (they stay operands, so that equal kernels stay equal).
Status run(Module& m, PassContext& ctx) {
  const auto options = read_options<FuseOptions>(ctx.options());
  std::int64_t groups = 0, nodes = 0;
  for (Function& f : m.functions) {
    if (!f.body.entry || f.attrs.get_or("primitive", false)) continue;
    Fuser fuser(m, f, static_cast<std::size_t>(options.max_nodes));
    Body fused = fuser.body(f.body);
    if (fuser.groups == 0) continue;
    f.body = std::move(fused);
    groups += fuser.groups;
    nodes += fuser.nodes;
  }
  ctx.count("primitives", groups);
  ctx.count("ops in them", nodes);
  return {};
}

}  // namespace

PassInfo fuse_ops() {
  return {.id = "tenon.fuse-ops",
          .doc = "Group ops into primitives: an anchor with its epilogue, or a chain of maps.",
          .needs = {"shapes-static"},
          .gives = {"primitives-only"},
          .destroys = {},
          .options = option_rows<FuseOptions>(),
          .run = run};
}

}  // namespace tenon::passes
