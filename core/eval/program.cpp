#include "core/eval/program.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <map>

#include "tenon/diag.h"

namespace tenon::eval {

using te::ExprId;
using te::Kind;

/// Turns expressions into steps. Index expressions of affine loads become coefficients and leave no instruction.
struct Program::Compiler {
  const te::Compute& c;
  const te::Stage& s;
  Program& p;
  std::size_t lane_begin, lane_end, max_lanes;
  ExprId leaf;
  std::map<ExprId, std::uint32_t> reg;
  std::map<ExprId, std::uint32_t> level;  // of the expression
  std::map<ExprId, te::Affine> linear;    // of affine loads: coefficients of the element number

  std::int64_t extent(std::size_t axis) const {
    return axis < s.axes.size() ? s.axes[axis].extent : s.reduce[axis - s.axes.size()].extent;
  }
  std::size_t n_axes() const { return s.axes.size() + s.reduce.size(); }
  bool is_lane(std::size_t axis) const { return axis >= lane_begin && axis < lane_end; }
  std::size_t place_of(std::size_t axis) const { return axis < lane_begin ? axis : axis - (lane_end - lane_begin); }

  /// The element number of a load as an affine function of the axes, if all indices are affine.
  te::Affine element(const te::Expr& load) {
    te::Affine sum{true, 0, std::vector<std::int64_t>(n_axes(), 0)};
    const Shape shape = c.shape_of(load.n);
    std::int64_t stride = 1;
    for (std::size_t d = shape.size(); d-- > 0; stride *= shape[d]) {
      te::Affine a = affine_of(c, s, load.args[d]);
      if (!a.ok) return a;
      sum.constant += a.constant * stride;
      for (std::size_t k = 0; k < n_axes(); ++k) sum.coeff[k] += a.coeff[k] * stride;
    }
    return sum;
  }

  /// The expressions that need a register, ascending. Also fills `linear`.
  std::vector<ExprId> needed(ExprId root) {
    std::vector<bool> seen(root + 1, false);
    std::vector<ExprId> stack{root}, out;
    seen[root] = true;
    auto push = [&](ExprId id) {
      if (!seen[id]) seen[id] = true, stack.push_back(id);
    };
    while (!stack.empty()) {
      ExprId id = stack.back();
      stack.pop_back();
      out.push_back(id);
      const te::Expr& e = c.exprs[id];
      if (id == leaf) continue;
      if (e.kind == Kind::load) {
        if (!find_linear(id))
          for (ExprId a : e.args) push(a);
      } else if (te::is_guarded_load(c, e)) {
        push(e.args[0]);
        push(e.args[2]);
        if (!find_linear(e.args[1]))
          for (ExprId a : c.exprs[e.args[1]].args) push(a);
      } else {
        for (ExprId a : e.args) push(a);
      }
    }
    std::sort(out.begin(), out.end());
    return out;
  }

  bool find_linear(ExprId load) {
    auto it = linear.find(load);
    if (it == linear.end()) it = linear.emplace(load, element(c.exprs[load])).first;
    return it->second.ok;
  }

  std::uint32_t add_reg(ExprId id) {
    Reg r{.dtype = c.exprs[id].dtype};
    r.own.reset(new std::byte[max_lanes * register_width(r.dtype)]);
    r.data = r.own.get();
    p.regs_.push_back(std::move(r));
    return reg[id] = static_cast<std::uint32_t>(p.regs_.size() - 1);
  }

  void use(Step& step, ExprId arg) {
    step.args.push_back(reg.at(arg));
    step.level = std::max(step.level, level.at(arg));
  }

  /// Tensor, indices and level of a load.
  void use_load(Step& step, ExprId load) {
    const te::Expr& e = c.exprs[load];
    step.n = e.n;
    step.width = register_width(e.dtype);
    step.shape = c.shape_of(e.n);
    const te::Affine& a = linear.at(load);
    step.affine = a.ok;
    if (!a.ok) {
      for (ExprId i : e.args) use(step, i);
      return;
    }
    step.constant = a.constant;
    step.uniform.assign(p.uniform_.size(), 0);
    std::vector<std::int64_t> extents, coeffs;
    for (std::size_t k = 0; k < n_axes(); ++k) {
      if (is_lane(k)) {
        extents.push_back(extent(k));
        coeffs.push_back(a.coeff[k]);
      } else if (a.coeff[k] != 0) {
        step.uniform[place_of(k)] = a.coeff[k];
        step.level = std::max(step.level, static_cast<std::uint32_t>(place_of(k) + 1));
      }
    }
    step.lanes = LaneMap(extents, coeffs);
  }

