#include "core/eval/program.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <map>

#include "tenon/diag.h"

namespace tenon::eval {

using te::ExprId;
using te::Kind;

/// Where a load reads: element number = affine function of the axes + sum of factor * expression
/// over lane axes.
struct Place {
  bool summed = false;
  te::Affine affine;
  std::vector<std::pair<ExprId, std::int64_t>> terms;
};

/// Turns expressions into steps. Affine index expressions become coefficients and leave no
/// instruction.
struct Program::Compiler {
  const te::Compute& c;
  const te::Stage& s;
  Program& program;
  std::size_t lane_begin, lane_end, max_lanes;
  ExprId leaf;
  std::map<ExprId, std::uint32_t> reg;
  std::map<ExprId, std::uint32_t> level;  // of the expression
  std::map<ExprId, Place> places;         // of loads

  std::int64_t extent(std::size_t axis) const {
    return axis < s.axes.size() ? s.axes[axis].extent : s.reduce[axis - s.axes.size()].extent;
  }
  std::size_t n_axes() const { return s.axes.size() + s.reduce.size(); }
  bool is_lane(std::size_t axis) const { return axis >= lane_begin && axis < lane_end; }
  std::size_t place_of(std::size_t axis) const {
    return axis < lane_begin ? axis : axis - (lane_end - lane_begin);
  }

  /// Adds factor * index to `p`; false when it is no such sum.
  bool add_index(Place& p, ExprId index, std::int64_t factor) {
    std::vector<std::pair<ExprId, std::int64_t>> stack{{index, factor}};
    while (!stack.empty()) {
      auto [id, f] = stack.back();
      stack.pop_back();
      const te::Expr& e = c.exprs[id];
      if (te::Affine a = affine_of(c, s, id); a.ok) {
        p.affine.constant += a.constant * f;
        for (std::size_t k = 0; k < n_axes(); ++k) p.affine.coeff[k] += a.coeff[k] * f;
      } else if (e.kind == Kind::scalar && (e.op == ScalarOp::add || e.op == ScalarOp::sub)) {
        stack.push_back({e.args[0], f});
        stack.push_back({e.args[1], e.op == ScalarOp::add ? f : -f});
      } else if (e.kind == Kind::scalar && e.op == ScalarOp::mul &&
                 c.exprs[e.args[1]].kind == Kind::imm) {
        stack.push_back({e.args[0], f * c.exprs[e.args[1]].i});
      } else if (over_lanes(id)) {
        p.terms.push_back({id, f});
      } else {
        return false;
      }
    }
    return true;
  }

  bool over_lanes(ExprId root) const {
    for (ExprId id : te::reachable(c, root))
      if (id == leaf || (c.exprs[id].kind == Kind::axis && !is_lane(c.exprs[id].n))) return false;
    return true;
  }

  const Place& place_of_load(ExprId id) {
    auto [it, fresh] = places.try_emplace(id);
    Place& p = it->second;
    if (!fresh) return p;
    const te::Expr& load = c.exprs[id];
    const Shape shape = c.shape_of(load.n);
    p.summed = true;
    p.affine.coeff.assign(n_axes(), 0);
    std::int64_t stride = 1;
    for (std::size_t d = shape.size(); d-- > 0; stride *= shape[d])
      p.summed = p.summed && add_index(p, load.args[d], stride);
    return p;
  }

