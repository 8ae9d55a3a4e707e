// Axes that are always traversed together become one: a 1x1 convolution becomes a matrix product
// over all pixels, an elementwise chain becomes one-dimensional. Axes of one element go. Inputs
// become one-dimensional: only their bytes count.
//
// Axes a, b (neighbours, both output or both reduction) may join when every load of the stage sees
// a * extent(b) + b, that is, when its coefficients are in that ratio, and nothing else looks at
// them. A join changes the shape of a stage and so the loads of later ones; all joins are assumed
// at first and those that break the rule are withdrawn until none does.
#include <algorithm>

#include "lowering.h"

namespace tenon::te_lowering {

namespace {

using te::E;

class Collapse {
 public:
  explicit Collapse(const te::Compute& c) : c_(c) {
    for (const te::Stage& s : c.stages) {
      auto& j = joined_.emplace_back(s.axes.size() + s.reduce.size(), true);
      first_of_class(s, j);
    }
  }

  te::Compute run() {
    for (bool changed = true; changed;) {
      changed = false;
      for (std::size_t s = 0; s < c_.stages.size(); ++s) changed |= withdraw(s);
    }
    return rebuild();
  }

 private:
  /// One index of a load over the collapsed target: affine part, and what is not affine.
  struct Sum {
    te::Affine affine;
    std::vector<std::pair<te::ExprId, std::int64_t>> others;
  };

  static std::int64_t extent(const te::Stage& s, std::size_t a) {
    return a < s.axes.size() ? s.axes[a].extent : s.reduce[a - s.axes.size()].extent;
  }
  static std::size_t n_axes(const te::Stage& s) { return s.axes.size() + s.reduce.size(); }
  /// The axis before `a` of the same class that has more than one element; none = n_axes.
  static std::size_t before(const te::Stage& s, std::size_t a) {
    const std::size_t least = a < s.axes.size() ? 0 : s.axes.size();
    while (a-- > least)
      if (extent(s, a) != 1) return a;
    return n_axes(s);
  }
  static void first_of_class(const te::Stage& s, std::vector<bool>& j) {
    for (std::size_t a = 0; a < j.size(); ++a)
      j[a] = extent(s, a) != 1 && before(s, a) != n_axes(s);
  }

  /// The indices that a load has in the collapsed compute.
  std::vector<Sum> sums(const te::Stage& s, const te::Expr& load) const {
    const Shape shape = c_.shape_of(load.n);
    std::vector<Sum> r;
    const auto open = [&] {
      Sum& x = r.emplace_back();
      x.affine.ok = true;
      x.affine.coeff.assign(n_axes(s), 0);
    };
    const bool input = c_.is_input(load.n);
    if (input && !shape.empty()) open();
    std::vector<std::int64_t> stride(shape.size(), 1);  // within the group of joined dimensions
    for (std::size_t d = shape.size(); d-- > 1;) {
      const bool with_previous = input || joined_[load.n - c_.inputs.size()][d] || shape[d] == 1;
      stride[d - 1] = with_previous ? stride[d] * std::max<std::int64_t>(shape[d], 1) : 1;
    }
    for (std::size_t d = 0; d < shape.size(); ++d) {
      if (!input) {
        if (shape[d] == 1) continue;
        if (!joined_[load.n - c_.inputs.size()][d]) open();
      }
      const te::Affine a = te::affine_of(c_, s, load.args[d]);
      Sum& x = r.back();
      if (!a.ok) {
        x.others.emplace_back(load.args[d], stride[d]);
        continue;
      }
      x.affine.constant += stride[d] * a.constant;
      for (std::size_t k = 0; k < a.coeff.size(); ++k) x.affine.coeff[k] += stride[d] * a.coeff[k];
    }
    return r;
  }

  bool withdraw(std::size_t number) {
    const te::Stage& s = c_.stages[number];
    std::vector<bool> alone(n_axes(s), false);  // looked at by something other than an affine index
    std::vector<te::ExprId> stack{s.value};
    std::vector<bool> seen(c_.exprs.size(), false);
    std::vector<Sum> all;
    while (!stack.empty()) {
      const te::ExprId id = stack.back();
      stack.pop_back();
      if (seen[id]) continue;
      seen[id] = true;
      const te::Expr& e = c_.exprs[id];
      if (e.kind == te::Kind::axis) alone[e.n] = true;
      if (e.kind != te::Kind::load) {
        stack.insert(stack.end(), e.args.begin(), e.args.end());
        continue;
      }
      for (Sum& x : sums(s, e)) {
        for (const auto& [other, stride] : x.others) stack.push_back(other);
        all.push_back(std::move(x));
      }
    }
    bool changed = false;
    for (std::size_t b = 0; b < joined_[number].size(); ++b) {
      if (!joined_[number][b]) continue;
      const std::size_t a = before(s, b);
      bool ok = !alone[a] && !alone[b];
      for (const Sum& x : all) ok = ok && x.affine.coeff[a] == x.affine.coeff[b] * extent(s, b);
      if (!ok) joined_[number][b] = false, changed = true;
    }
    return changed;
  }