  void add(ExprId id) {
    const te::Expr& e = c.exprs[id];
    Step step;
    step.dst = add_reg(id);
    level[id] = 0;
    if (id == leaf) return;
    if (e.kind == Kind::imm) return fill_imm(e, p.regs_[step.dst].own.get(), max_lanes);
    if (e.kind == Kind::axis) {
      step.what = is_lane(e.n) ? What::axis : What::uniform_axis;
      step.n = static_cast<std::uint32_t>(place_of(e.n));
      if (is_lane(e.n)) {
        std::vector<std::int64_t> extents, coeffs;
        for (std::size_t k = lane_begin; k < lane_end; ++k) {
          extents.push_back(extent(k));
          coeffs.push_back(k == e.n);
        }
        step.lanes = LaneMap(extents, coeffs);
      } else {
        step.level = step.n + 1;
      }
    } else if (e.kind == Kind::load) {
      use_load(step, id);
      step.what = step.affine ? What::affine_load : What::indexed_load;
    } else if (te::is_guarded_load(c, e)) {
      step.what = What::guarded_load;
      use(step, e.args[0]);
      use(step, e.args[2]);
      use_load(step, e.args[1]);
    } else {
      TENON_CHECK(e.kind == Kind::scalar);
      for (ExprId a : e.args) use(step, a);
      step.map = map_kernel(e.op, c.exprs[e.args[0]].dtype, e.dtype);
      TENON_CHECK(step.map != nullptr);
      step.narrow = is_narrow(e.dtype) && e.op != ScalarOp::select;
    }
    level[id] = step.level;
    p.steps_.push_back(std::move(step));
  }
};

Program::Program(const te::Compute& c, const te::Stage& s, ExprId root, std::size_t lane_begin, std::size_t lane_end,
                 ExprId leaf, std::size_t max_lanes, bool split) {
  uniform_.assign(s.axes.size() + s.reduce.size() - (lane_end - lane_begin), 0);
  Compiler compiler{c, s, *this, lane_begin, lane_end, max_lanes, leaf, {}, {}, {}};
  for (ExprId id : compiler.needed(root)) compiler.add(id);
  root_ = compiler.reg.at(root);
  if (compiler.reg.count(leaf)) leaf_ = compiler.reg.at(leaf);
  const te::Expr& e = c.exprs[root];
  product_ = split && root != leaf && e.kind == Kind::scalar && e.op == ScalarOp::mul && multiply_add_kernel(e.dtype);
  if (product_) {
    for (int k = 0; k < 2; ++k) factor_[k] = compiler.reg.at(e.args[static_cast<std::size_t>(k)]);
    std::erase_if(steps_, [&](const Step& step) { return step.dst == root_; });
  }
  std::stable_sort(steps_.begin(), steps_.end(), [](const Step& a, const Step& b) { return a.level < b.level; });
}

std::int64_t Program::base(const Step& s) const {
  std::int64_t b = s.constant;
  for (std::size_t k = 0; k < s.uniform.size(); ++k) b += s.uniform[k] * uniform_[k];
  return b;
}

void Program::place(std::int64_t first, std::size_t count, const Memory& m) {
  count_ = count;
  for (Step& s : steps_) {
    if (s.what == What::axis || s.affine) s.lanes.place(first, count);
    if (s.what == What::axis) {
      const auto v = s.lanes.offsets();
      std::memcpy(regs_[s.dst].own.get(), v.data(), count * sizeof(std::int64_t));
    }
  }
  for (Step& s : steps_)
    if (s.level == 0) execute(s, m);
}

void Program::run(std::size_t level, const Memory& m) {
  auto at = std::lower_bound(steps_.begin(), steps_.end(), level, [](const Step& s, std::size_t l) { return s.level < l; });
  for (; at != steps_.end(); ++at) execute(*at, m);
}

void Program::execute(Step& s, const Memory& m) {
  Reg& dst = regs_[s.dst];
  switch (s.what) {
    case What::axis: return;
    case What::uniform_axis:
      std::fill_n(reinterpret_cast<std::int64_t*>(dst.own.get()), count_, uniform_[s.n]);
      return;
    case What::affine_load: {
      const std::byte* from = m[s.n] + base(s) * static_cast<std::int64_t>(s.width);
      if (s.lanes.contiguous()) {
        dst.data = from + s.lanes.first() * static_cast<std::int64_t>(s.width);
      } else {
        s.lanes.copy(s.width, dst.own.get(), from);
      }
      return;
    }
    case What::indexed_load:
    case What::guarded_load: return load_indexed(s, m);
    case What::map: {
      const void* args[3] = {nullptr, nullptr, nullptr};
      for (std::size_t k = 0; k < s.args.size(); ++k) args[k] = regs_[s.args[k]].data;
      s.map(dst.own.get(), args, count_);
      if (s.narrow) narrow(dst.dtype, dst.own.get(), count_);
    }
  }
}

void Program::load_indexed(Step& s, const Memory& m) {
  const bool guarded = s.what == What::guarded_load;
  Reg& dst = regs_[s.dst];
  const std::byte* cond = guarded ? regs_[s.args[0]].data : nullptr;
  if (guarded) std::memcpy(dst.own.get(), regs_[s.args[1]].data, count_ * s.width);
  std::vector<std::int64_t> at;
  if (s.affine) {
    at = s.lanes.offsets();
    const std::int64_t b = base(s);
    for (std::int64_t& o : at) o += b;
  } else {
    at.assign(count_, 0);
  }
  std::int64_t size = 1;
  for (std::int64_t d : s.shape) size *= d;
  const std::size_t first_index = guarded ? 2 : 0;
  for (std::size_t j = 0; j < count_; ++j) {
    if (cond && cond[j] == std::byte{0}) continue;
    bool inside = true;
    for (std::size_t d = 0; !s.affine && d < s.shape.size(); ++d) {
      const std::int64_t i = reinterpret_cast<const std::int64_t*>(regs_[s.args[first_index + d]].data)[j];
      inside = inside && i >= 0 && i < s.shape[d];
      at[j] = at[j] * s.shape[d] + i;
      if (!inside && error_.empty())
        error_ = fmt::format("load of tensor {} at index {} of axis {}, extent {}", s.n, i, d, s.shape[d]);
    }
    if (s.affine && (at[j] < 0 || at[j] >= size)) {
      inside = false;
      if (error_.empty()) error_ = fmt::format("guarded load of element {} of tensor {}, which has {}", at[j], s.n, size);
    }
    if (!inside) continue;
    std::memcpy(dst.own.get() + j * s.width, m[s.n] + at[j] * static_cast<std::int64_t>(s.width), s.width);
  }
}

}  // namespace tenon::eval