  /// The expressions that need a register, ascending. Also fills `places`.
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
      const bool guarded = te::is_guarded_load(c, e);
      if (guarded) {
        push(e.args[0]);
        push(e.args[2]);
      }
      if (guarded || e.kind == Kind::load) {
        const ExprId load = guarded ? e.args[1] : id;
        const Place& p = place_of_load(load);
        if (p.summed)
          for (auto& [term, factor] : p.terms) push(term);
        else
          for (ExprId a : c.exprs[load].args) push(a);
      } else {
        for (ExprId a : e.args) push(a);
      }
    }
    std::sort(out.begin(), out.end());
    return out;
  }

  std::uint32_t add_reg(ExprId id) {
    Reg r{.dtype = c.exprs[id].dtype};
    r.own.reset(new std::byte[max_lanes * register_width(r.dtype)]);
    r.data = r.own.get();
    program.regs_.push_back(std::move(r));
    return reg[id] = static_cast<std::uint32_t>(program.regs_.size() - 1);
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
    const Place& p = places.at(load);
    step.summed = p.summed;
    if (!p.summed) {
      for (ExprId i : e.args) use(step, i);
      return;
    }
    for (auto& [term, factor] : p.terms) step.terms.emplace_back(reg.at(term), factor);
    step.constant = p.affine.constant;
    step.uniform.assign(program.uniform_.size(), 0);
    std::vector<std::int64_t> extents, coeffs;
    for (std::size_t k = 0; k < n_axes(); ++k) {
      if (is_lane(k)) {
        extents.push_back(extent(k));
        coeffs.push_back(p.affine.coeff[k]);
      } else if (p.affine.coeff[k] != 0) {
        step.uniform[place_of(k)] = p.affine.coeff[k];
        step.level = std::max(step.level, static_cast<std::uint32_t>(place_of(k) + 1));
      }
    }
    step.lanes = LaneMap(extents, coeffs);
    if (step.what == What::load && p.terms.empty()) check_bounds(step, p.affine);
  }

  /// An affine load is checked once, over the whole stage.
  void check_bounds(const Step& step, const te::Affine& a) {
    std::int64_t low = a.constant, high = a.constant, size = 1;
    for (std::size_t k = 0; k < n_axes(); ++k) {
      if (extent(k) == 0) return;  // never loaded
      (a.coeff[k] < 0 ? low : high) += a.coeff[k] * (extent(k) - 1);
    }
    for (std::int64_t d : step.shape) size *= d;
    if (low < 0 || high >= size) program.out_of_bounds(step, low < 0 ? low : high, size);
  }

  void add(ExprId id) {
    const te::Expr& e = c.exprs[id];
    Step step;
    step.dst = add_reg(id);
    level[id] = 0;
    if (id == leaf) return;
    if (e.kind == Kind::imm) return fill_imm(e, program.regs_[step.dst].own.get(), max_lanes);
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
      step.what = What::load;
      use_load(step, id);
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
    program.steps_.push_back(std::move(step));
  }
};

Program::Program(const te::Compute& c, const te::Stage& s, ExprId root, std::size_t lane_begin,
                 std::size_t lane_end, ExprId leaf, std::size_t max_lanes, bool split) {
  uniform_.assign(s.axes.size() + s.reduce.size() - (lane_end - lane_begin), 0);
  Compiler compiler{c, s, *this, lane_begin, lane_end, max_lanes, leaf, {}, {}, {}};
  for (ExprId id : compiler.needed(root)) compiler.add(id);
  root_ = compiler.reg.at(root);
  if (compiler.reg.count(leaf)) leaf_ = compiler.reg.at(leaf);
  const te::Expr& e = c.exprs[root];
  product_ = split && root != leaf && e.kind == Kind::scalar && e.op == ScalarOp::mul &&
             multiply_add_kernel(e.dtype);
  if (product_) {
    for (int k = 0; k < 2; ++k) factor_[k] = compiler.reg.at(e.args[static_cast<std::size_t>(k)]);
    std::erase_if(steps_, [&](const Step& step) { return step.dst == root_; });
  }
  std::stable_sort(steps_.begin(), steps_.end(),
                   [](const Step& a, const Step& b) { return a.level < b.level; });
}

std::int64_t Program::base(const Step& s) const {
  std::int64_t b = s.constant;
  for (std::size_t k = 0; k < s.uniform.size(); ++k) b += s.uniform[k] * uniform_[k];
  return b;
}

void Program::place(std::int64_t first, std::size_t count, const Memory& m) {
  count_ = count;
  for (Step& s : steps_) {
    s.placed = false;
    if (s.what == What::axis || s.summed) s.lanes.place(first, count);
    if (s.what == What::axis) {
      const auto v = s.lanes.offsets();
      std::memcpy(regs_[s.dst].own.get(), v.data(), count * sizeof(std::int64_t));
    }
  }
  for (Step& s : steps_)
    if (s.level == 0) execute(s, m);
}

void Program::run(std::size_t level, const Memory& m) {
  auto at = std::lower_bound(steps_.begin(), steps_.end(), level,
                             [](const Step& s, std::size_t l) { return s.level < l; });
  for (; at != steps_.end(); ++at) execute(*at, m);
}