  te::Compute rebuild() const {
    te::Compute r;
    for (const TensorType& t : c_.inputs) {
      const std::int64_t n = static_cast<std::int64_t>(elements(t).value_or(0));
      r.inputs.push_back(t.rank() == 0 ? t : TensorType(t.dtype, Shape{n}));
    }
    r.outputs = c_.outputs;
    te::Builder b(r.inputs);
    for (std::size_t s = 0; s < c_.stages.size(); ++s) r.stages.push_back(stage(b, s));
    r.exprs = b.take().exprs;
    return r;
  }

  te::Stage stage(te::Builder& b, std::size_t number) const {
    const te::Stage& s = c_.stages[number];
    te::Stage r{.name = s.name,
                .dtype = s.dtype,
                .axes = {},
                .reduce = {},
                .align = s.align,
                .pools = s.pools};
    std::vector<E> axis(n_axes(s), b.i64(0));  // the new axis whose last part an old one is
    for (std::size_t a = 0; a < n_axes(s); ++a) {
      auto& list = a < s.axes.size() ? r.axes : r.reduce;
      if (extent(s, a) == 1) continue;
      const te::Axis& old = a < s.axes.size() ? s.axes[a] : s.reduce[a - s.axes.size()];
      if (joined_[number][a]) {
        list.back().extent *= old.extent;
        list.back().name += "_" + old.name;
      } else {
        list.push_back(old);
      }
    }
    std::uint32_t next = 0;
    for (std::size_t a = 0; a < n_axes(s); ++a) {
      if (extent(s, a) == 1) continue;
      if (!joined_[number][a]) ++next;
      te::Expr e{.kind = te::Kind::axis, .dtype = DType::i64, .n = next - 1};
      axis[a] = {&b, b.add(std::move(e))};
    }
    // A reduction over axes of one element is what it folds, so that the stage has no empty list of
    // axes.
    std::vector<te::ExprId> map(s.value + 1, te::none);
    for (te::ExprId id : te::reachable(c_, s.value))
      map[id] = expression(b, s, number, id, map, axis, r.reduce.empty());
    r.value = map[s.value];
    return r;
  }

  te::ExprId expression(te::Builder& b, const te::Stage& s, std::size_t number, te::ExprId id,
                        const std::vector<te::ExprId>& map, const std::vector<E>& axis,
                        bool no_reduction) const {
    te::Expr e = c_.exprs[id];
    if (e.kind == te::Kind::axis) return axis[e.n].id;
    if (e.kind == te::Kind::reduce && no_reduction) return map[e.args[0]];
    if (e.kind == te::Kind::load) {
      te::Expr r{.kind = te::Kind::load, .dtype = e.dtype, .n = e.n};
      for (const Sum& x : sums(s, e)) {
        E sum = b.i64(x.affine.constant);
        for (std::size_t a = 0; a < x.affine.coeff.size(); ++a) {
          // Of joined axes the last one stands for all.
          if (extent(s, a) == 1 || x.affine.coeff[a] == 0 || continued(s, number, a)) continue;
          sum = axis[a] * x.affine.coeff[a] + sum;
        }
        for (const auto& [other, stride] : x.others) sum = E{&b, map[other]} * stride + sum;
        r.args.push_back(sum.id);
      }
      return b.add(std::move(r));
    }
    if (e.kind == te::Kind::scalar) {
      std::vector<E> args;
      for (te::ExprId a : e.args) args.push_back({&b, map[a]});
      return b.scalar(e.op, e.dtype, args).id;
    }
    for (te::ExprId& a : e.args) a = map[a];
    return b.add(std::move(e));
  }

  /// Whether a later axis is joined to `a`.
  bool continued(const te::Stage& s, std::size_t number, std::size_t a) const {
    for (std::size_t b = a + 1; b < n_axes(s); ++b)
      if (joined_[number][b] && before(s, b) == a) return true;
    return false;
  }

  const te::Compute& c_;
  std::vector<std::vector<bool>> joined_;  // [stage][axis]: joined to the axis before it
};

}  // namespace

te::Compute collapse(const te::Compute& c) { return Collapse(c).run(); }

}  // namespace tenon::te_lowering
