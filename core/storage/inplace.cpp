#include "core/storage/inplace.h"

#include "core/storage/lifetimes.h"

namespace tenon {
namespace {

constexpr std::uint32_t none = UINT32_MAX;

/// All values that are bytes of one owner.
struct Family {
  std::vector<std::uint32_t> members;  ///< value indices; those that live longest first
  std::vector<Lifetime> live;          ///< of all of them
  bool pinned = false;
};

class InPlace {
 public:
  InPlace(const Timeline& t, const std::vector<ValueHome>& homes,
          const std::vector<std::uint32_t>& index_of, const std::vector<bool>& lasting,
          StorageValues& values)
      : t_(t),
        homes_(homes),
        index_of_(index_of),
        lasting_(lasting),
        values_(values),
        families_(homes.size()) {}

  void run() {
    gather();
    for (std::uint32_t s = 0; s < t_.n_steps(); ++s) {
      begin_ = values_.relations.size();
      const Node& n = *t_.steps[s].node;
      const auto n_inputs = static_cast<std::uint32_t>(n.operands.size());
      if (carries(s)) {
        for (std::uint32_t j = 0; j < n.results.size(); ++j) pair(s, j + 1, j);
      } else if (t_.steps[s].kernel) {
        for (auto [in, out] : t_.steps[s].kernel->kernel.inplace) {
          if (in < n_inputs && out >= n_inputs) pair(s, in, out - n_inputs);
        }
      }
    }
  }

 private:
  void gather() {
    for (std::uint32_t i = 0; i < values_.values.size(); ++i) {
      const StorageValue& v = values_.values[i];
      if (v.id >= homes_.size()) continue;  // scratch
      Family& f = families_[homes_[v.id].owner];
      f.members.push_back(i);
      f.live.insert(f.live.end(), v.live.begin(), v.live.end());
      f.pinned |= v.at.has_value();
    }
    for (Family& f : families_) {
      tidy(f.live);
      std::stable_sort(f.members.begin(), f.members.end(), [&](std::uint32_t a, std::uint32_t b) {
        return hull(values_.values[a].live).end > hull(values_.values[b].live).end;
      });
    }
  }

  static bool overlap(const ValueHome& a, const ValueHome& b) {
    return a.owner == b.owner && a.offset < b.offset + b.size && b.offset < a.offset + a.size;
  }

  /// The opener of a loop: it copies initial values to carried ones.
  bool carries(std::uint32_t s) const {
    return t_.steps[s].node->op == node::loop && !t_.steps[s].back_edge;
  }

  bool declared(std::uint32_t s, std::size_t in, std::uint32_t out) const {
    if (carries(s)) return in == out + 1;
    const auto& pairs = t_.steps[s].kernel->kernel.inplace;
    const auto n_inputs = static_cast<std::uint32_t>(t_.steps[s].node->operands.size());
    return std::find(pairs.begin(), pairs.end(),
                     std::pair{static_cast<std::uint32_t>(in), n_inputs + out}) != pairs.end();
  }

  /// Operand `in` and result `out` of step `s`.
  void pair(std::uint32_t s, std::uint32_t in, std::uint32_t out) {
    const Node& n = *t_.steps[s].node;
    if (out >= n.results.size()) return;
    const ValueId a = n.operands[in].id(), b = n.results[out].id;
    const std::uint32_t ia = index_of_[a], ib = index_of_[b];
    if (ia == none || ib == none || homes_[a].size != homes_[b].size ||
        homes_[a].owner == homes_[b].owner)
      return;
    if (lasting_[homes_[a].owner] || values_.values[ia].role == Role::constant ||
        family(a).pinned || family(b).pinned)
      return;
    const Lifetime la = hull(values_.values[ia].live), lb = hull(values_.values[ib].live);
    if (la.first >= s || la.end != s + 1 || lb.first != s ||
        !share_only(values_.values[ia].live, family(b).live, s))
      return;
    if (siblings_live(s, ib)) return;
    if (!operands_agree(s, in, out) || !others_are_dead(s, ia, homes_[a], family(b))) return;
    const StorageRelation r{StorageRelation::Kind::inplace, ia, ib, 0};
    const auto same = [&](const StorageRelation& x) {
      return x.kind == r.kind && x.a == r.a && x.b == r.b;
    };
    if (std::any_of(values_.relations.begin() + static_cast<std::ptrdiff_t>(begin_),
                    values_.relations.end(), same))
      return;
    values_.relations.push_back(r);
    for (const std::uint32_t i : family(b).members) {
      std::vector<Lifetime>& live = values_.values[i].live;
      if (i != ib && live.front().first == s) live.front().first = s + 1;
    }
  }

  const Family& family(ValueId id) const { return families_[homes_[id].owner]; }

  bool operands_agree(std::uint32_t s, std::uint32_t in, std::uint32_t out) const {
    const Node& n = *t_.steps[s].node;
    const ValueHome& a = homes_[n.operands[in].id()];
    for (std::size_t k = 0; k < n.operands.size(); ++k) {
      const ValueHome& other = homes_[n.operands[k].id()];
      if (k == in || other.kind != ValueHome::Kind::storage || !overlap(a, other)) continue;
      if (other.offset != a.offset || other.size != a.size || !declared(s, k, out)) return false;
    }
    return true;
  }

  /// Whether anything but views of the result, which can wait for a step, lives in step `s` in its
  /// storage.
  bool siblings_live(std::uint32_t s, std::uint32_t ib) const {
    const StorageValue& b = values_.values[ib];
    const auto& members = family(b.id).members;
    return std::any_of(members.begin(), members.end(), [&](std::uint32_t i) {
      const StorageValue& x = values_.values[i];
      const bool can_wait =
          homes_[x.id].source == b.id && x.live.front().first == s && x.live.front().end > s + 1;
      return i != ib && contains(x.live, s) && !can_wait;
    });
  }

  /// No other view of the bytes of `a` is needed while the family of the result lives, but the
  /// operands of step `s`.
  bool others_are_dead(std::uint32_t s, std::uint32_t ia, const ValueHome& a,
                       const Family& b) const {
    for (std::uint32_t i : families_[a.owner].members) {
      const StorageValue& x = values_.values[i];
      if (hull(x.live).end <= b.live.front().first) break;
      if (i == ia || !overlap(a, homes_[x.id]) || !share_a_step(x.live, b.live)) continue;
      if (!is_operand(s, x.id) || !share_only(x.live, b.live, s)) return false;
    }
    return true;
  }

  bool is_operand(std::uint32_t s, ValueId id) const {
    const auto& operands = t_.steps[s].node->operands;
    return std::any_of(operands.begin(), operands.end(), [&](Value v) { return v.id() == id; });
  }

  const Timeline& t_;
  const std::vector<ValueHome>& homes_;
  const std::vector<std::uint32_t>& index_of_;
  const std::vector<bool>& lasting_;
  StorageValues& values_;
  std::vector<Family> families_;  ///< by id of the owner
  std::size_t begin_ = 0;         ///< of the relations of the current step
};

}  // namespace

void add_inplace_relations(const Timeline& t, const std::vector<ValueHome>& homes,
                           const std::vector<std::uint32_t>& index_of,
                           const std::vector<bool>& lasting, StorageValues& values) {
  InPlace(t, homes, index_of, lasting, values).run();
}

}  // namespace tenon