void Program::execute(Step& s, const Memory& m) {
  Reg& dst = regs_[s.dst];
  switch (s.what) {
    case What::axis:
      return;
    case What::uniform_axis:
      std::fill_n(reinterpret_cast<std::int64_t*>(dst.own.get()), count_, uniform_[s.n]);
      return;
    case What::load:
    case What::guarded_load:
      return s.summed ? load_summed(s, m) : load_indexed(s, m);
    case What::map: {
      const void* args[3] = {nullptr, nullptr, nullptr};
      for (std::size_t k = 0; k < s.args.size(); ++k) args[k] = regs_[s.args[k]].data;
      s.map(dst.own.get(), args, count_);
      if (s.narrow) narrow(dst.dtype, dst.own.get(), count_);
    }
  }
}

void Program::place_offsets(Step& s) {
  s.placed = true;
  s.offsets = s.lanes.offsets();
  for (auto [reg, factor] : s.terms) {
    const auto* v = reinterpret_cast<const std::int64_t*>(regs_[reg].data);
    for (std::size_t j = 0; j < count_; ++j) s.offsets[j] += v[j] * factor;
  }
  const auto [low, high] = std::minmax_element(s.offsets.begin(), s.offsets.end());
  s.lowest = *low;
  s.highest = *high;
}

void Program::out_of_bounds(const Step& s, std::int64_t at, std::int64_t extent) {
  if (error_.empty()) error_ = fmt::format("load of tensor {} at {} of {}", s.n, at, extent);
}

void Program::load_summed(Step& s, const Memory& m) {
  Reg& dst = regs_[s.dst];
  dst.data = dst.own.get();  // an earlier block may have been taken from the tensor itself
  const auto width = static_cast<std::int64_t>(s.width);
  const std::int64_t start = base(s);
  if (s.what == What::load && s.terms.empty()) {  // checked when compiled
    const std::byte* from = m[s.n] + start * width;
    const std::byte* first = from + (s.lanes.contiguous() ? s.lanes.first() * width : 0);
    if (s.lanes.contiguous() && reinterpret_cast<std::uintptr_t>(first) % s.width == 0)
      dst.data = first;
    else
      s.lanes.copy(s.width, dst.own.get(), from);
    return;
  }
  if (!s.placed) place_offsets(s);
  std::int64_t size = 1;
  for (std::int64_t d : s.shape) size *= d;
  if (s.what == What::load) {
    if (s.lowest + start < 0 || s.highest + start >= size)
      return out_of_bounds(s, s.lowest + start < 0 ? s.lowest + start : s.highest + start, size);
    return copy_gather(s.width, dst.own.get(), m[s.n] + start * width, s.offsets.data(), count_);
  }
  const std::byte* cond = regs_[s.args[0]].data;
  std::memcpy(dst.own.get(), regs_[s.args[1]].data, count_ * s.width);
  for (std::size_t j = 0; j < count_; ++j) {
    if (cond[j] == std::byte{0}) continue;
    const std::int64_t at = s.offsets[j] + start;
    if (at < 0 || at >= size) return out_of_bounds(s, at, size);
    std::memcpy(dst.own.get() + j * s.width, m[s.n] + at * width, s.width);
  }
}

void Program::load_indexed(Step& s, const Memory& m) {
  Reg& dst = regs_[s.dst];
  const bool guarded = s.what == What::guarded_load;
  const std::byte* cond = guarded ? regs_[s.args[0]].data : nullptr;
  if (guarded) std::memcpy(dst.own.get(), regs_[s.args[1]].data, count_ * s.width);
  const std::size_t first_index = guarded ? 2 : 0;
  for (std::size_t j = 0; j < count_; ++j) {
    if (cond && cond[j] == std::byte{0}) continue;
    std::int64_t at = 0;
    for (std::size_t d = 0; d < s.shape.size(); ++d) {
      const std::int64_t i =
          reinterpret_cast<const std::int64_t*>(regs_[s.args[first_index + d]].data)[j];
      if (i < 0 || i >= s.shape[d]) return out_of_bounds(s, i, s.shape[d]);
      at = at * s.shape[d] + i;
    }
    std::memcpy(dst.own.get() + j * s.width, m[s.n] + at * static_cast<std::int64_t>(s.width),
                s.width);
  }
}

}  // namespace tenon::eval
